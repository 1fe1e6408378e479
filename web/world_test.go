package web_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
	"github.com/robotswatch/robotswatch/web"
)

// today is when the tests' time stands.
var today = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// world is a real store with a made-up history, and a server over it.
type world struct {
	checked error // what a look on request comes to
	store   *store.Store
	judge   *watcher.Judge
	server  *web.Server
	now     time.Time
	sites   []string
	configs []watcher.SiteConfig
	stood   map[string][]watcher.Site // each site after each look
}

// look is one answer of one site.
type look struct {
	origin string
	out    fetch.Outcome
}

func newWorld(t testing.TB, set web.Settings, sites []watcher.SiteConfig, added time.Time) *world {
	t.Helper()
	return worldAt(t, filepath.Join(t.TempDir(), "world.db"), set, sites, added)
}

// worldAt is newWorld over a store that may be there already.
func worldAt(t testing.TB, path string, set web.Settings, sites []watcher.SiteConfig, added time.Time) *world {
	t.Helper()
	catalogue, err := agents.Load()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{now: today, stood: map[string][]watcher.Site{}}
	w.judge, err = watcher.NewJudge(watcher.Settings{
		Confirm:  watcher.Confirm{Failures: 3, Interval: 5 * time.Minute},
		Schedule: "@every 6h", Watch: []string{"@ai"}, Catalogue: catalogue,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.store, err = store.Open(t.Context(), "sqlite:"+path, store.Options{Effective: w.effective})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.store.Close() })
	if _, err := w.store.SyncSites(t.Context(), added, each(sites), func(string, string) time.Time { return added }); err != nil {
		t.Fatal(err)
	}
	w.configs = sites
	for _, s := range sites {
		w.sites = append(w.sites, s.Origin)
	}
	w.server, err = web.New(set, web.Deps{Store: w.store, Judge: w.judge, Now: func() time.Time { return w.now },
		Check: func(context.Context, string) error { return w.checked }})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func each(sites []watcher.SiteConfig) iter.Seq2[watcher.SiteConfig, error] {
	return func(yield func(watcher.SiteConfig, error) bool) {
		for _, s := range sites {
			if !yield(s, nil) {
				return
			}
		}
	}
}

func (w *world) effective(site watcher.Site) []watcher.AgentAccess {
	watch, err := w.judge.Watch(site.Config)
	if err != nil {
		return nil
	}
	return watcher.Effective(site, watch.Agents, w.now, w.judge.Settings().Semantics)
}

// live records what looks found, in order of time.
func (w *world) live(t testing.TB, looks []look) {
	t.Helper()
	slices.SortStableFunc(looks, func(a, b look) int { return a.out.At.Compare(b.out.At) })
	for len(looks) > 0 {
		// A batch is one transaction: no site twice, and never two days.
		n, met := 0, map[string]bool{}
		day := looks[0].out.At.Truncate(24 * time.Hour)
		for n < len(looks) && n < 500 && !met[looks[n].origin] && looks[n].out.At.Truncate(24*time.Hour).Equal(day) {
			met[looks[n].origin] = true
			n++
		}
		batch := looks[:n]
		looks = looks[n:]
		origins := make([]string, n)
		by := map[string]fetch.Outcome{}
		for i, l := range batch {
			origins[i], by[l.origin] = l.origin, l.out
		}
		leases, err := w.store.ClaimSites(t.Context(), batch[0].out.At, origins, time.Millisecond)
		if err != nil || len(leases) != n {
			t.Fatalf("%d of %d sites claimed: %v", len(leases), n, err)
		}
		var results []watcher.Result
		for _, l := range leases {
			v, err := w.judge.Judge(t.Context(), l.Site, by[l.Site.Origin], w.store)
			if err != nil {
				t.Fatal(err)
			}
			r := watcher.Result{Lease: l, Site: v.Site, Observation: v.Observation, Body: v.Body}
			for _, c := range v.Changes {
				r.Changes = append(r.Changes, watcher.Routed{Change: c, Receivers: []string{"log"}, GroupKey: string(c.Kind)})
			}
			results = append(results, r)
			w.stood[v.Site.Origin] = append(w.stood[v.Site.Origin], v.Site)
		}
		if lost, err := w.store.Record(t.Context(), results); err != nil || lost > 0 {
			t.Fatalf("record: %d lost, %v", lost, err)
		}
	}
}

// policySeen is an answer with a robots.txt.
func policySeen(origin string, at time.Time, text string) look {
	return look{origin, fetch.Outcome{At: at, State: fetch.Policy, Status: 200, FinalURL: origin + "/robots.txt", Body: []byte(text), Bytes: int64(len(text)),
		ETag: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:8], Vendor: "cloudflare", Headers: []fetch.Header{{Name: "Content-Type", Value: "text/plain"}, {Name: "Server", Value: "cloudflare"}}}}
}

