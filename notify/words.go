package notify

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/watcher"
)

// Limits of a message that people read.
const (
	maxSitesListed    = 10
	maxAgentsInTitle  = 3
	maxAgentsListed   = 12 // of one outcome
	maxOutcomesListed = 6
	maxEntriesListed  = 3 // deciding lines of one outcome
	maxItemsListed    = 10
	maxTitle          = 150
)

// changeMessage tells one change, or many that say the same; list has the
// first of them and is not empty. Others are agents that changed too, which
// the receiver did not ask for.
func changeMessage(list []watcher.Change, t Totals, l Links, others []diff.AgentChange) Message {
	list = slices.Clone(list)
	for i := range list {
		if list[i].Link == "" {
			list[i].Link = l.Change(list[i].ID)
		}
	}
	c := list[0]
	m := Message{Kind: MessageChange, ID: c.ID, At: c.At, Severity: c.Severity, Changes: list, Totals: t}
	m.Text.Title = title(c, t.Sites)
	var sections []Section
	if t.Sites > 1 {
		sections = append(details(c, others), exampleSection(c), sitesSection(list, t, l))
	} else {
		sections = append([]Section{{Lines: []Line{siteLine(c, l)}}}, details(c, others)...)
	}
	for _, s := range append(sections, causeSection(c)) {
		if len(s.Lines) > 0 {
			m.Text.Sections = append(m.Text.Sections, s)
		}
	}
	m.Text.Footer = footer(c, t, l)
	return m
}

// title is the verdict.
func title(c watcher.Change, sites int) string {
	v := verdictOf(c)
	s := v.one(siteName(c.Site))
	if sites > 1 {
		s = count(sites, "site") + " " + v.many
		if c.Managed != "" {
			s += ": " + vendorName(c.Managed) + "-managed rules"
		}
	}
	return cut(s, maxTitle)
}

// verdict is a sentence about one site, and one about many.
type verdict struct {
	one  func(site string) string
	many string // after "12 sites "
}

// on makes a verdict whose sentence ends with the site.
func on(one, many string) verdict {
	return verdict{func(site string) string { return one + " on " + site }, many}
}

// of makes a verdict whose sentence begins with the site.
func of(one, many string) verdict {
	return verdict{func(site string) string { return site + " " + one }, many}
}

func verdictOf(c watcher.Change) verdict {
	switch c.Kind {
	case watcher.KindAccess:
		return accessVerdict(c)
	case watcher.KindState:
		return stateVerdict(c)
	case watcher.KindSignal:
		names := signalNames(c.Signals)
		return on(names+" changed", "changed "+names+" in the same way")
	case watcher.KindCrawlDelay:
		return crawlDelayVerdict(c.CrawlDelays)
	case watcher.KindSitemap:
		return on(sitemapVerdict(c.Sitemaps), "changed their sitemaps")
	}
	return of("edited its robots.txt, nothing effective changed", "edited their robots.txt, nothing effective changed")
}

