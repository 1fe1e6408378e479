-- +goose Up
-- Who is watched, and since when standings speak of them.
CREATE TABLE watched_agents (
    token     TEXT   {{plain}} PRIMARY KEY,        -- lower case
    until_day BIGINT NOT NULL DEFAULT 0,           -- up to the end of that day agent_past tells how sites stood to it; 0: standings do
    cursor    TEXT                                 -- origin up to which its past is computed; NULL: all is
);

-- How sites stood to agents before these were watched: by how many more, or
-- fewer, day by day, as standings_daily.
CREATE TABLE agent_past (
    token   TEXT   {{plain}} NOT NULL,
    day     BIGINT NOT NULL,                       -- days since 1970-01-01, UTC
    tags_id BIGINT NOT NULL,
    access  TEXT   {{plain}} NOT NULL,             -- a letter, see profiles.data
    sites   BIGINT NOT NULL,
    PRIMARY KEY (token, day, tags_id, access)
) {{clustered}};
