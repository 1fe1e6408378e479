package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robotswatch/robotswatch/internal/visible"
)

// How much Render shows of what can be long; the rest is counted.
const (
	maxAgentsShown  = 12 // in one list of names
	maxEntriesShown = 40 // of each direction of one agent, and of other lists
)

// Render is a report in words for a terminal: the verdict first, then each
// group of agents for whom the edit means the same, then what else changed.
// Text from the files is made visible; the result ends with a newline.
func Render(r *Report) string {
	var p page
	p.line("%s", verdict(r))
	if n := unproven(r); n > 0 {
		p.line("Not proven for %s: the search gave up at its limit. What is listed is true, but there may be more.", agentCount(n))
	}
	for _, same := range alike(r.Agents) {
		p.agents(same)
	}
	for _, n := range r.Notes {
		p.section("note: %s", visible.Text(n))
	}
	if len(r.NoEffect) > 0 {
		p.section("rules")
		p.idle(r.NoEffect)
	}
	p.signals(r.Signals)
	p.crawlDelays(r.CrawlDelays)
	p.sitemaps(r.Sitemaps)
	if r.Text != (TextStat{}) {
		p.section("text: %s added, %s removed", lineCount(r.Text.Added), lineCount(r.Text.Removed))
	}
	return p.String()
}

// verdict is the report in one line.
func verdict(r *Report) string {
	count := make(map[Direction]int)
	for _, c := range r.Agents {
		count[c.Direction]++
	}
	var moves []string
	for _, m := range []struct {
		direction Direction
		words     string
	}{{Tightened, "may fetch less"}, {Loosened, "may fetch more"}, {Mixed, "may fetch less here and more there"}} {
		if n := count[m.direction]; n > 0 {
			moves = append(moves, fmt.Sprintf("%s %s", agentCount(n), m.words))
		}
	}
	switch {
	case len(moves) > 0:
		return fmt.Sprintf("Access changed: %s, of %d compared.", strings.Join(moves, ", "), r.Compared)
	case unproven(r) > 0:
		return "No change of access was found."
	case !r.Equivalent:
		return fmt.Sprintf("Access did not change: proven over all paths, for %s. Something else did.", agentCount(r.Compared))
	case r.Text == TextStat{}:
		return "Both files say the same, line by line."
	}
	return fmt.Sprintf("Nothing changed in meaning: proven over all paths, for %s.", agentCount(r.Compared))
}

func unproven(r *Report) (n int) {
	for _, c := range r.Agents {
		if !c.Proven {
			n++
		}
	}
	return n
}

// alike groups agents for whom everything but the name is the same, in order
// of first appearance; those for whom no path changed come last.
func alike(list []AgentChange) (groups [][]AgentChange) {
	place := make(map[string]int)
	for _, c := range list {
		var p page
		p.change(c)
		k, known := place[p.String()]
		if !known {
			k = len(groups)
			place[p.String()] = k
			groups = append(groups, nil)
		}
		groups[k] = append(groups[k], c)
	}
	slices.SortStableFunc(groups, func(a, b []AgentChange) int {
		return btoi(a[0].Direction == Same) - btoi(b[0].Direction == Same)
	})
	return groups
}

// page collects lines; sections are set apart by an empty line.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) section(format string, args ...any) { p.line("\n"+format, args...) }

func (p *page) agents(same []AgentChange) {
	names := make([]string, len(same))
	for i, c := range same {
		names[i] = c.Agent
	}
	p.section("%s", agentNames(names))
	p.change(same[0])
}

func agentNames(tokens []string) string {
	var names []string
	for i, t := range tokens {
		if i == maxAgentsShown && len(tokens) > maxAgentsShown+1 {
			names = append(names, fmt.Sprintf("and %d more", len(tokens)-i))
			break
		}
		names = append(names, AgentName(t))
	}
	return strings.Join(names, ", ")
}

// AgentName shows a token; Everyone is all that no group names.
func AgentName(token string) string {
	if token == Everyone {
		return "all others (*)"
	}
	return visible.Short(token, 80)
}

// change is all that is said of one agent but its name.
func (p *page) change(c AgentChange) {
	p.line("  %s", levels(c))
	if c.Before.Source != c.After.Source {
		p.line("  rules: %s → %s", sourceWords(c.Before), sourceWords(c.After))
	}
	if !c.Proven {
		p.line("  not proven: there may be more than what follows")
	}
	p.entries("newly disallowed", c.NewlyDisallowed, true)
	p.entries("newly allowed", c.NewlyAllowed, false)
	p.idle(c.NoEffect)
	if c.Note != "" {
		p.line("  note: %s", visible.Text(c.Note))
	}
}

// levels says what happened to the access: "partial → blocked (tightened)".
func levels(c AgentChange) string {
	switch {
	case c.Direction == Same && c.Before.Level == c.After.Level:
		return fmt.Sprintf("%s as before", c.After.Level)
	case c.Direction == Same:
		return fmt.Sprintf("%s → %s", c.Before.Level, c.After.Level)
	case c.Before.Level == c.After.Level:
		return fmt.Sprintf("still %s, but %s", c.After.Level, c.Direction)
	}
	return fmt.Sprintf("%s → %s (%s)", c.Before.Level, c.After.Level, c.Direction)
}

