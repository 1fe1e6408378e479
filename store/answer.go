package store

import (
	"fmt"
	"strings"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// Of an answer observations keep a letter for the state, and neither reason nor
// detail where they say what the status says. All of this is part of the
// format: it never changes.

var (
	letterOfState = map[fetch.State]string{
		fetch.Policy: "p", fetch.Absent: "a", fetch.Denied: "d", fetch.Unreachable: "u", fetch.NotRobots: "n",
	}
	stateOfLetter = map[string]fetch.State{
		"p": fetch.Policy, "a": fetch.Absent, "d": fetch.Denied, "u": fetch.Unreachable, "n": fetch.NotRobots,
	}
)

// statusWords are what details say of a status.
var statusWords = map[int]string{
	400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
	406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict", 410: "Gone", 421: "Misdirected Request", 422: "Unprocessable Entity",
	423: "Locked", 429: "Too Many Requests", 451: "Unavailable For Legal Reasons", 500: "Internal Server Error", 501: "Not Implemented",
	502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout", 508: "Loop Detected",
}

// usual is what reason and detail of an answer are that its status decides.
func usual(status int) (reason, detail string) {
	words, ok := statusWords[status]
	if !ok {
		return "", ""
	}
	return fmt.Sprintf("http_%d", status), fmt.Sprintf("status %d %s", status, words)
}

// asItIs begins what is not the usual and could be taken for it.
const asItIs = "="

func leaveOut(text, usual string) string {
	switch {
	case text == usual:
		return ""
	case text == "" || strings.HasPrefix(text, asItIs):
		return asItIs + text
	}
	return text
}

// putIn is the inverse of leaveOut.
func putIn(kept, usual string) string {
	if kept == "" {
		return usual
	}
	return strings.TrimPrefix(kept, asItIs)
}

// shortAnswer is how a row says what ob says.
func shortAnswer(ob *watcher.Observation) (state, reason, detail string) {
	usualReason, usualDetail := usual(ob.Status)
	state, known := letterOfState[ob.State]
	if !known {
		state = string(ob.State)
	}
	return state, leaveOut(string(ob.Reason), usualReason), leaveOut(ob.Detail, usualDetail)
}

// longAnswer is the inverse of shortAnswer; the status is known.
func longAnswer(ob *watcher.Observation, state, reason, detail string) {
	usualReason, usualDetail := usual(ob.Status)
	known := false
	if ob.State, known = stateOfLetter[state]; !known {
		ob.State = fetch.State(state)
	}
	ob.Reason, ob.Detail = fetch.Reason(putIn(reason, usualReason)), putIn(detail, usualDetail)
}
