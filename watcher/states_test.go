package watcher

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/fetch"
)

// TestStatesDocument keeps docs/states.md as the stories have it. With
// ROBOTSWATCH_UPDATE=1 it writes the file.
func TestStatesDocument(t *testing.T) {
	path := filepath.Join("..", "docs", "states.md")
	want := statesDocument(t)
	if os.Getenv("ROBOTSWATCH_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is out of date; write it anew with ROBOTSWATCH_UPDATE=1 go test -run TestStatesDocument ./watcher", path)
	}
}

// edge of the diagram.
type edge struct {
	from, to fetch.State
	how      string
}

var stateOrder = []fetch.State{fetch.Pending, fetch.Policy, fetch.Absent, fetch.Unreachable, fetch.Denied, fetch.NotRobots}

func (e edge) less(o edge) int {
	place := func(e edge) string {
		return fmt.Sprintf("%d %d %s", slices.Index(stateOrder, e.from), slices.Index(stateOrder, e.to), e.how)
	}
	return strings.Compare(place(e), place(o))
}

// edges walks all stories; each edge has what may be reported on it.
func edges(t *testing.T) map[edge]map[string]bool {
	found := map[edge]map[string]bool{}
	for _, s := range stories {
		s.play(t, func(_ string, before Site, out fetch.Outcome, d Decision, _ string) {
			e := edge{from: before.State, to: d.Site.State}
			if before.Memory.Flap.StateTold != "" || before.Memory.Flap.Told.known() {
				return
			}
			if e.from == e.to && (len(d.Transitions) == 0 || d.Transitions[0].ofState()) {
				return
			}
			switch {
			case e.from == fetch.Pending:
				e.how = "first answer"
			case before.Memory.Tentative:
				e.how = "first answer unconfirmed"
			case e.to == fetch.Policy:
				e.how = "at once"
			default:
				e.how = "confirmed"
			}
			says := "nothing"
			for i, tr := range d.Transitions {
				if tr.Unstable != "" {
					return
				}
				if i == 0 {
					says = ""
				} else {
					says += " and "
				}
				if tr.ofState() {
					says += "state"
				} else {
					says += "change"
				}
			}
			if found[e] == nil {
				found[e] = map[string]bool{}
			}
			found[e][says] = true
		})
	}
	return found
}

// TestStoriesTakeEveryTransition keeps the table whole.
func TestStoriesTakeEveryTransition(t *testing.T) {
	found := edges(t)
	for _, from := range stateOrder {
		for _, to := range stateOrder[1:] {
			e := edge{from: from, to: to, how: "confirmed"}
			switch {
			case from == fetch.Pending:
				e.how = "first answer"
			case to == fetch.Policy:
				e.how = "at once"
			case from == to:
				continue
			}
			if found[e] == nil {
				t.Errorf("no story goes from %s to %s (%s)", from, to, e.how)
			}
		}
	}
}

func statesDocument(t *testing.T) string {
	var b strings.Builder
	b.WriteString(`# The states of a site

Written by a test from the table that also tests the state machine
(` + "`watcher/decide_test.go`" + `); do not edit.

What a look finds is a fact and is kept as an observation. What the site's
state is, and what is told, is decided from it like this:

- A policy is believed at once. Everything else that contradicts the state has
  to be confirmed: by ` + "`[confirm] failures`" + ` equal answers in a row, looked for
  every ` + "`interval`" + `. Any success in between, a 304 too, ends that. When three
  times as many answers in a row were unreadable and never enough of them
  alike, the last one counts; a missing file is never made of such a mixture.
- The first answer of a new site is its state at once, and a baseline: no
  event. While it is unconfirmed a better answer replaces it, without event.
- ` + "`policy`" + ` and ` + "`absent`" + ` are readable. A change compares the last confirmed
  readable answer with the new one, however long the site could not be read in
  between. The same bytes after an outage are no change.
- Entering and leaving an unreadable state is a state event.
- Flapping: when a site goes back and forth between two versions a third time,
  and each was seen in fewer than 3 looks and for less than 48 hours, this is
  told as unstable and nothing more until one version was seen in 8 looks in a
  row (or for 72 hours). The third outage within 72 hours is told likewise,
  until nothing moved for 24 hours and 8 looks. A reversal is always two
  events.

## Diagram

On the arrows: when, and what is told. "change" is an access event, or the
lesser kinds when nobody's access changed.

` + "```mermaid\nstateDiagram-v2\n    [*] --> pending\n")
	found := edges(t)
	for _, e := range slices.SortedFunc(maps.Keys(found), edge.less) {
		fmt.Fprintf(&b, "    %s --> %s: %s / %s\n", e.from, e.to, e.how, strings.Join(slices.Sorted(maps.Keys(found[e])), ", or "))
	}
	b.WriteString("```\n\n## Stories\n\n" +
		"Each word is one look, an hour apart: `A` `B` `C` are policies, `=` is 304, `503` stands for\n" +
		"unreachable, `403` for denied, `html` for not_robots, `404` for absent, `+48h` for time. After the\n" +
		"slash is what is told.\n\n| story | looks |\n|---|---|\n")
	for _, s := range stories {
		fmt.Fprintf(&b, "| %s | `%s` |\n", s.name, s.looks)
	}
	return b.String()
}
