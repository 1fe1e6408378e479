package watcher

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
)

// story is what happens to one site, look by look, an hour apart. A look is
// one word, the answer, and after a slash what is reported:
//
//	A B C   a policy with these bytes; "=" is 304 Not Modified
//	404     absent    403  denied    503  unreachable    html  not_robots
//	+48h    time passes
//
// Reports: "A>B" one readable answer took the place of another ("none" is a
// confirmed absence); "policy>denied" the state changed; "began:" and
// "settled:" in front for a flapping site, "told:" when it settled on what
// was reported last.
type story struct {
	name  string
	looks string
}

var stories = []story{
	// First sight is a baseline, whatever it is.
	{"a policy at first sight", "A A = A"},
	{"no robots.txt at first sight", "404 404 404 404"},
	{"unreachable at first sight", "503 503 503 503"},
	{"denied at first sight", "403 403 403 403"},
	{"a page at first sight", "html html html html"},
	{"a fault at first sight, then a policy", "503 503 A A"},
	{"no file at first sight while it is being deployed", "404 404 A A"},
	{"one fault after another at first sight, then a policy", "503 403 404 html A"},
	{"readable at last after a confirmed outage", "503 503 503 A/unreachable>policy A"},
	{"no file after a confirmed first outage", "503 503 503 404 404 404/unreachable>absent A/none>A"},
	{"a policy after a confirmed first absence", "404 404 404 A/none>A"},

	// Passing faults.
	{"one fault passes unnoticed", "A 503 A"},
	{"two faults pass unnoticed", "A 503 503 A"},
	{"304 ends a fault too", "A 503 503 = 503 503 ="},
	{"a page, once", "A html A"},
	{"403, once", "A 403 A"},
	{"404, twice", "A 404 404 A"},
	{"404 while absence is confirmed goes on", "404 404 404 503 503 404"},
	{"faults of different kinds do not add up", "A 503 503 403 403 html html A"},
	{"a fault hides no change", "A 503 B/A>B"},

	// Confirmed changes of state.
	{"an outage with the same bytes after it", "A 503 503 503/policy>unreachable 503 A/unreachable>policy A"},
	{"an outage that a 304 ends", "A 503 503 503/policy>unreachable =/unreachable>policy ="},
	{"an outage with other bytes after it", "A 503 503 503/policy>unreachable B/unreachable>policy,A>B B"},
	{"denied and back", "A 403 403 403/policy>denied 403 A/denied>policy"},
	{"a page and back", "A html html html/policy>not_robots html A/not_robots>policy"},
	{"from one unreadable state to another", "A 503 503 503/policy>unreachable 403 403 403/unreachable>denied A/denied>policy"},
	{"round the unreadable states",
		"A html html html/policy>not_robots 503 503 503/not_robots>unreachable html html html/unreachable>not_robots " +
			"403 403 403/not_robots>denied html html html/denied>not_robots 403 403 403/not_robots>denied " +
			"503 503 503/denied>unreachable B/unreachable>policy,A>B"},
	{"denied, then gone, then denied again", "A 403 403 403/policy>denied 404 404 404/denied>absent,A>none 403 403 403/absent>denied 404 404 404/denied>absent"},
	{"a page, then gone, then a page again", "A html html html/policy>not_robots 404 404 404/not_robots>absent,A>none html html html/absent>not_robots A/not_robots>policy,none>A"},
	{"denied, then another policy", "A 403 403 403/policy>denied B/denied>policy,A>B"},
	{"an outage interrupted by another answer", "A 503 503 503/policy>unreachable 403 503 503 A/unreachable>policy"},
	{"never three alike, but never readable", "A 503 403 503 403 503 403 503 403 503/policy>unreachable A/unreachable>policy"},
	{"an absent site goes down and comes back", "404 404 404 503 503 503/absent>unreachable 404 404 404/unreachable>absent"},

	// Readable answers.
	{"a new policy counts at once", "A B/A>B B"},
	{"a reversal is two events", "A A A B/A>B B B A/B>A A A"},
	{"a quick reversal is two events", "A B/A>B A/B>A A A"},
	{"the file disappears", "A 404 404 404/A>none 404"},
	{"the file disappears and returns", "A 404 404 404/A>none A/none>A"},
	{"the file appears", "404 404 404 A/none>A A"},
	{"unreachable, then gone", "A 503 503 503/policy>unreachable 404 404 404/unreachable>absent,A>none 404"},
	{"404 alone is never made of other faults", "A 404 503 404 503 404 503 404 503 404 503/policy>unreachable"},

	// Flapping.
	{"two versions by turns", "A B/A>B A/B>A B/began:A>B A B A A B A B B B A A A A A A A A/settled:B>A A"},
	{"it settles on what was told last", "A B/A>B A/B>A B/began:A>B A B B B B B B B B/settled:told:A>B B"},
	{"it settles after three days when looked at rarely", "A +24h B/A>B +24h A/B>A +24h B/began:A>B +24h A +24h A +24h A +24h A/settled:B>A"},
	{"a third version is news", "A B/A>B A/B>A B/began:A>B A C/B>C C A/C>A"},
	{"after days without a look nothing is swinging any more", "A B/A>B A/B>A B/began:A>B +168h A/B>A"},
	{"back to what was told last, after days without a look", "A B/A>B A/B>A B/began:A>B A +168h B A/B>A"},
	{"reversals of stable versions are never flapping", "A A A B/A>B B B A/B>A A A B/A>B B B A/B>A"},
	{"seldom looked at is not unstable", "A +168h B/A>B +168h A/B>A +168h B/A>B +168h A/B>A"},
	{"a fault between does not make a version stable", "A B/A>B 503 A/B>A 503 503 B/began:A>B"},
	{"the third outage in three days",
		"A 503 503 503/policy>unreachable A/unreachable>policy 503 503 503/policy>unreachable A/unreachable>policy " +
			"503 503 503/began:policy>unreachable A 503 503 503 A +24h A A A A A A A A/settled:unreachable>policy " +
			"503 503 503/policy>unreachable"},
	{"outages days apart are three outages",
		"A 503 503 503/policy>unreachable A/unreachable>policy +48h 503 503 503/policy>unreachable A/unreachable>policy +48h 503 503 503/policy>unreachable"},
	{"a true change while outages come and go",
		"A 503 503 503/policy>unreachable A/unreachable>policy 503 503 503/policy>unreachable A/unreachable>policy " +
			"503 503 503/began:policy>unreachable B/A>B"},
}

