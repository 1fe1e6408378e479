package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/watcher"
)

const (
	overviewChanges = 10
	overviewAgents  = 12    // rows of the matrix
	overdueShown    = 1000  // more overdue sites are not counted out
	trendDays       = 365   // days that a trend shows at most
	massShare       = 0.005 // of all sites: a day that moves more is a mass change,
	massSites       = 10    // but not one of fewer sites than this
	day             = 24 * time.Hour
)

type overviewPage struct {
	Sites, Pending, AgentCount, DeadDeliveries int
	Cards                                      []card
	Trend                                      trend
	Matrix                                     []matrixRow
	Changes                                    []watcher.Change
	Attention                                  []attention
}

// card is a headline number: a share or a count, of how many sites, and how
// that moved.
type card struct {
	Label, Value, Sites, Link string
	Moves                     []string
}

type matrixRow struct {
	Agent string
	Share share
	Cells []cell
	Named string
}

type cell struct {
	N    int
	Link string
}

// share is a bar of parts of a whole.
type share struct {
	Label string
	Parts []sharePart
}

type sharePart struct {
	Level       diff.Level
	From, Width int // thousandths
}

type attention struct {
	What, Example, Link string
	N                   int
	Least               bool // there may be more
}

// trend is a table by day that the page's script draws as a chart.
type trend struct {
	Caption, Unit string
	Series        []string
	Days          []trendDay
}

type trendDay struct {
	Day    time.Time
	Values []string
	Note   string
}

func (s *Server) overview(r *http.Request) (view, error) {
	ctx := r.Context()
	days, err := s.allDays(ctx, "")
	if err != nil {
		return view{}, err
	}
	watched, err := s.watched()
	if err != nil {
		return view{}, err
	}
	live := days[len(days)-1].tally
	p := overviewPage{Sites: live.Sites, Pending: live.States[fetch.Pending], AgentCount: len(watched)}
	p.Cards = s.overviewCards(days)
	p.Trend = categoryTrend(days)
	p.Matrix = s.matrix(live, watched)
	if p.Changes, err = s.latest(ctx, watcher.ChangeFilter{Limit: overviewChanges}); err != nil {
		return view{}, err
	}
	if p.Attention, err = s.attention(ctx, live); err != nil {
		return view{}, err
	}
	dead, err := s.deps.Store.Owed(ctx, notify.StatusDead, pageEntries)
	if err != nil {
		return view{}, fmt.Errorf("deliveries: %w", err)
	}
	p.DeadDeliveries = len(dead)
	return view{Name: "overview", Title: "Overview", Section: "/", Chart: true, Data: p}, nil
}

// watched lists the agents that are watched by default.
func (s *Server) watched() ([]string, error) {
	w, err := s.deps.Judge.Watch(watcher.SiteConfig{})
	if err != nil {
		return nil, err
	}
	out := make([]string, len(w.Agents))
	for i, a := range w.Agents {
		out[i] = a.Token
	}
	return out, nil
}

func (s *Server) overviewCards(days []dayTally) []card {
	now := days[len(days)-1].tally
	week, month := daysAgo(days, 7), daysAgo(days, 30)
	move := func(of func(*tally) int) []string { return movement(of, now, week, month) }
	share := func(label string, of func(*tally) int, link string) card {
		return card{label, percent(of(now), now.answered()), plural(of(now), "site"), link, move(of)}
	}
	withFile := func(t *tally) int { return t.withFile() }
	down := func(t *tally) int { return t.States[fetch.Unreachable] }
	return []card{
		share("Block an AI crawler", blocking(agents.GroupAI), ""),
		share("Block a training crawler", blocking(agents.GroupTraining), ""),
		share("Have a robots.txt", withFile, s.prefix+"/sites?state=policy"),
		{"Unreachable", number(down(now)), percent(down(now), now.Sites) + " of all sites", s.prefix + "/sites?state=unreachable", move(down)},
	}
}

// blocking counts the sites that block an agent, or one of a group.
func blocking(who string) func(*tally) int {
	return func(t *tally) int { return t.of(who).level(iBlocked) }
}

// movement words how a number of sites moved over 7 and 30 days.
func movement(of func(*tally) int, now, week, month *tally) (parts []string) {
	for _, t := range []struct {
		then *tally
		days int
	}{{week, 7}, {month, 30}} {
		if t.then != nil {
			parts = append(parts, fmt.Sprintf("%s in %d days", signed(of(now)-of(t.then)), t.days))
		}
	}
	return parts
}

func signed(n int) string {
	switch {
	case n > 0:
		return "+" + number(n)
	case n == 0:
		return "±0"
	}
	return number(n)
}