// outage is three equal answers that are no robots.txt: enough to confirm.
func outage(origin string, at time.Time, state fetch.State, status int) []look {
	var out []look
	for i := range 3 {
		out = append(out, look{origin, fetch.Outcome{At: at.Add(time.Duration(i) * 5 * time.Minute), State: state, Status: status,
			Reason: fetch.Reason(fmt.Sprintf("http_%d", status)), FinalURL: origin + "/robots.txt"}})
	}
	return out
}

// policies of made-up sites, the stricter the later.
func policies() []string {
	ai := "User-agent: GPTBot\nUser-agent: CCBot\nUser-agent: ClaudeBot\nUser-agent: Google-Extended\nUser-agent: Bytespider\nDisallow: /\n"
	return []string{
		"User-agent: *\nAllow: /\n",
		"User-agent: *\nDisallow: /admin/\nDisallow: /search\nSitemap: https://example.com/sitemap.xml\n",
		"User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n\nContent-Signal: search=yes, ai-train=no\n",
		"User-agent: *\nDisallow: /private/\nCrawl-delay: 10\n\n" + ai,
		"User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nDisallow: /cgi-bin/\n",
		"User-agent: Googlebot\nAllow: /\n\nUser-agent: *\nDisallow: /\n",
		"# No machine reading without a licence.\nUser-agent: *\nContent-Signal: search=yes, ai-input=no, ai-train=no\nAllow: /\n\n" + ai + "\nUser-agent: Amazonbot\nDisallow: /\n",
		"User-agent: *\nDisallow: /\nAllow: /public/\n",
	}
}

// madeUp is n sites with a year of history up to today: most of them change
// now and then towards blocking, some go down, and one day a vendor's default
// flips a whole lot of them.
func madeUp(t testing.TB, n int) *world {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, uint64(n)))
	begin := today.AddDate(-1, 0, 0)
	tags := [][]string{{"news", "eu"}, {"news", "us"}, {"shop"}, {"gov"}, nil}
	words := []string{"harbour", "meadow", "paper", "lantern", "orchard", "granite", "signal", "willow", "copper", "beacon", "daily", "north"}
	var sites []watcher.SiteConfig
	for i := range n {
		name := fmt.Sprintf("https://%s-%s-%d.example", words[i%len(words)], words[(i/len(words)*7+3)%len(words)], i)
		sites = append(sites, watcher.SiteConfig{Origin: name, Tags: tags[i%len(tags)]})
	}
	w := newWorld(t, web.Settings{Version: "test"}, sites, begin)
	texts := policies()
	flip := today.AddDate(0, -2, 0)
	var looks []look
	for i, s := range sites {
		at := begin.Add(time.Duration(rnd.IntN(86400)) * time.Second)
		level := min(len(texts)-1, int(rnd.ExpFloat64()*1.6))
		looks = append(looks, policySeen(s.Origin, at, texts[level]))
		for {
			at = at.Add(time.Duration(20+rnd.IntN(200)) * 24 * time.Hour).Add(time.Duration(rnd.IntN(86400)) * time.Second)
			if at.After(today.Add(-time.Hour)) {
				break
			}
			switch k := rnd.IntN(10); {
			case k < 5:
				level = min(len(texts)-1, level+rnd.IntN(3))
			case k < 6:
				level = max(0, level-rnd.IntN(3))
			case k < 8:
				bad := outage(s.Origin, at, fetch.Unreachable, 503)
				if k == 7 {
					bad = outage(s.Origin, at, fetch.Denied, 403)
				}
				looks = append(looks, bad...)
				at = at.Add(time.Duration(1+rnd.IntN(20)) * 24 * time.Hour)
				if at.After(today.Add(-time.Hour)) {
					continue // it is down to this day
				}
			default:
				looks = append(looks, policySeen(s.Origin, at, texts[level]+"# edited "+at.Format(time.DateOnly)+"\n"))
				continue
			}
			looks = append(looks, policySeen(s.Origin, at, texts[level]))
		}
		if i%9 == 0 {
			looks = append(looks, policySeen(s.Origin, flip.Add(time.Duration(i%3600)*time.Second), texts[3]))
		}
	}
	// Nothing that happened is unseen now.
	slices.SortStableFunc(looks, func(a, b look) int { return cmp.Or(strings.Compare(a.origin, b.origin), a.out.At.Compare(b.out.At)) })
	for i, l := range looks {
		if i+1 == len(looks) || looks[i+1].origin != l.origin {
			again := l
			again.out.At = today.Add(-time.Duration(rnd.IntN(6*3600)) * time.Second)
			if l.out.At.Before(again.out.At) {
				looks = append(looks, again)
			}
		}
	}
	w.live(t, looks)
	return w
}

// lookup is a crawler of the catalogue, or one by its token alone.
func lookup(w *world, token string) agents.Agent {
	if a, ok := w.judge.Settings().Catalogue.Lookup(token); ok {
		return a
	}
	return agents.Agent{Token: token}
}