func sourceWords(a Access) string {
	switch a.Source {
	case "named":
		return "its own group"
	case "wildcard":
		return "the * group"
	case "default":
		return "no group"
	}
	return "the HTTP status"
}

// entries lists examples, aligned, each with the rule that decided in the old
// file and the one that decides in the new.
func (p *page) entries(title string, list []Entry, allowedBefore bool) {
	if len(list) == 0 {
		return
	}
	p.line("  %s", title)
	shown := list[:min(len(list), maxEntriesShown)]
	width := 0
	for _, e := range shown {
		width = max(width, len(e.Example))
	}
	width = min(width, 40)
	for _, e := range shown {
		disallows := ruleWords("", 0, "")
		if e.Rule != nil && e.Line != nil {
			disallows = ruleWords(*e.Rule, *e.Line, sideWord(!allowedBefore))
		}
		allows := ruleWords(e.AllowedBy, e.AllowedLine, sideWord(allowedBefore))
		was, is := disallows, allows
		if allowedBefore {
			was, is = allows, disallows
		}
		p.line("    %-*s  %s → %s", width, visible.Short(e.Example, 200), was, is)
	}
	p.rest("    ", len(list)-len(shown))
}

func sideWord(old bool) string {
	if old {
		return "old"
	}
	return "new"
}

func ruleWords(rule string, line int, side string) string {
	if line == 0 {
		return "no rule"
	}
	return fmt.Sprintf("%s (%s line %d)", visible.Short(rule, 200), side, line)
}

func (p *page) rest(indent string, n int) {
	if n > 0 {
		p.line("%sand %d more", indent, n)
	}
}

func (p *page) idle(list []NoEffect) {
	shown := list[:min(len(list), maxEntriesShown)]
	for _, n := range shown {
		p.line("  %s", n.words())
	}
	p.rest("  ", len(list)-len(shown))
}

// words say which rule came or went without effect, and why.
func (n NoEffect) words() string {
	what := "removed"
	if n.Added {
		what = "added"
	}
	s := what + " " + ruleWords(n.Rule, n.Line, sideWord(!n.Added)) + ": no effect"
	switch {
	case n.CoveredBy == "":
		return s + " (allowed without it)"
	case n.CoveredInOther:
		return fmt.Sprintf("%s (covered by %s line %d, %s)", s, sideWord(n.Added), n.CoveredLine, visible.Short(n.CoveredBy, 200))
	}
	return fmt.Sprintf("%s (covered by line %d, %s)", s, n.CoveredLine, visible.Short(n.CoveredBy, 200))
}

func (p *page) signals(list []SignalChange) {
	if len(list) == 0 {
		return
	}
	p.section("preferences")
	// One line for all scopes in which a preference changed alike.
	var changes []SignalChange
	scopes := make(map[SignalChange][]string)
	for _, s := range list {
		scope := s.Scope
		s.Scope = ""
		if scope == "" {
			scope = "the whole file"
		}
		if scopes[s] == nil {
			changes = append(changes, s)
		}
		scopes[s] = append(scopes[s], scope)
	}
	shown := changes[:min(len(changes), maxEntriesShown)]
	for _, s := range shown {
		where := ""
		if s.Path != "" {
			where = " on " + visible.Short(s.Path, 200)
		}
		p.line("  %s for %s%s: %s → %s", s.Name, agentNames(scopes[s]), where, valueWords(s.Before), valueWords(s.After))
	}
	p.rest("  ", len(changes)-len(shown))
}

func valueWords(s string) string {
	if s == "" {
		return "none"
	}
	return visible.Short(s, 200)
}

func (p *page) crawlDelays(list []CrawlDelayChange) {
	if len(list) == 0 {
		return
	}
	p.section("crawl delay")
	shown := list[:min(len(list), maxEntriesShown)]
	for _, d := range shown {
		p.line("  %s: %s → %s", AgentName(d.Agent), DelayWords(d.Before), DelayWords(d.After))
	}
	p.rest("  ", len(list)-len(shown))
}

// DelayWords is a crawl delay in seconds, nil for none, as people read it.
func DelayWords(s *float64) string {
	if s == nil {
		return "none"
	}
	return strconv.FormatFloat(*s, 'f', -1, 64) + " s"
}

func (p *page) sitemaps(c SitemapsChange) {
	if len(c.Added)+len(c.Removed) == 0 {
		return
	}
	p.section("sitemaps")
	for _, part := range []struct {
		word string
		urls []string
	}{{"added", c.Added}, {"removed", c.Removed}} {
		shown := part.urls[:min(len(part.urls), maxEntriesShown)]
		for _, u := range shown {
			p.line("  %s %s", part.word, visible.Short(u, 200))
		}
		p.rest("  ", len(part.urls)-len(shown))
	}
}

func lineCount(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

func agentCount(n int) string {
	if n == 1 {
		return "1 agent"
	}
	return fmt.Sprintf("%d agents", n)
}
