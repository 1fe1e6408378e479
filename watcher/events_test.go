package watcher

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
)

var day0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// lived plays answers an hour apart and gives the site and the events of the
// last one.
func lived(t *testing.T, j *Judge, c SiteConfig, expected []Expectation, answers ...fetch.Outcome) (Site, []Change) {
	t.Helper()
	r := NewReplay(j, c)
	r.site.Expected = expected
	var last []Change
	for i, out := range answers {
		out.At = day0.Add(time.Duration(i) * time.Hour)
		v, err := r.Next(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		last = v.Changes
	}
	return r.Site(), last
}

func times(n int, out fetch.Outcome) []fetch.Outcome {
	list := make([]fetch.Outcome, n)
	for i := range list {
		list[i] = out
	}
	return list
}

func gone(n int) []fetch.Outcome {
	return times(n, fetch.Outcome{State: fetch.Absent, Status: 404, Reason: "http_404"})
}

func failed(n int) []fetch.Outcome {
	return times(n, fetch.Outcome{State: fetch.Unreachable, Status: 503, Reason: "http_503", Detail: "status 503 Service Unavailable"})
}

func group(tokens, rule string) string {
	text := ""
	for _, token := range strings.Split(tokens, " ") {
		text += "User-agent: " + token + "\n"
	}
	return text + rule + "\n\n"
}

const openToAll = "User-agent: *\nDisallow:\n\n"

func TestEventsOfAnEdit(t *testing.T) {
	many := "A1 A2 A3 A4 A5"
	cdn := func(text string) string {
		return "# BEGIN Cloudflare Managed content\n" + text + "# END Cloudflare Managed Content\n"
	}
	cases := []struct {
		name, before, after string
		want                []string // kind severity: summary, in order
	}{
		{"blocked by their own group", openToAll, openToAll + group("GPTBot CCBot", "Disallow: /"),
			[]string{"access critical: GPTBot, CCBot now blocked"}},
		{"freed", group("GPTBot", "Disallow: /"), "",
			[]string{"access critical: GPTBot no longer blocked"}},
		{"one blocked, another freed", group("CCBot", "Disallow: /"), group("GPTBot", "Disallow: /"),
			[]string{"access critical: GPTBot now blocked; CCBot no longer blocked"}},
		{"less than everything", openToAll, group("*", "Disallow: /private/"),
			[]string{"access warning: GPTBot, CCBot no longer allowed on /private/"}},
		{"two rules", openToAll, group("GPTBot", "Disallow: /private/\nDisallow: /secret/"),
			[]string{"access warning: GPTBot no longer allowed on /private/ and elsewhere"}},
		{"more than before", group("GPTBot", "Disallow: /private/"), "",
			[]string{"access warning: GPTBot now allowed on /private/"}},
		{"moved", group("GPTBot", "Disallow: /old/"), group("GPTBot", "Disallow: /new/"),
			[]string{"access warning: GPTBot no longer allowed on /new/, now allowed on /old/"}},
		{"all but a corner", openToAll, group("GPTBot", "Disallow: /\nAllow: /press/"),
			[]string{"access critical: GPTBot now restricted"}},
		{"a door into a blocked site", group("GPTBot", "Disallow: /"), group("GPTBot", "Disallow: /\nAllow: /press/"),
			[]string{"access critical: GPTBot no longer fully blocked"}},
		{"many nobody watches", openToAll, openToAll + group(many, "Disallow: /"),
			[]string{"access critical: a1 and 4 more now blocked"}},
		{"watched ones come first", openToAll, openToAll + group(many+" GPTBot", "Disallow: /"),
			[]string{"access critical: GPTBot now blocked"}},
		{"a comment", openToAll, "# hello\n" + openToAll,
			[]string{"cosmetic info: text changed (+1 −0 lines), nothing effective did"}},
		{"named, but the same access", group("*", "Disallow: /x"), group("*", "Disallow: /x") + group("GPTBot", "Disallow: /x"),
			[]string{"cosmetic info: text changed (+3 −0 lines), nothing effective did"}},
		{"a signal", openToAll, "Content-Signal: ai-train=no\n" + openToAll,
			[]string{"signal warning: content-signal now says ai-train=no"}},
		{"a crawl delay", openToAll, group("*", "Crawl-delay: 10\nDisallow:"),
			[]string{"crawl_delay info: Crawl-delay of * now 10 s, was none"}},
		{"sitemaps", "Sitemap: https://example.com/a.xml\n" + openToAll, openToAll + "Sitemap: https://example.com/b.xml\nSitemap: https://example.com/c.xml\n",
			[]string{"sitemap info: sitemaps: 2 added, 1 removed"}},
		{"several kinds at once", openToAll, group("*", "Disallow: /") + "Sitemap: https://example.com/b.xml\n",
			[]string{"access critical: GPTBot, CCBot now blocked", "sitemap info: sitemaps: 1 added"}},
		{"in the block of a content delivery network", openToAll, cdn(group("CCBot", "Disallow: /")) + openToAll,
			[]string{"access critical: CCBot now blocked, in the block managed by Cloudflare"}},
		{"in both", openToAll, cdn(group("CCBot", "Disallow: /")) + openToAll + group("GPTBot", "Disallow: /"),
			[]string{"access critical: GPTBot, CCBot now blocked"}},
	}
	j := testJudge(t, "@every 6h")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, changes := lived(t, j, SiteConfig{Origin: "https://example.com"}, nil, policyAnswer(c.before), policyAnswer(c.after))
			var got []string
			for _, ch := range changes {
				got = append(got, fmt.Sprintf("%s %s: %s", ch.Kind, ch.Severity, ch.Summary))
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("told\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}

func TestEventsOfAState(t *testing.T) {
	policy := policyAnswer(group("GPTBot", "Disallow: /"))
	moved := policyAnswer(openToAll)
	moved.FinalURL = "https://www.example.net/robots.txt"
	seq := func(parts ...any) (list []fetch.Outcome) {
		for _, p := range parts {
			switch p := p.(type) {
			case fetch.Outcome:
				list = append(list, p)
			case []fetch.Outcome:
				list = append(list, p...)
			}
		}
		return list
	}
	denied := times(3, fetch.Outcome{State: fetch.Denied, Status: 403, Reason: "http_403"})
	page := times(3, fetch.Outcome{State: fetch.NotRobots, Status: 200, Reason: fetch.HTML})
	edge := times(3, fetch.Outcome{State: fetch.Denied, Status: 403, Reason: fetch.Challenge, Vendor: "cloudflare"})
	cases := []struct {
		name    string
		answers []fetch.Outcome
		want    []string // kind severity cause before>after: summary
	}{
		{"down", seq(policy, failed(3)), []string{"state critical status policy>unreachable: robots.txt unreachable (HTTP 503): crawlers have to take everything as blocked"}},
		{"down, and everybody was blocked before", seq(policyAnswer("User-agent: *\nDisallow: /\n"), failed(3)),
			[]string{"state warning status policy>unreachable: robots.txt unreachable (HTTP 503): crawlers have to take everything as blocked"}},
		{"up again", seq(policy, failed(3), policy), []string{"state warning status unreachable>policy: robots.txt readable again, unchanged"}},
		{"up again with other rules", seq(policy, failed(3), policyAnswer(openToAll)), []string{
			"state warning status unreachable>policy: robots.txt readable again, and it changed",
			"access critical rules policy>policy: GPTBot no longer blocked"}},
		{"denied", seq(policy, denied), []string{"state warning status policy>denied: robots.txt denied (HTTP 403)"}},
		{"denied by an edge", seq(policy, edge), []string{"state warning status policy>denied: robots.txt denied (challenge, cloudflare)"}},
		{"a page", seq(policy, page), []string{"state warning status policy>not_robots: something else in place of robots.txt (html)"}},
		{"gone", seq(policy, gone(3)), []string{"access critical status policy>absent: GPTBot no longer blocked: robots.txt is gone (HTTP 404)"}},
		{"gone, but nobody minds", seq(policyAnswer(openToAll), gone(3)),
			[]string{"state warning status policy>absent: robots.txt is gone (HTTP 404), nobody's access changed"}},
		{"appears", seq(gone(3), policy), []string{"access critical status absent>policy: GPTBot now blocked: a robots.txt appeared"}},
		{"appears, but nobody minds", seq(gone(3), policyAnswer("")), []string{"state warning status absent>policy: a robots.txt appeared, nobody's access changed"}},
		{"down, then gone", seq(policy, failed(3), gone(3)), []string{
			"state warning status unreachable>absent: site answers again: there is no robots.txt (HTTP 404)",
			"access critical status policy>absent: GPTBot no longer blocked: robots.txt is gone (HTTP 404)"}},
		{"from another host", seq(policy, moved), []string{"access critical redirect policy>policy: GPTBot no longer blocked: robots.txt now comes from www.example.net"}},
		{"readable at last", seq(failed(3), policy), []string{"state warning status unreachable>policy: robots.txt readable for the first time"}},
		{"begins to swing", seq(policy, policyAnswer(openToAll), policy, policyAnswer(openToAll)),
			[]string{"access critical rules policy>policy: GPTBot no longer blocked; unstable, back and forth: more only when it settles"}},
		{"settles on the other", seq(policy, policyAnswer(openToAll), policy, policyAnswer(openToAll), times(8, policy)),
			[]string{"access critical rules policy>policy: GPTBot now blocked; settled"}},
		{"settles on what was told", seq(policy, policyAnswer(openToAll), policy, policyAnswer(openToAll), policy, times(8, policyAnswer(openToAll))),
			[]string{"state warning rules policy>policy: robots.txt is again what was reported last; settled"}},
	}
	j := testJudge(t, "@every 6h")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, changes := lived(t, j, SiteConfig{Origin: "https://example.com"}, nil, c.answers...)
			var got []string
			for _, ch := range changes {
				got = append(got, fmt.Sprintf("%s %s %s %s>%s: %s", ch.Kind, ch.Severity, ch.Cause, ch.State.Before, ch.State.After, ch.Summary))
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("told\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}

// Rules for everyone touch an agent that a receiver asks for and nobody watches
// without naming it.
func TestAnEventTellsOfAgentsToHearOf(t *testing.T) {
	set := testJudge(t, "@every 6h").Settings()
	set.Heard = []string{"oai-searchbot", "GPTBot", "FooBot", "BarBot"}
	j, err := NewJudge(set)
	if err != nil {
		t.Fatal(err)
	}
	foo, bar := group("FooBot", "Disallow: /x"), group("BarBot", "Disallow: /")
	_, changes := lived(t, j, SiteConfig{Origin: "https://example.com"}, nil, policyAnswer(openToAll+foo), policyAnswer(group("*", "Disallow: /")+foo+bar))
	if len(changes) != 1 {
		t.Fatalf("%d events", len(changes))
	}
	var got []string
	for _, a := range changes[0].Agents {
		got = append(got, a.Agent)
	}
	if !slices.Equal(got, []string{"GPTBot", "CCBot", "BarBot", "OAI-SearchBot"}) || changes[0].WatchedFirst != 2 || changes[0].Summary != "GPTBot, CCBot now blocked" {
		t.Errorf("told of %q, %d of them watched: %s", got, changes[0].WatchedFirst, changes[0].Summary)
	}
}

func TestAnEventNamesBothSides(t *testing.T) {
	c := SiteConfig{Origin: "https://example.com", Tags: []string{"news"}}
	j := testJudge(t, "@every 6h")
	before, after := openToAll, openToAll+group("FooBot GPTBot", "Disallow: /")
	_, changes := lived(t, j, c, nil, policyAnswer(before), policyAnswer(after))
	if len(changes) != 1 {
		t.Fatalf("%d events", len(changes))
	}
	got := changes[0]
	if got.At != day0.Add(time.Hour) || got.Site != c.Origin || got.Tags[0] != "news" || got.Schema != ChangeSchema || !got.Backfilled {
		t.Errorf("frame: %+v", got)
	}
	if len(got.BeforeSHA256) != 64 || len(got.AfterSHA256) != 64 || got.BeforeSHA256 == got.AfterSHA256 {
		t.Errorf("hashes %q and %q", got.BeforeSHA256, got.AfterSHA256)
	}
	if len(got.Agents) != 2 || got.Agents[0].Agent != "GPTBot" || !strings.EqualFold(got.Agents[1].Agent, "FooBot") || !got.Watched {
		t.Errorf("agents: %+v", got.Agents)
	}
	a := got.Agents[0]
	if a.Before != (diff.Access{Level: diff.Allowed, Source: robots.SourceWildcard}) || a.After != (diff.Access{Level: diff.Blocked, Source: robots.SourceNamed}) ||
		len(a.NewlyDisallowed) != 1 || a.NewlyDisallowed[0].Example != "/" || *a.NewlyDisallowed[0].Line != 6 {
		t.Errorf("GPTBot: %+v", a)
	}
	_, again := lived(t, j, c, nil, policyAnswer(before), policyAnswer(after))
	if again[0].ID != got.ID || len(got.ID) != 26 {
		t.Errorf("derived again, the id is %s, not %s", again[0].ID, got.ID)
	}
	_, unwatched := lived(t, j, c, nil, policyAnswer(before), policyAnswer(openToAll+group("FooBot", "Disallow: /")))
	if len(unwatched) != 1 || unwatched[0].Watched {
		t.Errorf("nobody watches FooBot: %+v", unwatched)
	}
	text, err := json.Marshal(unwatched[0])
	if err != nil || strings.Contains(string(text), "null,\"state\"") {
		t.Errorf("as JSON: %s (%v)", text, err)
	}
}

func TestTheSourceOfAMissingFileIsItsStatus(t *testing.T) {
	j := testJudge(t, "@every 6h")
	_, changes := lived(t, j, SiteConfig{Origin: "https://example.com"}, nil, append([]fetch.Outcome{policyAnswer(group("GPTBot", "Disallow: /"))}, gone(3)...)...)
	a := changes[0].Agents[0]
	if a.Before.Source != robots.SourceNamed || a.After.Source != robots.SourceStatus || changes[0].AfterSHA256 != "" || changes[0].Reason != "http_404" {
		t.Errorf("gone: %+v", changes[0])
	}
}

func TestExpectedChanges(t *testing.T) {
	j := testJudge(t, "@every 6h")
	blockGPT := openToAll + group("GPTBot", "Disallow: /")
	blockBoth := openToAll + group("GPTBot CCBot", "Disallow: /")
	until := day0.Add(24 * time.Hour)
	for _, c := range []struct {
		name  string
		list  []Expectation
		after string
		want  string
	}{
		{"none", nil, blockGPT, ""},
		{"for any agent", []Expectation{{Until: until, Note: "relaunch"}}, blockBoth, "relaunch"},
		{"for this agent", []Expectation{{Agent: "gptbot", Until: until, Note: "deal"}}, blockGPT, "deal"},
		{"for this agent, and another changed too", []Expectation{{Agent: "GPTBot", Until: until, Note: "deal"}}, blockBoth, ""},
		{"for both", []Expectation{{Agent: "GPTBot", Until: until, Note: "deal"}, {Agent: "CCBot", Until: until}}, blockBoth, "deal"},
		{"for another agent", []Expectation{{Agent: "CCBot", Until: until, Note: "deal"}}, blockGPT, ""},
		{"in the past", []Expectation{{Until: day0, Note: "relaunch"}}, blockGPT, ""},
		{"without a note", []Expectation{{Until: until}}, blockGPT, "announced"},
	} {
		_, changes := lived(t, j, SiteConfig{Origin: "https://example.com"}, c.list, policyAnswer(openToAll), policyAnswer(c.after))
		if len(changes) != 1 || changes[0].Expected != c.want {
			t.Errorf("%s: %+v, want expected %q", c.name, changes, c.want)
		}
	}
}

// A catalogue that learns how an agent really reads the file changes what we
// say, so that is an event with its own cause; a new agent is none.
func TestTheCatalogueChangesAnAccess(t *testing.T) {
	catalogue := func(list ...agents.Agent) *Judge {
		c, err := agents.Load()
		if err != nil {
			t.Fatal(err)
		}
		own := *c
		j, err := NewJudge(Settings{Confirm: testConfirm, Schedule: "@every 6h", Watch: []string{"NewBot"}, Catalogue: &own})
		if err != nil {
			t.Fatal(err)
		}
		w := &Watch{Fingerprint: fmt.Sprint(list), tokens: map[string]bool{}}
		for _, a := range list {
			w.Agents = append(w.Agents, AgentOf(a))
			w.tokens[strings.ToLower(a.Token)] = true
		}
		j.watches.Store("NewBot", w)
		return j
	}
	text := group("OldBot", "Disallow: /")
	r := NewReplay(catalogue(agents.Agent{Token: "NewBot"}), SiteConfig{Origin: "https://example.com"})
	look := func(out fetch.Outcome, at time.Time) []Change {
		t.Helper()
		out.At = at
		v, err := r.Next(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		return v.Changes
	}
	look(policyAnswer(text), day0)
	same := fetch.Outcome{State: fetch.Policy, Status: 304, NotModified: true, FinalURL: "https://example.com/robots.txt"}
	r.judge = catalogue(agents.Agent{Token: "NewBot"}, agents.Agent{Token: "OldBot"})
	if changes := look(same, day0.Add(time.Hour)); len(changes) != 0 || len(r.Site().Profile) != 2 {
		t.Errorf("an agent more: %+v, profile %v", changes, r.Site().Profile)
	}
	r.judge = catalogue(agents.Agent{Token: "NewBot", Fallbacks: []string{"OldBot"}})
	changes := look(same, day0.Add(2*time.Hour))
	if len(changes) != 1 || changes[0].Cause != CauseAgentList || changes[0].Kind != KindAccess || changes[0].Agents[0].Direction != diff.Tightened ||
		!strings.HasPrefix(changes[0].Summary, "NewBot now blocked") {
		t.Errorf("another reading: %+v", changes)
	}
	if changes := look(same, day0.Add(3*time.Hour)); len(changes) != 0 {
		t.Errorf("told twice: %+v", changes)
	}
}

// An alert is as grave as what it names: agents that nobody watches do not
// raise it, and are written as the catalogue writes them.
func TestSeverityIsThatOfTheWatched(t *testing.T) {
	_, changes := lived(t, testJudge(t, "@every 6h"), SiteConfig{Origin: "https://example.com", Agents: []string{"GPTBot"}}, nil,
		policyAnswer(group("GPTBot", "Disallow: /a")),
		policyAnswer(group("GPTBot", "Disallow: /b")+group("CCBot", "Disallow: /")))
	if len(changes) != 1 || changes[0].Severity != Warning || len(changes[0].Agents) != 2 {
		t.Fatalf("changes %+v", changes)
	}
	if got := changes[0].Agents[1].Agent; got != "CCBot" {
		t.Errorf("the unwatched agent is written %q", got)
	}
}

// A schedule that is faster than the confirmation does not shorten it.
func TestConfirmationKeepsItsGap(t *testing.T) {
	site := Site{Origin: "https://example.com", State: fetch.Policy, Readable: fetch.Policy, Body: Hash{1}}
	at := day0
	looks := 0
	for site.State == fetch.Policy {
		site = Decide(site, fetch.Outcome{At: at, State: fetch.Unreachable, Reason: "http_503", Status: 503}, testConfirm).Site
		at = at.Add(time.Minute)
		if looks++; looks > 100 {
			t.Fatal("never confirmed")
		}
	}
	if took := at.Add(-time.Minute).Sub(day0); took < 2*testConfirm.Interval-time.Minute {
		t.Errorf("confirmed after %v, want three answers %v apart", took, testConfirm.Interval)
	}
}
