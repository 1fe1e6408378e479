package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/watcher"
)

// demoLooks at the last scene of a site, all without an alert, are silence.
const demoLooks = 4

// demoTeller says on the terminal what comes of the plot. It is used from one
// goroutine.
type demoTeller struct {
	out      io.Writer
	colour   bool
	start    time.Time
	now      func() time.Time
	address  string // of the dashboard
	plot     []demoStory
	seen     map[string]bool // ids of changes, since deliveries may repeat
	told     map[string]bool // titles
	looks    map[string]int  // at the last scene, by host
	awaited  int             // titles to be told yet
	finished bool
}

func newDemoTeller(out io.Writer, colour bool, plot []demoStory) *demoTeller {
	t := &demoTeller{
		out: out, colour: colour, plot: plot, now: time.Now,
		seen: map[string]bool{}, told: map[string]bool{}, looks: map[string]int{},
	}
	for _, s := range plot {
		t.awaited += len(s.alerts)
		if s.silence != "" {
			t.awaited++
		}
	}
	return t
}

// begin is called once, when the dashboard answers at an address.
func (t *demoTeller) begin(address string) {
	t.start, t.address = t.now(), address
	fmt.Fprintf(t.out, "%s\n\n", t.paint(bold, "robotswatch demo"))
	fmt.Fprintf(t.out, "%d simulated sites on this machine, each looked at every %s by the real daemon.\n", len(t.plot), demoEvery)
	fmt.Fprintf(t.out, "Watched:    %s\n", strings.Join(demoWatched, ", "))
	fmt.Fprintf(t.out, "Dashboard:  %s\n", t.paint(underlined, "http://"+address+"/"))
	fmt.Fprintf(t.out, "Ctrl-C ends it.\n\n")
}

// alert is a change that was delivered.
func (t *demoTeller) alert(c watcher.Change) {
	if t.seen[c.ID] {
		return
	}
	t.seen[c.ID] = true
	title := "This was not in the plot."
	for _, s := range t.plot {
		if c.Site != "http://"+s.host {
			continue
		}
		for _, a := range s.alerts {
			if !t.told[a.title] && a.is(c) {
				title = a.title
				break
			}
		}
	}
	sign, style := signOf(c)
	lines := []string{title}
	if proof := proofOf(c); proof != "" {
		lines = append(lines, proof)
	}
	lines = append(lines, t.paint(faint, "http://"+t.address+"/changes/"+c.ID))
	t.tell(title, t.paint(style, sign), strings.TrimPrefix(c.Site, "http://")+": "+t.paint(bold, visible.Text(c.Summary)), lines)
}

// looked is called when a site answers with its last scene.
func (t *demoTeller) looked(host string) {
	t.looks[host]++
	for _, s := range t.plot {
		if s.host == host && s.silence != "" && t.looks[host] == demoLooks {
			t.tell(s.silence, t.paint(faint, "·"), host+": "+t.paint(bold, "nothing to announce"), []string{s.silence})
		}
	}
}

func (t *demoTeller) tell(title, sign, headline string, lines []string) {
	elapsed := t.now().Sub(t.start).Round(time.Second)
	fmt.Fprintf(t.out, "%2d:%02d  %s %s\n", elapsed/time.Minute, elapsed%time.Minute/time.Second, sign, headline)
	for _, line := range lines {
		fmt.Fprintf(t.out, "         %s\n", line)
	}
	fmt.Fprintln(t.out)
	if !t.told[title] {
		t.told[title] = true
		t.awaited--
	}
	if t.awaited == 0 && !t.finished {
		t.finished = true
		fmt.Fprintf(t.out, "That was the whole plot. The dashboard stays at %s until Ctrl-C.\n", t.paint(underlined, "http://"+t.address+"/"))
	}
}

// signOf shows at a glance what kind of news it is.
func signOf(c watcher.Change) (sign, style string) {
	if c.Kind != watcher.KindAccess || len(c.Agents) == 0 {
		return "◆", yellow
	}
	switch c.Agents[0].Direction {
	case diff.Tightened:
		return "▼", red
	case diff.Loosened:
		return "▲", green
	}
	return "◆", yellow
}

// proofOf is the deciding rule with an example, of the first agent that has
// one.
func proofOf(c watcher.Change) string {
	say := func(entries []diff.Entry, verdict string) string {
		for _, e := range entries {
			if e.Rule != nil && e.Line != nil {
				return visible.Text(fmt.Sprintf("%q (line %d) %s, for example on %s", *e.Rule, *e.Line, verdict, e.Example))
			}
		}
		return ""
	}
	for _, a := range c.Agents {
		if proof := say(a.NewlyDisallowed, "forbids it"); proof != "" {
			return proof
		}
		if proof := say(a.NewlyAllowed, "forbids it no more"); proof != "" {
			return proof
		}
	}
	return ""
}

// Styles of a terminal (ECMA-48, select graphic rendition).
const (
	bold       = "1"
	faint      = "2"
	underlined = "4"
	red        = "31"
	green      = "32"
	yellow     = "33"
)

func (t *demoTeller) paint(style, text string) string {
	if !t.colour {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}
