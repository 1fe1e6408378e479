-- +goose Up
-- Words in braces differ between the dialects: {{id}} a generated key,
-- {{blob}} octets, {{clustered}} rows kept in key order where the database
-- can, {{roomy}} pages with room for rows that are updated all the time,
-- {{plain}} text compared octet by octet. Times are Unix milliseconds; 0 is
-- "never". Columns called data and evidence are packed JSON (pack.go).

-- Interned lists: the tags and agents of a site, the agents of a change. Few
-- distinct ones exist. 0 stands for the empty list, which has no row.
CREATE TABLE sets (
    id      {{id}},
    members TEXT NOT NULL UNIQUE                   -- with a comma at both ends: ',eu,news,'
);

CREATE TABLE sites (
    id             {{id}},
    origin         TEXT   {{plain}} NOT NULL UNIQUE,
    active         BIGINT NOT NULL DEFAULT 1,      -- 0: left the configuration, history kept
    tags_id        BIGINT NOT NULL DEFAULT 0,      -- sets.id
    agents_id      BIGINT NOT NULL DEFAULT 0,      -- sets.id, as configured
    schedule       TEXT   NOT NULL DEFAULT '',
    state          TEXT   NOT NULL DEFAULT 'pending',
    reason         TEXT   NOT NULL DEFAULT '',
    state_since    BIGINT NOT NULL DEFAULT 0,      -- of a pending site: when it was added
    readable       TEXT   NOT NULL DEFAULT '',
    readable_at    BIGINT NOT NULL DEFAULT 0,
    body_id        BIGINT NOT NULL DEFAULT 0,      -- of the last good policy
    profile_id     BIGINT NOT NULL DEFAULT 0,
    phase          BIGINT NOT NULL DEFAULT 0,      -- 0 settled, 1 not confirmed yet, 2 unreachable for more than 30 days
    memory         TEXT   NOT NULL DEFAULT '',
    observed_at    BIGINT NOT NULL DEFAULT 0,      -- observations.at of the open run
    last_check_at  BIGINT NOT NULL DEFAULT 0,
    last_change_at BIGINT NOT NULL DEFAULT 0,
    next_check_at  BIGINT NOT NULL DEFAULT 0,
    lease_until    BIGINT NOT NULL DEFAULT 0,
    lease_token    BIGINT NOT NULL DEFAULT 0
) {{roomy}};
CREATE INDEX sites_due ON sites (next_check_at) WHERE active = 1;
CREATE INDEX sites_standing ON sites (state, profile_id, tags_id) WHERE active = 1;

-- Bodies are shared by all sites.
CREATE TABLE bodies (
    id      {{id}},
    sha256  {{blob}} NOT NULL UNIQUE,
    size    BIGINT   NOT NULL,
    seen_at BIGINT   NOT NULL,                     -- when it was last newly referred to, to about an hour
    data    {{blob}} NOT NULL                      -- zstd
);

-- The access of all watched agents on a site is one of few profiles.
CREATE TABLE profiles (
    id   {{id}},
    data TEXT NOT NULL UNIQUE                      -- see profileID
);

-- Runs of equal answers.
CREATE TABLE observations (
    site_id   BIGINT NOT NULL REFERENCES sites (id),
    at        BIGINT NOT NULL,
    last_at   BIGINT NOT NULL DEFAULT 0,           -- 0: still open, see sites.last_check_at
    state     TEXT   NOT NULL,
    reason    TEXT   NOT NULL DEFAULT '',
    detail    TEXT   NOT NULL DEFAULT '',
    status    BIGINT NOT NULL DEFAULT 0,
    final_url TEXT   NOT NULL DEFAULT '',          -- '' is origin/robots.txt
    body_id   BIGINT NOT NULL DEFAULT 0,
    bytes     BIGINT NOT NULL DEFAULT 0,
    truncated BIGINT NOT NULL DEFAULT 0,
    backfill  BIGINT NOT NULL DEFAULT 0,           -- 0: seen live; else how many captures the run is made of
    evidence  {{blob}},
    PRIMARY KEY (site_id, at)
);