func signalNames(list []diff.SignalChange) string {
	var names []string
	for _, s := range list {
		name := signalName(s.Name)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return inTitle(names)
}

// signalName writes a preference line's name as its specification does.
func signalName(s string) string {
	switch s {
	case "content-signal":
		return "Content-Signal"
	case "content-usage":
		return "Content-Usage"
	case "license":
		return "License"
	case "disallowaitraining":
		return "DisallowAITraining"
	}
	return visible.Short(s, maxAgentShown)
}

func crawlDelayVerdict(list []diff.CrawlDelayChange) verdict {
	var names []string
	for _, d := range list {
		names = append(names, diff.AgentName(d.Agent))
	}
	who := inTitle(names)
	if len(list) == 1 && list[0].After != nil {
		to := diff.DelayWords(list[0].After)
		return on("crawl delay of "+who+" now "+to, "now ask "+who+" for a crawl delay of "+to)
	}
	return on("crawl delay of "+who+" changed", "changed the crawl delay of "+who)
}

func sitemapVerdict(s *diff.SitemapsChange) string {
	var parts []string
	if s != nil && len(s.Added) > 0 {
		parts = append(parts, count(len(s.Added), "sitemap")+" added")
	}
	if s != nil && len(s.Removed) > 0 {
		parts = append(parts, count(len(s.Removed), "sitemap")+" removed")
	}
	if len(parts) == 0 {
		return "sitemaps changed"
	}
	return strings.Join(parts, ", ")
}

// siteLine names the site as a link, and its tags.
func siteLine(c watcher.Change, l Links) Line {
	line := Line{plain("Site: "), link(l.Site(c.Site), siteName(c.Site))}
	if len(c.Tags) > 0 {
		line = append(line, plain(" · "+listed(visibleAll(c.Tags, maxAgentShown), maxItemsListed)))
	}
	return line
}

// exampleSection says which site the details are of, where they can differ.
func exampleSection(c watcher.Change) Section {
	if c.Kind != watcher.KindAccess {
		return Section{}
	}
	return Section{Lines: []Line{{plain("Lines and paths as on " + siteName(c.Site) + ".")}}}
}

// sitesSection lists the first sites and a link to the rest.
func sitesSection(list []watcher.Change, t Totals, l Links) Section {
	s := Section{Heading: "Sites"}
	seen := map[string]bool{}
	for _, c := range list {
		if len(seen) == maxSitesListed || seen[c.Site] {
			continue
		}
		seen[c.Site] = true
		line := Line{link(l.Site(c.Site), siteName(c.Site))}
		if c.Link != "" {
			line = append(line, plain(" · "), link(c.Link, "change"))
		}
		s.Lines = append(s.Lines, line)
	}
	if rest := t.Sites - len(seen); rest > 0 {
		line := Line{plainf("and %s more", thousands(rest))}
		if all := l.Changes(list[0].Kind, list[0].At, t.Last); all != "" {
			line = append(line, plain(" · "), link(all, "all of them"))
		}
		s.Lines = append(s.Lines, line)
	}
	return s
}

func details(c watcher.Change, others []diff.AgentChange) []Section {
	switch c.Kind {
	case watcher.KindAccess:
		return accessDetails(c, others)
	case watcher.KindState:
		return []Section{{Lines: stateLines(c)}}
	case watcher.KindSignal:
		return []Section{{Lines: signalLines(c.Signals)}}
	case watcher.KindCrawlDelay:
		return []Section{{Lines: crawlDelayLines(c.CrawlDelays)}}
	case watcher.KindSitemap:
		return []Section{{Lines: sitemapLines(c.Sitemaps)}}
	}
	return nil
}

func signalLines(list []diff.SignalChange) []Line {
	return capped(list, func(s diff.SignalChange) Line {
		line := Line{bold(signalName(s.Name))}
		switch s.Scope {
		case "":
		case "*":
			line = append(line, plain(" for everyone"))
		default:
			line = append(line, plain(" for "+diff.AgentName(s.Scope)))
		}
		if s.Path != "" {
			line = append(line, plain(" on "), code(visible.Short(s.Path, maxPathShown)))
		}
		return append(line, plain(": "), value(s.Before), plain(" → "), value(s.After))
	})
}

// value quotes a value, or says that there is none.
func value(s string) Span {
	if s == "" {
		return plain("none")
	}
	return code(visible.Short(s, maxValueShown))
}

func crawlDelayLines(list []diff.CrawlDelayChange) []Line {
	return capped(list, func(d diff.CrawlDelayChange) Line {
		return Line{bold(diff.AgentName(d.Agent)), plain(": " + diff.DelayWords(d.Before) + " → " + diff.DelayWords(d.After))}
	})
}

func sitemapLines(s *diff.SitemapsChange) []Line {
	if s == nil {
		return nil
	}
	show := func(word string) func(string) Line {
		return func(u string) Line { return Line{plain(word + " "), code(visible.Short(u, maxPathShown))} }
	}
	return append(capped(s.Added, show("added")), capped(s.Removed, show("removed"))...)
}

// capped renders the first maxItemsListed and counts the rest.
func capped[T any](list []T, render func(T) Line) []Line {
	var lines []Line
	for i, v := range list {
		if i == maxItemsListed {
			return append(lines, Line{plainf("and %s more", thousands(len(list)-i))})
		}
		lines = append(lines, render(v))
	}
	return lines
}

// causeSection says why, in words.
func causeSection(c watcher.Change) Section {
	var lines []Line
	switch c.Cause {
	case watcher.CauseRules:
		s := "Cause: robots.txt was edited"
		if c.Managed != "" {
			s += ", in the block that " + vendorName(c.Managed) + " manages"
		}
		lines = append(lines, Line{plain(s)})
	case watcher.CauseStatus:
		if c.Kind == watcher.KindAccess {
			lines = append(lines, Line{plainf("Cause: the answer to robots.txt changed, %s → %s", stateName(c.State.Before), stateName(c.State.After))})
		}
	case watcher.CauseRedirect:
		lines = append(lines, Line{plain("Cause: robots.txt now comes from another address")})
	case watcher.CauseAgentList:
		lines = append(lines, Line{plain("Cause: the list of watched agents changed, not the site")})
	}
	switch c.Unstable {
	case watcher.UnstableBegan:
		lines = append(lines, Line{plain("The site keeps changing its answer; more of it is not announced until it settles.")})
	case watcher.UnstableSettled:
		lines = append(lines, Line{plain("The site kept changing its answer and has settled now.")})
	}
	return Section{Lines: lines}
}

// footer says when, how grave, and where to read more.
func footer(c watcher.Change, t Totals, l Links) Line {
	line := Line{plain("seen " + clock(c.At) + " · " + string(c.Severity))}
	if t.Sites <= 1 && c.Link != "" {
		return append(line, plain(" · "), link(c.Link, "details"))
	}
	if t.Sites > 1 {
		line[0].Text = "first seen " + clock(c.At) + " · " + string(c.Severity)
	}
	return append(line, plain(" · "), code(visible.Short(c.ID, 40)))
}

// siteName shows an origin as people write it: https left out.
func siteName(origin string) string {
	return visible.Short(strings.TrimPrefix(origin, "https://"), maxValueShown)
}

func vendorName(v string) string {
	v = visible.Short(v, 40)
	if v == "" {
		return v
	}
	return strings.ToUpper(v[:1]) + v[1:]
}

func visibleAll(list []string, n int) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = visible.Short(s, n)
	}
	return out
}

