package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

const (
	signalRows    = 40 // statements that the page lists
	signalChanges = 8  // changes of signals on it
)

type signalsPage struct {
	Lede, Tag string
	Cards     []card
	Trend     trend
	Rows      []signalRow
	More      int // statements not listed
	Changes   []watcher.Change
}

type signalRow struct {
	Name, Value, Scope string
	OnPaths            bool
	Sites              int
	Share, Move, Link  string
	Bar                int // thousandths of the sites with a robots.txt
}

// signalsPage shows what policies state about use, beside access.
func (s *Server) signalsPage(r *http.Request) (view, error) {
	ctx, tag := r.Context(), r.URL.Query().Get("tag")
	days, err := s.allDays(ctx, tag)
	if err != nil {
		return view{}, err
	}
	now, month := days[len(days)-1].tally, daysAgo(days, 30)
	p := signalsPage{Tag: tag, Cards: s.signalCards(days), Trend: signalTrend(days)}
	p.Lede = fmt.Sprintf("%s of %s sites with a robots.txt state a preference about use, beside what they allow.", number(now.Says["any"]), number(now.withFile()))
	list := now.statements()
	p.More = max(0, len(list)-signalRows)
	for _, c := range list[:len(list)-p.More] {
		p.Rows = append(p.Rows, s.signalRow(c, now, month, tag))
	}
	p.Changes, err = s.latest(ctx, watcher.ChangeFilter{Kinds: []watcher.Kind{watcher.KindSignal}, Tag: tag, Limit: signalChanges})
	if err != nil {
		return view{}, err
	}
	return view{Name: "signals", Title: "Preferences", Section: "/signals", Chart: true, Feed: "?kind=signal", Data: p}, nil
}

func (s *Server) signalRow(c statementCount, now, month *tally, tag string) signalRow {
	q := url.Values{"signal": {c.String()}}
	if tag != "" {
		q.Set("tag", tag)
	}
	row := signalRow{Name: signalName(c.Name), Value: c.Value, Scope: scopeText(c.Scope), OnPaths: c.OnPaths, Sites: c.Sites,
		Share: percent(c.Sites, now.withFile()), Move: "–", Link: s.prefix + "/sites?" + q.Encode()}
	if month != nil {
		row.Move = signed(c.Sites - month.Says[c.String()])
	}
	if n := now.withFile(); n > 0 {
		row.Bar = min(1000, 1000*c.Sites/n)
	}
	return row
}

func (s *Server) signalCards(days []dayTally) (cards []card) {
	now, week, month := days[len(days)-1].tally, daysAgo(days, 7), daysAgo(days, 30)
	for _, st := range stances() {
		of := func(t *tally) int { return t.Says[st.key] }
		cards = append(cards, card{st.label, percent(of(now), now.withFile()), plural(of(now), "site"), "", movement(of, now, week, month)})
	}
	return cards
}

// signalTrend is the share of sites with a robots.txt that take each stance.
func signalTrend(days []dayTally) trend {
	t := trend{Caption: "Share of the sites with a robots.txt that state each, in per cent.", Unit: "%"}
	for _, st := range stances() {
		t.Series = append(t.Series, st.label)
	}
	t.fill(days, func(d dayTally) (v []string) {
		for _, st := range stances() {
			v = append(v, share100(d.Says[st.key], d.withFile()))
		}
		return v
	}, func(t *tally) int { return t.Says["no-training"] }, "sites refuse training")
	return t
}

// signalDay is how many sites stated one thing at the end of a day.
type signalDay struct {
	Day      string `json:"day" format:"date"`
	Signal   string `json:"signal" doc:"The statement as a filter of sites takes it" example:"content-signal ai-train=no for *"`
	Name     string `json:"name" example:"content-signal"`
	Value    string `json:"value" doc:"Key and value; empty where the name says it all, other for what is neither" example:"ai-train=no"`
	Scope    string `json:"scope" doc:"* for everyone, or the agent that it is for, lower case"`
	OnPaths  bool   `json:"on_paths" doc:"It is limited to a path"`
	Sites    int    `json:"sites"`
	WithFile int    `json:"with_robots" doc:"Denominator: sites with a robots.txt"`
	AllSites int    `json:"all_sites" doc:"Denominator: all sites"`
}

func (signalDay) csvHeader() []string {
	return []string{"day", "signal", "name", "value", "scope", "on_paths", "sites", "with_robots", "all_sites"}
}

func (d signalDay) csvCells() []string {
	return []string{d.Day, d.Signal, d.Name, d.Value, d.Scope, fmt.Sprint(d.OnPaths), itoa(d.Sites), itoa(d.WithFile), itoa(d.AllSites)}
}

// signalDays lists the statements of each day in a span, days in order and in
// each the most frequent first.
func (s *Server) signalDays(ctx context.Context, tag string, since, until time.Time, keep func(watcher.Statement) bool) ([]signalDay, error) {
	days, err := s.allDays(ctx, tag)
	if err != nil {
		return nil, err
	}
	var out []signalDay
	for _, d := range days {
		if d.Day.Before(since) || d.Day.After(until) {
			continue
		}
		for _, c := range d.statements() {
			if keep(c.Statement) {
				out = append(out, signalDay{Day: d.Day.Format(time.DateOnly), Signal: c.String(), Name: c.Name, Value: c.Value, Scope: c.Scope,
					OnPaths: c.OnPaths, Sites: c.Sites, WithFile: d.withFile(), AllSites: d.Sites})
			}
		}
	}
	return out, nil
}