// categoryTrend is the share of sites that block at least one agent of each
// group, of those that answered.
func categoryTrend(days []dayTally) trend {
	groups := []string{agents.GroupAI, agents.GroupTraining, agents.GroupSearch, agents.GroupAssistant}
	t := trend{Caption: "Share of the sites that answered which block at least one crawler of a kind, in per cent.", Unit: "%"}
	for _, g := range groups {
		t.Series = append(t.Series, groupName(g))
	}
	t.fill(days, func(d dayTally) []string {
		var v []string
		for _, g := range groups {
			v = append(v, share100(d.of(g).level(iBlocked), d.answered()))
		}
		return v
	}, blocking(agents.GroupAI), "sites block")
	return t
}

func share100(part, whole int) string {
	if whole == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", 100*float64(part)/float64(whole))
}

// fill adds the days, newest first, a year's worth at most and thinned to
// weeks where there are many, with a note on days on which many sites moved
// at once.
func (t *trend) fill(days []dayTally, values func(dayTally) []string, count func(*tally) int, what string) {
	days = days[max(0, len(days)-trendDays):]
	for i := len(days) - 1; i >= 0; i-- {
		d := trendDay{Day: days[i].Day, Values: values(days[i])}
		if i > 0 && days[i-1].Sites > 0 {
			moved := count(days[i].tally) - count(days[i-1].tally)
			added := days[i].Sites - days[i-1].Sites
			if n := max(moved, -moved); n >= massSites && float64(n) >= massShare*float64(days[i].Sites) && max(added, -added) < n {
				d.Note = signed(moved) + " " + what
			}
		}
		if d.Note == "" && len(days) > 120 && i != len(days)-1 && (len(days)-1-i)%7 != 0 {
			continue
		}
		t.Days = append(t.Days, d)
	}
}

// matrix lists the watched agents that most sites deny something.
func (s *Server) matrix(t *tally, watched []string) []matrixRow {
	watched = slices.Clone(watched)
	slices.SortStableFunc(watched, func(a, b string) int { return t.of(b).level(iBlocked) - t.of(a).level(iBlocked) })
	var rows []matrixRow
	for _, a := range watched[:min(len(watched), overviewAgents)] {
		c := t.of(a)
		row := matrixRow{Agent: a, Share: shareOf(c), Named: percent(c[iBlocked][iNamed], c.level(iBlocked))}
		for _, i := range []int{iBlocked, iRestricted, iPartial, iAllowed, iUnknown} {
			row.Cells = append(row.Cells, cell{c.level(i), s.prefix + "/sites?" + url.Values{"agent": {a}, "access": {string(levels()[i])}}.Encode()})
		}
		rows = append(rows, row)
	}
	return rows
}

// shareOf draws counts as parts of a whole, the strictest first.
func shareOf(c *counts) share {
	total := c.total()
	sh := share{Label: "no sites"}
	var words []string
	from := 0
	for _, i := range []int{iBlocked, iRestricted, iPartial, iAllowed, iUnknown} {
		if n := c.level(i); n > 0 {
			w := max(1, (1000*n+total/2)/total)
			sh.Parts = append(sh.Parts, sharePart{levels()[i], from, w})
			from += w
			words = append(words, percent(n, total)+" "+string(levels()[i]))
		}
	}
	if len(words) > 0 {
		sh.Label = strings.Join(words, ", ")
	}
	return sh
}

// attention lists what somebody should look at.
func (s *Server) attention(ctx context.Context, t *tally) ([]attention, error) {
	var out []attention
	overdue, err := s.deps.Store.OverdueUpTo(ctx, s.deps.Now().Add(-watcher.MaxGap), overdueShown)
	if err != nil {
		return nil, fmt.Errorf("overdue sites: %w", err)
	}
	for _, row := range []struct {
		n                   int
		what, explain, link string
	}{
		{overdue, "Overdue", "no check finished in 24 hours", "overdue=1"},
		{t.States[fetch.Unreachable], "Unreachable", "blocks everyone until it answers", "state=unreachable"},
		{t.Swings, "Unstable", "goes back and forth, and has not settled", "unstable=1"},
		{t.States[fetch.NotRobots], "Not a robots.txt", "a page came instead", "state=not_robots"},
		{t.States[fetch.Denied], "Denied", "the server refuses us the file", "state=denied"},
	} {
		if row.n > 0 {
			out = append(out, attention{What: row.what, Example: row.explain, Link: s.prefix + "/sites?" + row.link, N: row.n, Least: row.n == overdueShown && row.what == "Overdue"})
		}
	}
	return out, nil
}
