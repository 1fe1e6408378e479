package notify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/watcher"
)

// Limits of what a summary remembers; beyond them it only counts.
const (
	maxSummaryGroups = 200
	maxSummaryNames  = 500
)

// summary sums up any number of changes in bounded memory.
type summary struct {
	changes int
	moves   map[move]int         // agent and outcome -> sites
	tags    map[string]int       // changes by tag
	kinds   map[watcher.Kind]int //
	byGroup map[string]*groupSum // by group key
	totals  []AgentTotal         // what is the case now
	worst   watcher.Severity     //
	dropped int                  // changes of groups beyond the limit
}

type move struct {
	agent         string
	before, after diff.Level
	direction     diff.Direction
}

type groupSum struct {
	change watcher.Change
	n      int
}

func newSummary() *summary {
	return &summary{
		moves: map[move]int{}, tags: map[string]int{}, kinds: map[watcher.Kind]int{},
		byGroup: map[string]*groupSum{}, worst: watcher.Info,
	}
}

func (s *summary) groups() int { return len(s.byGroup) }

func (s *summary) add(key string, c watcher.Change) {
	s.changes++
	s.kinds[c.Kind]++
	if c.Severity.Rank() > s.worst.Rank() {
		s.worst = c.Severity
	}
	for _, a := range c.Agents {
		bump(s.moves, move{a.Agent, a.Before.Level, a.After.Level, a.Direction})
	}
	for _, t := range c.Tags {
		bump(s.tags, t)
	}
	g := s.byGroup[key]
	switch {
	case g != nil:
		g.n++
	case len(s.byGroup) < maxSummaryGroups:
		s.byGroup[key] = &groupSum{change: c, n: 1}
	default:
		s.dropped++
	}
}

func bump[K comparable](m map[K]int, k K) {
	if _, ok := m[k]; ok || len(m) < maxSummaryNames {
		m[k]++
	}
}

// ordered lists the groups, the gravest and largest first.
func (s *summary) ordered() []*groupSum {
	list := slices.Collect(maps.Values(s.byGroup))
	slices.SortFunc(list, func(a, b *groupSum) int {
		return cmp.Or(
			cmp.Compare(b.change.Severity.Rank(), a.change.Severity.Rank()),
			cmp.Compare(b.n, a.n),
			cmp.Compare(a.change.ID, b.change.ID))
	})
	return list
}

// told is what programs get of the groups.
func (s *summary) told(l Links) []Alike {
	groups := []Alike{}
	for _, g := range s.ordered() {
		c := g.change
		c.Link = l.Change(c.ID)
		groups = append(groups, Alike{Changes: g.n, Example: c})
	}
	return groups
}

// groupsSection is one line a group.
func (s *summary) groupsSection(l Links) Section {
	sec := Section{Heading: "What happened"}
	list := s.ordered()
	listedChanges := 0
	for i, g := range list {
		if i == maxItemsListed {
			break
		}
		listedChanges += g.n
		line := Line{plain(title(g.change, g.n))}
		if u := l.Change(g.change.ID); u != "" && g.n == 1 {
			line = append(line, plain(" · "), link(u, "details"))
		}
		sec.Lines = append(sec.Lines, line)
	}
	if rest := s.changes - listedChanges; rest > 0 {
		sec.Lines = append(sec.Lines, Line{plain("and " + count(rest, "more change"))})
	}
	return sec
}

// agentsSection is one line an agent: its movements, and how it stands now.
func (s *summary) agentsSection() Section {
	sec := Section{Heading: "By agent"}
	type row struct {
		agent string
		moved int
		text  []string
	}
	rows := map[string]*row{}
	get := func(agent string) *row {
		if rows[agent] == nil {
			rows[agent] = &row{agent: agent}
		}
		return rows[agent]
	}
	moves := slices.SortedFunc(maps.Keys(s.moves), func(a, b move) int {
		return cmp.Or(cmp.Compare(s.moves[b], s.moves[a]), cmp.Compare(a.agent, b.agent),
			cmp.Compare(a.after, b.after), cmp.Compare(a.before, b.before), cmp.Compare(a.direction, b.direction))
	})
	for _, m := range moves {
		r := get(m.agent)
		r.moved += s.moves[m]
		r.text = append(r.text, fmt.Sprintf("%s %s", count(s.moves[m], "site"), movement(m)))
	}
	now := map[string]map[diff.Level]int{}
	for _, t := range s.totals {
		get(t.Agent)
		if now[t.Agent] == nil {
			now[t.Agent] = map[diff.Level]int{}
		}
		now[t.Agent][t.Access] += t.Sites
	}
	list := slices.SortedFunc(maps.Values(rows), func(a, b *row) int {
		return cmp.Or(cmp.Compare(b.moved, a.moved), cmp.Compare(a.agent, b.agent))
	})
	sec.Lines = capped(list, func(r *row) Line {
		line := Line{bold(diff.AgentName(r.agent)), plain(": ")}
		if len(r.text) == 0 {
			line = append(line, plain("no movement"))
		} else {
			line = append(line, plain(listed(r.text, 3)))
		}
		if n := now[r.agent]; n != nil {
			line = append(line, plainf("; now blocked on %s, restricted on %s, partly allowed on %s, allowed on %s",
				thousands(n[diff.Blocked]), thousands(n[diff.Restricted]), thousands(n[diff.Partial]), thousands(n[diff.Allowed])))
		}
		return line
	})
	return sec
}

