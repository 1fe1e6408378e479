package watcher

import (
	"fmt"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
)

// TestEffectiveAccess is the table of states: what each gives an agent that
// the last policy blocks (GPTBot), and one that it allows (CCBot).
func TestEffectiveAccess(t *testing.T) {
	policy := policyAnswer(group("GPTBot", "Disallow: /") + openToAll)
	denied := times(3, fetch.Outcome{State: fetch.Denied, Status: 403, Reason: "http_403"})
	page := times(3, fetch.Outcome{State: fetch.NotRobots, Status: 200, Reason: fetch.HTML})
	after := func(first []fetch.Outcome, then []fetch.Outcome) []fetch.Outcome {
		return append(append([]fetch.Outcome{}, first...), then...)
	}
	known := []fetch.Outcome{policy}
	const month = 31 * 24 * time.Hour
	cases := []struct {
		name    string
		answers []fetch.Outcome
		later   time.Duration
		sem     Semantics
		want    string // GPTBot, CCBot
	}{
		{"never looked at", nil, 0, Semantics{}, "unknown/status unknown/status"},
		{"policy", known, 0, Semantics{}, "blocked/named allowed/wildcard"},
		{"policy, one fault", after(known, failed(2)), 0, Semantics{}, "blocked/named allowed/wildcard"},
		{"absent", gone(3), 0, Semantics{}, "allowed/status allowed/status"},
		{"absent, not confirmed", gone(1), 0, Semantics{}, "allowed/status allowed/status"},
		{"absent after a policy", after(known, gone(3)), 0, Semantics{}, "allowed/status allowed/status"},
		{"absent after a policy, not confirmed", after(known, gone(2)), 0, Semantics{}, "blocked/named allowed/wildcard"},
		{"denied allows", after(known, denied), 0, Semantics{}, "allowed/status allowed/status"},
		{"denied blocks", after(known, denied), 0, Semantics{DeniedBlocks: true}, "blocked/status blocked/status"},
		{"denied blocks for ever", after(known, denied), month, Semantics{DeniedBlocks: true, AllowAfter30d: true}, "blocked/status blocked/status"},
		{"a page keeps the last policy", after(known, page), month, Semantics{}, "blocked/named allowed/wildcard"},
		{"a page keeps absence", after(gone(3), page), 0, Semantics{}, "allowed/status allowed/status"},
		{"a page at first sight", page, 0, Semantics{}, "unknown/status unknown/status"},
		{"unreachable blocks", after(known, failed(3)), 29 * 24 * time.Hour, Semantics{}, "blocked/status blocked/status"},
		{"unreachable for 30 days keeps", after(known, failed(3)), month, Semantics{}, "blocked/named allowed/wildcard"},
		{"unreachable for 30 days allows", after(known, failed(3)), month, Semantics{AllowAfter30d: true}, "allowed/status allowed/status"},
		{"absent, unreachable for 30 days", after(gone(3), failed(3)), month, Semantics{}, "allowed/status allowed/status"},
		{"never readable, unreachable for 30 days", failed(3), month, Semantics{}, "allowed/status allowed/status"},
		{"unreachable at first sight blocks once it is confirmed", failed(3), 0, Semantics{}, "blocked/status blocked/status"},
		{"unreachable at first sight, not confirmed", failed(2), 0, Semantics{}, "unknown/status unknown/status"},
		{"unreachable, then denied", after(after(known, failed(3)), denied), month, Semantics{}, "allowed/status allowed/status"},
	}
	j := testJudge(t, "@every 6h")
	c := SiteConfig{Origin: "https://example.com"}
	watch, err := j.Watch(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			site, _ := lived(t, j, c, nil, tc.answers...)
			now := day0.Add(time.Duration(len(tc.answers))*time.Hour + tc.later)
			e := Effective(site, watch.Agents, now, tc.sem)
			got := fmt.Sprintf("%s/%s %s/%s", e[0].Level, e[0].Source, e[1].Level, e[1].Source)
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			// The gate is asked about one path and must say the same.
			text := policy.Body
			if site.Readable != fetch.Policy {
				text = nil
			}
			for i, a := range watch.Agents {
				g := Gate(site, text, a, "/page", now, tc.sem)
				if g.Access != e[i].Level || g.Source != e[i].Source || g.Allowed != (e[i].Level == diff.Allowed) {
					t.Errorf("%s: the gate says %+v", a.Token, g)
				}
			}
		})
	}
}

func TestGateNamesTheRuleAndItsAge(t *testing.T) {
	j := testJudge(t, "@every 6h")
	c := SiteConfig{Origin: "https://example.com"}
	text := group("*", "Disallow: /private/\nAllow: /private/press")
	site, _ := lived(t, j, c, nil, policyAnswer(text))
	gpt := diff.Agent{Token: "GPTBot"}
	ask := func(s Site, path string, now time.Time) Permission {
		return Gate(s, []byte(text), gpt, path, now, Semantics{})
	}

	g := ask(site, "/private/x", day0.Add(time.Hour))
	if g.Allowed || g.Rule == nil || *g.Rule != "Disallow: /private/" || *g.Line != 2 || g.Stale || g.ObservedAt != day0 || g.State != fetch.Policy {
		t.Errorf("a disallowed path: %+v", g)
	}
	if g := ask(site, "/private/press?x=1", day0); !g.Allowed || *g.Line != 3 {
		t.Errorf("an allowed path: %+v", g)
	}
	if g := ask(site, "/", day0); !g.Allowed || g.Rule != nil {
		t.Errorf("a path without a rule: %+v", g)
	}
	if g := ask(site, "/", day0.Add(24*time.Hour+time.Second)); !g.Stale {
		t.Error("an answer of more than 24 hours ago is stale")
	}
	page := times(4, fetch.Outcome{State: fetch.NotRobots, Status: 200, Reason: fetch.HTML})
	site, _ = lived(t, j, c, nil, append([]fetch.Outcome{policyAnswer(text)}, page...)...)
	if g := ask(site, "/private/x", day0.Add(5*time.Hour)); g.Allowed || g.Rule == nil || g.ObservedAt != day0 {
		t.Errorf("the last good policy, with its age: %+v", g)
	}
	site, _ = lived(t, j, c, nil, append([]fetch.Outcome{policyAnswer(text)}, failed(3)...)...)
	if g := ask(site, "/robots.txt", day0.Add(5*time.Hour)); !g.Allowed {
		t.Errorf("/robots.txt itself is always allowed: %+v", g)
	}
	if g := ask(Site{}, "/", day0); g.Allowed || g.Access != diff.Unknown || g.State != fetch.Pending || !g.Stale {
		t.Errorf("nothing known: %+v", g)
	}
}
