-- +goose Up
-- Words in braces differ between the dialects: {{id}} a generated key,
-- {{blob}} octets. Times are Unix milliseconds.

CREATE TABLE sites (
    id             {{id}},
    origin         TEXT   NOT NULL UNIQUE,
    active         BIGINT NOT NULL DEFAULT 1,      -- 0: left the configuration, history kept
    tags           TEXT   NOT NULL DEFAULT '',     -- comma-separated, sorted, with a comma at both ends: ',eu,news,'
    schedule       TEXT   NOT NULL DEFAULT '',
    agents         TEXT   NOT NULL DEFAULT '',     -- as configured, comma-separated
    state          TEXT   NOT NULL DEFAULT 'pending',
    reason         TEXT   NOT NULL DEFAULT '',
    state_since    BIGINT NOT NULL DEFAULT 0,
    readable       TEXT   NOT NULL DEFAULT '',
    readable_at    BIGINT NOT NULL DEFAULT 0,
    body_id        BIGINT,                         -- of the last good policy
    profile_id     BIGINT,
    memory         TEXT   NOT NULL DEFAULT '',
    observation_id BIGINT,                         -- the open one
    last_check_at  BIGINT NOT NULL DEFAULT 0,
    last_change_at BIGINT NOT NULL DEFAULT 0,
    next_check_at  BIGINT NOT NULL DEFAULT 0,
    lease_until    BIGINT NOT NULL DEFAULT 0,
    lease_token    BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX sites_due ON sites (next_check_at) WHERE active = 1;

-- Bodies are shared by all sites.
CREATE TABLE bodies (
    id      {{id}},
    sha256  {{blob}} NOT NULL UNIQUE,
    size    BIGINT   NOT NULL,
    data    {{blob}} NOT NULL                      -- zstd
);

-- The access of all watched agents on a site is one of few profiles.
CREATE TABLE profiles (
    id     {{id}},
    sha256 {{blob}} NOT NULL UNIQUE,
    data   TEXT     NOT NULL                       -- JSON: [{"agent","access","source"}]
);

-- Runs of equal answers.
CREATE TABLE observations (
    id        {{id}},
    site_id   BIGINT NOT NULL REFERENCES sites (id),
    at        BIGINT NOT NULL,
    last_at   BIGINT NOT NULL DEFAULT 0,           -- 0: still open, see sites.last_check_at
    state     TEXT   NOT NULL,
    reason    TEXT   NOT NULL DEFAULT '',
    detail    TEXT   NOT NULL DEFAULT '',
    status    BIGINT NOT NULL DEFAULT 0,
    final_url TEXT   NOT NULL DEFAULT '',
    body_id   BIGINT REFERENCES bodies (id),
    bytes     BIGINT NOT NULL DEFAULT 0,
    truncated BIGINT NOT NULL DEFAULT 0,
    evidence  TEXT   NOT NULL DEFAULT '',
    backfill  BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX observations_site ON observations (site_id, at);

CREATE TABLE changes (
    id       TEXT   PRIMARY KEY,                   -- ULID: ordered by time
    site_id  BIGINT NOT NULL REFERENCES sites (id),
    at       BIGINT NOT NULL,
    kind     TEXT   NOT NULL,
    severity BIGINT NOT NULL,                      -- 0 info, 1 warning, 2 critical
    watched  BIGINT NOT NULL,
    data     TEXT   NOT NULL                       -- the event as JSON
);
CREATE INDEX changes_site ON changes (site_id, id);

-- Which agents a change touches, for filters.
CREATE TABLE change_agents (
    agent     TEXT NOT NULL,                       -- lower case
    change_id TEXT NOT NULL REFERENCES changes (id),
    PRIMARY KEY (agent, change_id)
);

-- The outbox.
CREATE TABLE receivers (
    name     TEXT   PRIMARY KEY,
    added_at BIGINT NOT NULL
);
CREATE TABLE deliveries (
    id          {{id}},
    receiver    TEXT   NOT NULL,
    change_id   TEXT   NOT NULL REFERENCES changes (id),
    site_id     BIGINT NOT NULL,
    group_key   TEXT   NOT NULL,
    status      TEXT   NOT NULL DEFAULT 'pending', -- pending, sent, dead
    created_at  BIGINT NOT NULL,
    next_at     BIGINT NOT NULL,
    attempts    BIGINT NOT NULL DEFAULT 0,
    lease_until BIGINT NOT NULL DEFAULT 0,
    last_error  TEXT   NOT NULL DEFAULT '',
    receipt     TEXT   NOT NULL DEFAULT '',
    UNIQUE (receiver, change_id)
);
CREATE INDEX deliveries_due ON deliveries (receiver, next_at) WHERE status = 'pending';

CREATE TABLE expectations (
    id      {{id}},
    site    TEXT   NOT NULL,
    agent   TEXT   NOT NULL DEFAULT '',
    until   BIGINT NOT NULL,
    note    TEXT   NOT NULL DEFAULT ''
);
