-- +goose Up
-- What was seen of a site is chained by hash, in the order of recording; what
-- archives saw is a chain of its own, in order of time (package evidence).
ALTER TABLE observations ADD COLUMN seq BIGINT NOT NULL DEFAULT -1; -- place in its chain, from 1; -1: recorded before there were chains
ALTER TABLE observations ADD COLUMN link {{blob}};                  -- hash of the chain up to here

-- Where chains begin and end, as far as their runs do not tell.
CREATE TABLE chains (
    site_id         BIGINT NOT NULL REFERENCES sites (id),
    archive         BIGINT NOT NULL,               -- 0 seen live, 1 backfilled
    dropped         BIGINT NOT NULL DEFAULT 0,     -- records at its beginning that are kept no longer
    dropped_link    {{blob}},                      -- of the last of them
    dropped_last_at BIGINT NOT NULL DEFAULT 0,     -- of that
    length          BIGINT NOT NULL DEFAULT 0,     -- of a backfilled one; a live one ends with the open run
    PRIMARY KEY (site_id, archive)
) {{clustered}};