CREATE TABLE changes (
    id        TEXT   {{plain}} PRIMARY KEY,        -- ULID: ordered by time
    site_id   BIGINT NOT NULL REFERENCES sites (id),
    at        BIGINT NOT NULL,
    kind      TEXT   NOT NULL,
    severity  BIGINT NOT NULL,                     -- 0 info, 1 warning, 2 critical
    watched   BIGINT NOT NULL,
    agents_id BIGINT NOT NULL DEFAULT 0,           -- sets.id: the agents it touches, lower case
    data      {{blob}} NOT NULL                    -- the event
) {{clustered}};
CREATE INDEX changes_site ON changes (site_id, id);
CREATE INDEX changes_agents ON changes (agents_id, id);
CREATE INDEX changes_kind ON changes (kind, id);

-- The outbox.
CREATE TABLE receivers (
    name        TEXT   {{plain}} PRIMARY KEY,
    added_at    BIGINT NOT NULL,
    state       TEXT   NOT NULL DEFAULT '',        -- what the dispatcher remembers, JSON
    owner       TEXT   NOT NULL DEFAULT '',        -- who delivers to it, until the lease ends
    lease_until BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE deliveries (
    id          {{id}},                            -- in the order in which they were committed
    receiver    TEXT   NOT NULL,
    change_id   TEXT   {{plain}} NOT NULL REFERENCES changes (id),
    site_id     BIGINT NOT NULL,
    group_key   TEXT   NOT NULL,
    status      TEXT   NOT NULL DEFAULT 'pending', -- pending, sent, dead
    created_at  BIGINT NOT NULL,
    next_at     BIGINT NOT NULL,
    attempts    BIGINT NOT NULL DEFAULT 0,
    tried_at    BIGINT NOT NULL DEFAULT 0,         -- first attempt
    done_at     BIGINT NOT NULL DEFAULT 0,         -- sent or dead
    last_error  TEXT   NOT NULL DEFAULT '',
    receipt     TEXT   NOT NULL DEFAULT '',        -- what the receiver gave back
    UNIQUE (receiver, change_id)
);
CREATE INDEX deliveries_pending ON deliveries (receiver, id) WHERE status = 'pending';
CREATE INDEX deliveries_due ON deliveries (receiver, next_at) WHERE status = 'pending';
CREATE INDEX deliveries_order ON deliveries (receiver, site_id, id) WHERE status = 'pending';
CREATE INDEX deliveries_dead ON deliveries (id) WHERE status = 'dead';
CREATE INDEX deliveries_receipt ON deliveries (site_id, id) WHERE receipt <> '';

-- What receivers show as being the case, until it ends.
CREATE TABLE alerts (
    receiver TEXT   {{plain}} NOT NULL,
    name     TEXT   {{plain}} NOT NULL,            -- kind, site and agent
    site     TEXT   NOT NULL,
    data     TEXT   NOT NULL,                      -- JSON
    PRIMARY KEY (receiver, name)
);

-- Announced changes that shall not alert.
CREATE TABLE expectations (
    id      {{id}},
    site    TEXT   NOT NULL,
    agent   TEXT   NOT NULL DEFAULT '',
    until   BIGINT NOT NULL,
    note    TEXT   NOT NULL DEFAULT ''
);

-- How many active sites stand where: kept up to date by whatever moves a
-- site, so that nothing has to count sites.
CREATE TABLE standings (
    state      TEXT   {{plain}} NOT NULL,
    phase      BIGINT NOT NULL,
    profile_id BIGINT NOT NULL,
    agents_id  BIGINT NOT NULL,
    tags_id    BIGINT NOT NULL,
    sites      BIGINT NOT NULL,
    PRIMARY KEY (state, phase, profile_id, agents_id, tags_id)
);

-- How those numbers moved, day by day: their sum up to a day is how it was
-- at the end of that day.
CREATE TABLE standings_daily (
    day        BIGINT NOT NULL,                    -- days since 1970-01-01, UTC
    state      TEXT   {{plain}} NOT NULL,
    phase      BIGINT NOT NULL,
    profile_id BIGINT NOT NULL,
    agents_id  BIGINT NOT NULL,
    tags_id    BIGINT NOT NULL,
    sites      BIGINT NOT NULL,                    -- more, or fewer
    PRIMARY KEY (day, state, phase, profile_id, agents_id, tags_id)
) {{clustered}};

-- What runs once for all daemons together.
CREATE TABLE jobs (
    name        TEXT   {{plain}} PRIMARY KEY,
    done_at     BIGINT NOT NULL DEFAULT 0,
    lease_until BIGINT NOT NULL DEFAULT 0
);

-- Small facts about the store itself.
CREATE TABLE facts (
    name  TEXT {{plain}} PRIMARY KEY,
    value TEXT NOT NULL
);
