-- +goose Up
-- Daemons at work on a store that many share. The file of a SQLite store has a
-- lock for that.
CREATE TABLE daemons (
    name  TEXT   {{plain}} PRIMARY KEY,
    until BIGINT NOT NULL                          -- a time that has passed: it was killed
);

-- Until when a receiver stays though no configuration has it any more: those
-- of several daemons change one after the other.
ALTER TABLE receivers ADD COLUMN wanted_until BIGINT NOT NULL DEFAULT 0;
UPDATE receivers SET wanted_until = {{now}} + 600000;

-- When the latest look finished, so that nothing has to read all sites for it.
INSERT INTO facts (name, value)
    SELECT 'last_look', CAST(latest AS TEXT) FROM (SELECT max(last_check_at) AS latest FROM sites) looks WHERE latest > 0;