// listed lists names, at most n of them: "A, B, C and 5 more".
func listed(names []string, n int) string {
	if len(names) <= n+1 { // "and 1 more" is no shorter than the name
		n = len(names)
	}
	s := strings.Join(names[:n], ", ")
	if rest := len(names) - n; rest > 0 {
		s += fmt.Sprintf(" and %s more", thousands(rest))
	}
	return s
}

// inTitle names up to maxAgentsInTitle; of more, the first and how many more.
func inTitle(names []string) string {
	if len(names) <= maxAgentsInTitle {
		return strings.Join(names, ", ")
	}
	return names[0] + " and " + thousands(len(names)-1) + " more"
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return thousands(n) + " " + what
}

// thousands writes 12,345.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// duration writes a span of time in its two largest units: "2 h 10 min".
func duration(d time.Duration) string {
	d = d.Round(time.Minute)
	days, hours, minutes := int(d/(24*time.Hour)), int(d/time.Hour)%24, int(d/time.Minute)%60
	switch {
	case days > 0 && hours > 0:
		return fmt.Sprintf("%d d %d h", days, hours)
	case days > 0:
		return fmt.Sprintf("%d d", days)
	case hours > 0 && minutes > 0:
		return fmt.Sprintf("%d h %d min", hours, minutes)
	case hours > 0:
		return fmt.Sprintf("%d h", hours)
	case minutes > 0:
		return fmt.Sprintf("%d min", minutes)
	}
	return "less than a minute"
}