var testConfirm = Confirm{Failures: 3, Interval: 5 * time.Minute}

func outcomeOf(t interface{ Fatalf(string, ...any) }, answer string, at time.Time) fetch.Outcome {
	out := fetch.Outcome{At: at, Took: time.Second, FinalURL: "https://example.com/robots.txt"}
	switch answer {
	case "404":
		out.State, out.Status, out.Reason = fetch.Absent, 404, "http_404"
	case "403":
		out.State, out.Status, out.Reason = fetch.Denied, 403, "http_403"
	case "503":
		out.State, out.Status, out.Reason = fetch.Unreachable, 503, "http_503"
	case "html":
		out.State, out.Status, out.Reason = fetch.NotRobots, 200, fetch.HTML
	case "=":
		out.State, out.Status, out.NotModified = fetch.Policy, 304, true
	case "A", "B", "C":
		out.State, out.Status, out.Body = fetch.Policy, 200, []byte(answer)
	default:
		t.Fatalf("a look with the answer %q", answer)
	}
	return out
}

// report writes transitions as stories do.
func report(list []Transition) string {
	name := func(v Version) string {
		for _, letter := range []string{"A", "B", "C"} {
			if v.Body == sha256.Sum256([]byte(letter)) {
				return letter
			}
		}
		return "none"
	}
	var parts []string
	for _, t := range list {
		text := ""
		if t.Unstable != "" {
			text = t.Unstable + ":"
		}
		if t.AsTold {
			text += "told:"
		}
		if t.ofState() {
			text += fmt.Sprintf("%s>%s", t.StateBefore, t.StateAfter)
		} else {
			text += name(t.Before) + ">" + name(t.After)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ",")
}

// play runs a story and calls each with every look.
func (s story) play(t testing.TB, each func(look string, before Site, out fetch.Outcome, d Decision, want string)) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	site := Site{Origin: "https://example.com", State: fetch.Pending}
	for _, look := range strings.Fields(s.looks) {
		if wait, ok := strings.CutPrefix(look, "+"); ok {
			d, err := time.ParseDuration(wait)
			if err != nil {
				t.Fatal(err)
			}
			at = at.Add(d)
			continue
		}
		answer, want, _ := strings.Cut(look, "/")
		out := outcomeOf(t, answer, at)
		d := Decide(site, out, testConfirm)
		each(look, site, out, d, want)
		site = d.Site
		at = at.Add(time.Hour)
	}
}

func TestStories(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			n := 0
			s.play(t, func(look string, before Site, out fetch.Outcome, d Decision, want string) {
				n++
				if got := report(d.Transitions); got != want {
					t.Errorf("look %d (%s): reported %q, want %q", n, look, got, want)
				}
				if d.Site.LastCheckAt != out.At.Add(out.Took) {
					t.Errorf("look %d (%s): the look does not count as finished", n, look)
				}
			})
		})
	}
}
