package web

import (
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/robotswatch/robotswatch/agents"
)

// Cursors are what lists gave out as next_cursor. Whatever else comes is an
// error: an empty list would read as the end.

func badCursor() *apiError {
	return badRequest("The cursor is not one that was given out here.")
}

// originCursor checks a cursor that is an origin.
func originCursor(cursor string) error {
	if cursor == "" {
		return nil
	}
	scheme, host, ok := strings.Cut(cursor, "://")
	if !ok || scheme != "http" && scheme != "https" || host == "" || strings.ContainsAny(host, "/?#@ \t\r\n") {
		return badCursor()
	}
	return nil
}

// rowCursor reads a cursor that is an origin and an agent, or a space alone
// behind the origin.
func rowCursor(cursor string) (origin, agent string, err error) {
	if cursor == "" {
		return "", "", nil
	}
	origin, agent, ok := strings.Cut(cursor, " ")
	if !ok || originCursor(origin) != nil || origin == "" || agent != "" && agents.CheckToken(agent) != nil {
		return "", "", badCursor()
	}
	return origin, agent, nil
}

// changeCursor checks a cursor that is the id of a change.
func changeCursor(cursor string) error {
	if _, err := ulid.ParseStrict(cursor); cursor != "" && err != nil {
		return badCursor()
	}
	return nil
}

// dayCursor reads a cursor that is a day and what a row of it is about.
func dayCursor(cursor string) (day time.Time, what string, err error) {
	if cursor == "" {
		return time.Time{}, "", nil
	}
	text, what, ok := strings.Cut(cursor, " ")
	if day, err = time.Parse(time.DateOnly, text); err != nil || !ok || what == "" {
		return time.Time{}, "", badCursor()
	}
	return day, what, nil
}

// timeCursor reads a cursor that is a time in Unix milliseconds.
func timeCursor(cursor string) (time.Time, error) {
	if cursor == "" {
		return time.Time{}, nil
	}
	ms, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || ms <= 0 {
		return time.Time{}, badCursor()
	}
	return time.UnixMilli(ms).UTC(), nil
}
