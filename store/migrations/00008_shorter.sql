-- +goose Up
-- Of an archive's links only the last one is kept: all others follow from its
-- records. Answers are kept in fewer words: state is a letter, and reason and
-- detail are empty where they say what the status says (answer.go).
ALTER TABLE chains ADD COLUMN head {{blob}};           -- of a backfilled one: its last link
UPDATE chains SET head = CASE WHEN length = dropped THEN dropped_link ELSE (SELECT o.link FROM observations o
    WHERE o.site_id = chains.site_id AND o.backfill > 0 AND o.seq = chains.length) END WHERE archive = 1;

CREATE TABLE observations_8 (
    site_id   BIGINT NOT NULL REFERENCES sites (id),
    at        BIGINT NOT NULL,
    last_at   BIGINT NOT NULL DEFAULT 0,           -- 0: still open, see sites.last_check_at
    state     TEXT   NOT NULL,                     -- a letter
    reason    TEXT   NOT NULL DEFAULT '',          -- '': what the status says; what '=' is before is meant as it is
    detail    TEXT   NOT NULL DEFAULT '',          -- so too
    status    BIGINT NOT NULL DEFAULT 0,
    final_url TEXT   NOT NULL DEFAULT '',          -- '' is origin/robots.txt
    body_id   BIGINT NOT NULL DEFAULT 0,
    bytes     BIGINT NOT NULL DEFAULT 0,
    truncated BIGINT NOT NULL DEFAULT 0,
    backfill  BIGINT NOT NULL DEFAULT 0,           -- 0: seen live; else how many captures the run is made of
    evidence  {{blob}},
    seq       BIGINT NOT NULL DEFAULT -1,          -- place in its chain, from 1; -1: recorded before there were chains
    link      {{blob}},                            -- hash of the chain up to here; of a backfilled one chains.head alone is kept
    PRIMARY KEY (site_id, at)
) {{clustered}};
INSERT INTO observations_8 SELECT site_id, at, last_at,
    CASE state WHEN 'policy' THEN 'p' WHEN 'absent' THEN 'a' WHEN 'denied' THEN 'd' WHEN 'unreachable' THEN 'u' WHEN 'not_robots' THEN 'n' ELSE state END,
    CASE WHEN words IS NULL AND reason = '' OR reason = 'http_' || status AND words IS NOT NULL THEN ''
        WHEN reason = '' OR substr(reason, 1, 1) = '=' THEN '=' || reason ELSE reason END,
    CASE WHEN words IS NULL AND detail = '' OR detail = 'status ' || status || ' ' || words THEN ''
        WHEN detail = '' OR substr(detail, 1, 1) = '=' THEN '=' || detail ELSE detail END,
    status, final_url, body_id, bytes, truncated, backfill, evidence, seq, CASE WHEN backfill > 0 THEN NULL ELSE link END
    FROM (SELECT o.*, CASE status
        WHEN 400 THEN 'Bad Request' WHEN 401 THEN 'Unauthorized' WHEN 402 THEN 'Payment Required' WHEN 403 THEN 'Forbidden'
        WHEN 404 THEN 'Not Found' WHEN 405 THEN 'Method Not Allowed' WHEN 406 THEN 'Not Acceptable' WHEN 408 THEN 'Request Timeout'
        WHEN 409 THEN 'Conflict' WHEN 410 THEN 'Gone' WHEN 421 THEN 'Misdirected Request' WHEN 422 THEN 'Unprocessable Entity'
        WHEN 423 THEN 'Locked' WHEN 429 THEN 'Too Many Requests' WHEN 451 THEN 'Unavailable For Legal Reasons'
        WHEN 500 THEN 'Internal Server Error' WHEN 501 THEN 'Not Implemented' WHEN 502 THEN 'Bad Gateway'
        WHEN 503 THEN 'Service Unavailable' WHEN 504 THEN 'Gateway Timeout' WHEN 508 THEN 'Loop Detected' END AS words FROM observations o) runs
    ORDER BY site_id, at;
DROP TABLE observations;
ALTER TABLE observations_8 RENAME TO observations;

-- Half of the changes touch no agent.
DROP INDEX changes_agents;
CREATE INDEX changes_agents ON changes (agents_id, id) WHERE agents_id > 0;
