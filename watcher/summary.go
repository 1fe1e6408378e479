package watcher

import (
	"fmt"
	"strings"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
)

const (
	// namedAgents is how many agents a phrase names before it counts.
	namedAgents = 3
	// phrases is how many verdicts a summary has before it counts.
	phrases = 3
	// examplePath is how much of an example path a summary shows.
	examplePath = 60
)

// summariseAgents puts agents with one verdict into one phrase, verdicts in
// order of their weight: "GPTBot, CCBot now blocked; Bytespider no longer blocked".
func summariseAgents(list []diff.AgentChange) string {
	type phrase struct {
		weight  int
		verdict string
		agents  []string
	}
	var all []*phrase
	for j := range list {
		weight, verdict := verdictOf(&list[j])
		i := 0
		for i < len(all) && (all[i].weight < weight || all[i].weight == weight && all[i].verdict != verdict) {
			i++
		}
		if i == len(all) || all[i].verdict != verdict {
			all = append(all[:i], append([]*phrase{{weight: weight, verdict: verdict}}, all[i:]...)...)
		}
		all[i].agents = append(all[i].agents, list[j].Agent)
	}
	var parts []string
	rest := 0
	for i, p := range all {
		if i >= phrases {
			rest += len(p.agents)
			continue
		}
		parts = append(parts, nameAgents(p.agents)+" "+p.verdict)
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d more changed", rest))
	}
	return strings.Join(parts, "; ")
}

func nameAgents(names []string) string {
	if len(names) <= namedAgents {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// verdictOf says what happened to an agent; a smaller weight comes first.
func verdictOf(a *diff.AgentChange) (weight int, verdict string) {
	was, is := a.Before.Level, a.After.Level
	switch {
	case was != is && is == diff.Blocked:
		return 0, "now blocked"
	case was == diff.Blocked && is == diff.Restricted:
		return 1, "no longer fully blocked"
	case was != is && was == diff.Blocked:
		return 1, "no longer blocked"
	case was != is && is == diff.Restricted:
		return 2, "now restricted"
	case was != is && was == diff.Restricted:
		return 3, "no longer restricted"
	}
	lost, won := exampleOf(a.NewlyDisallowed), exampleOf(a.NewlyAllowed)
	switch {
	case lost != "" && won != "":
		return 4, "no longer allowed on " + lost + ", now allowed on " + won
	case lost != "":
		return 4, "no longer allowed on " + lost
	case won != "":
		return 5, "now allowed on " + won
	case a.Direction == diff.Loosened:
		return 5, "allowed on more paths"
	}
	return 4, "allowed on fewer paths"
}

func exampleOf(entries []diff.Entry) string {
	if len(entries) == 0 {
		return ""
	}
	path := entries[0].Example
	if len(path) > examplePath {
		path = path[:examplePath] + "…"
	}
	if len(entries) > 1 {
		path += " and elsewhere"
	}
	return path
}

// causeNote says why, where it is not simply an edit of the rules.
func causeNote(t Transition, c Change) string {
	switch {
	case t.StateAfter == fetch.Absent && t.StateBefore != fetch.Absent:
		return ": robots.txt is gone (" + reasonText(t.Reason) + ")"
	case c.Cause == CauseStatus:
		return ": a robots.txt appeared"
	case c.Cause == CauseRedirect:
		return ": robots.txt now comes from " + t.Host
	case c.Managed != "":
		return ", in the block managed by " + c.Managed
	}
	return ""
}

func unstableNote(unstable string) string {
	switch unstable {
	case UnstableBegan:
		return "; unstable, back and forth: more only when it settles"
	case UnstableSettled:
		return "; settled"
	}
	return ""
}

// summariseState words a state that was entered or left. wasRead: there was a
// readable answer before; reread: and what is readable now differs from it.
func summariseState(t Transition, wasRead, reread bool) string {
	why := " (" + reasonText(t.Reason)
	if t.Vendor != "" {
		why += ", " + t.Vendor
	}
	why += ")"
	switch t.StateAfter {
	case fetch.Unreachable:
		return "robots.txt unreachable" + why + ": crawlers have to take everything as blocked"
	case fetch.Denied:
		return "robots.txt denied" + why
	case fetch.NotRobots:
		return "something else in place of robots.txt" + why
	case fetch.Absent:
		return "site answers again: there is no robots.txt" + why
	}
	switch {
	case !wasRead:
		return "robots.txt readable for the first time"
	case reread:
		return "robots.txt readable again, and it changed"
	}
	return "robots.txt readable again, unchanged"
}

// summariseSwap words a change between policy and absent that alters nobody's
// access.
func summariseSwap(t Transition) string {
	if t.StateAfter == fetch.Absent {
		return "robots.txt is gone (" + reasonText(t.Reason) + "), nobody's access changed"
	}
	return "a robots.txt appeared, nobody's access changed"
}

func reasonText(r fetch.Reason) string {
	if status, ok := strings.CutPrefix(string(r), "http_"); ok {
		return "HTTP " + status
	}
	if r == "" {
		return "no reason given"
	}
	return strings.ReplaceAll(string(r), "_", " ")
}

func summariseSignals(list []diff.SignalChange) string {
	s := list[0]
	name := s.Name
	if s.Path != "" {
		name += " " + s.Path
	}
	if s.Scope != "" {
		name += " of " + s.Scope
	}
	var text string
	switch {
	case s.Before == "":
		text = name + " now says " + s.After
	case s.After == "":
		text = name + " no longer says " + s.Before
	default:
		text = name + " now says " + s.After + ", not " + s.Before
	}
	return text + andMore(len(list)-1)
}

func summariseDelays(list []diff.CrawlDelayChange) string {
	d := list[0]
	text := "Crawl-delay of " + d.Agent + " now " + diff.DelayWords(d.After) + ", was " + diff.DelayWords(d.Before)
	return text + andMore(len(list)-1)
}

func summariseSitemaps(s diff.SitemapsChange) string {
	var parts []string
	if n := len(s.Added); n > 0 {
		parts = append(parts, fmt.Sprintf("%d added", n))
	}
	if n := len(s.Removed); n > 0 {
		parts = append(parts, fmt.Sprintf("%d removed", n))
	}
	return "sitemaps: " + strings.Join(parts, ", ")
}

// summariseText words an edit without effect, and says so when that could not
// be proven for everyone.
func summariseText(lines diff.TextStat, sameAccess []diff.AgentChange) string {
	text := fmt.Sprintf("text changed (+%d −%d lines), nothing effective did", lines.Added, lines.Removed)
	for _, a := range sameAccess {
		if !a.Proven {
			return fmt.Sprintf("text changed (+%d −%d lines), no effect found, but not proven for %s", lines.Added, lines.Removed, a.Agent)
		}
	}
	return text
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}
