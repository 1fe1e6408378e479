package notify

import (
	"strings"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/watcher"
)

// stateName is a state in plain words.
func stateName(s fetch.State) string {
	switch s {
	case fetch.Policy:
		return "a robots.txt"
	case fetch.Absent:
		return "no robots.txt"
	case fetch.Denied:
		return "access refused"
	case fetch.Unreachable:
		return "unreachable"
	case fetch.NotRobots:
		return "something that is no robots.txt"
	}
	return "not checked yet"
}

func stateVerdict(c watcher.Change) verdict {
	before, after := c.State.Before, c.State.After
	back := !before.Readable() && before != fetch.Pending
	switch {
	case before == after:
		return of("keeps changing its answer", "keep changing their answer")
	case after == fetch.Unreachable:
		return state("robots.txt unreachable"+why(c), "cannot be reached for their robots.txt"+why(c))
	case after == fetch.Denied:
		return of("refuses access to its robots.txt"+why(c), "refuse access to their robots.txt"+why(c))
	case after == fetch.NotRobots:
		return of("answers with something that is no robots.txt", "answer with something that is no robots.txt")
	case back && after == fetch.Absent:
		return of("answers again: there is no robots.txt", "answer again: they have no robots.txt")
	case back && c.BeforeSHA256 == "" && c.AfterSHA256 != "":
		return state("robots.txt readable now", "have a readable robots.txt now")
	case back:
		return state("robots.txt readable again", "have a readable robots.txt again")
	case after == fetch.Absent:
		return of("has no robots.txt any more", "have no robots.txt any more")
	}
	return of("has a robots.txt now", "have a robots.txt now")
}

// state makes a verdict whose sentence is about the robots.txt of the site.
func state(one, many string) verdict {
	return verdict{func(site string) string { return site + ": " + one }, many}
}

// why is the reason in brackets, in words.
func why(c watcher.Change) string {
	if c.Reason == "" {
		return ""
	}
	return " (" + reasonName(c.Reason) + ")"
}

// reasonName writes http_503 as HTTP 503, tls_expired as tls expired.
func reasonName(r fetch.Reason) string {
	if status, ok := strings.CutPrefix(string(r), "http_"); ok {
		return "HTTP " + visible.Short(status, 20)
	}
	return visible.Short(strings.ReplaceAll(string(r), "_", " "), 40)
}

// stateLines say what was seen and what it means for crawlers.
func stateLines(c watcher.Change) []Line {
	lines := []Line{{plain("before: " + stateName(c.State.Before) + " → after: " + stateName(c.State.After))}}
	if c.Reason != "" || c.Detail != "" {
		line := Line{plain("Seen: ")}
		if c.Detail != "" {
			line = append(line, code(visible.Short(c.Detail, maxValueShown)))
		} else {
			line = append(line, plain(reasonName(c.Reason)))
		}
		lines = append(lines, line)
	}
	return append(lines, Line{plain(consequence(c))})
}

// consequence is what the state means for access (RFC 9309, 2.3.1).
func consequence(c watcher.Change) string {
	switch c.State.After {
	case fetch.Unreachable:
		return "Crawlers that follow RFC 9309 must take the whole site as blocked until it answers."
	case fetch.Denied:
		if c.Severity == watcher.Critical {
			return "Taken as blocked for all crawlers, as configured."
		}
		return "RFC 9309 lets crawlers fetch everything then; many sites mean the opposite."
	case fetch.NotRobots:
		if c.State.Before != fetch.Policy && c.BeforeSHA256 == "" {
			return "What could be read last stays in force; where nothing could, access is unknown."
		}
		return "The last good policy stays in force."
	case fetch.Absent:
		return "Without a robots.txt every crawler may fetch everything."
	}
	if c.State.Before == fetch.Absent || c.BeforeSHA256 == "" && c.AfterSHA256 != "" {
		return "Its rules decide from now on."
	}
	return "Its rules decide again."
}