func movement(m move) string {
	if m.before != m.after {
		return levelName(m.before) + " → " + levelName(m.after)
	}
	switch m.direction {
	case diff.Tightened:
		return "let it fetch less"
	case diff.Loosened:
		return "let it fetch more"
	case diff.Mixed:
		return "let it fetch other paths"
	}
	return "decide by another group"
}

func (s *summary) tagsSection() Section {
	sec := Section{Heading: "By tag"}
	tags := slices.SortedFunc(maps.Keys(s.tags), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.tags[b], s.tags[a]), cmp.Compare(a, b))
	})
	sec.Lines = capped(tags, func(t string) Line {
		return Line{bold(visible.Short(t, maxAgentShown)), plain(": " + count(s.tags[t], "change"))}
	})
	return sec
}

func (s *summary) sections(l Links) []Section {
	var out []Section
	for _, sec := range []Section{s.groupsSection(l), s.agentsSection(), s.tagsSection()} {
		if len(sec.Lines) > 0 {
			out = append(out, sec)
		}
	}
	return out
}

// noticeID names a message that stands for no single change: the same however
// often it is tried.
func noticeID(kind MessageKind, at time.Time) string {
	return string(kind) + "-" + at.UTC().Format("20060102T150405Z")
}

// heldMessage sums up what came up in quiet hours.
func heldMessage(s *summary, t Totals, end time.Time, l Links) Message {
	text := Text{
		Title:    fmt.Sprintf("%s on %s during quiet hours", count(t.Deliveries, "change"), count(t.Sites, "site")),
		Sections: s.sections(l),
		Footer:   Line{plain("quiet until " + clock(end) + " · " + string(s.worst))},
	}
	if u := l.Changes("", t.First, t.Last); u != "" {
		text.Footer = append(text.Footer, plain(" · "), link(u, "all changes"))
	}
	return Message{Kind: MessageHeld, ID: noticeID(MessageHeld, end), At: end, Severity: s.worst, Totals: t, Groups: s.told(l), Text: text}
}

// digestMessage sums up what came up since the last digest.
func digestMessage(s *summary, t Totals, since, until time.Time, l Links) Message {
	text := Text{
		Title:    "Digest: nothing changed",
		Sections: s.sections(l),
		Footer:   Line{plain("from " + clock(since) + " to " + clock(until))},
	}
	if t.Deliveries > 0 {
		text.Title = fmt.Sprintf("Digest: %s on %s", count(t.Deliveries, "change"), count(t.Sites, "site"))
	}
	if u := l.Changes("", since, until); u != "" {
		text.Footer = append(text.Footer, plain(" · "), link(u, "all changes"))
	}
	return Message{Kind: MessageDigest, ID: noticeID(MessageDigest, until), At: until, Severity: s.worst, Totals: t, Groups: s.told(l), Text: text}
}

// limitMessage says how many changes wait because of the hourly limit.
func limitMessage(t Totals, limit int, next time.Time, l Links) Message {
	text := Text{
		Title: fmt.Sprintf("%s on %s held back: %s an hour is the limit", count(t.Deliveries, "change"), count(t.Sites, "site"), count(limit, "message")),
		Sections: []Section{{Lines: []Line{
			{plain("Nothing is lost: they follow from " + clock(next) + " on.")},
		}}},
	}
	if u := l.Changes("", t.First, time.Time{}); u != "" {
		text.Footer = Line{link(u, "all changes")}
	}
	return Message{Kind: MessageLimit, ID: noticeID(MessageLimit, next), At: next, Severity: watcher.Warning, Totals: t, Text: text}
}
