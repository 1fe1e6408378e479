package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// t0 is when the tests' time begins.
var t0 = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

func siteConfig(i int) watcher.SiteConfig {
	return watcher.SiteConfig{Origin: fmt.Sprintf("https://site%d.example", i)}
}

// siteConfigs are n sites.
func siteConfigs(n int) []watcher.SiteConfig {
	list := make([]watcher.SiteConfig, n)
	for i := range list {
		list[i] = siteConfig(i)
	}
	return list
}

func configured(list []watcher.SiteConfig) iter.Seq2[watcher.SiteConfig, error] {
	return func(yield func(watcher.SiteConfig, error) bool) {
		for _, c := range list {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func dueNow(string, string) time.Time { return t0 }

func resync(t testing.TB, s *Store, list []watcher.SiteConfig) Synced {
	t.Helper()
	done, err := s.SyncSites(t.Context(), t0, configured(list), dueNow)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func claim(t testing.TB, s *Store, now time.Time, n int) []watcher.Lease {
	t.Helper()
	leases, err := s.Claim(t.Context(), now, n, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return leases
}

func record(t testing.TB, s *Store, results ...watcher.Result) {
	t.Helper()
	lost, err := s.Record(t.Context(), results)
	if err != nil {
		t.Fatal(err)
	}
	if lost != 0 {
		t.Fatalf("%d results lost", lost)
	}
}

func profileOf(level diff.Level, source robots.Source) []watcher.AgentAccess {
	return []watcher.AgentAccess{
		{Agent: "GPTBot", Access: diff.Access{Level: level, Source: source}},
		{Agent: "CCBot", Access: diff.Access{Level: diff.Allowed, Source: robots.SourceWildcard}},
	}
}

// unchanged is the result of a look that found what was there.
func unchanged(l watcher.Lease, at time.Time) watcher.Result {
	site := l.Site
	site.LastCheckAt, site.NextCheckAt = at, at.Add(6*time.Hour)
	if site.Readable != "" {
		site.ReadableAt = at
	}
	return watcher.Result{Lease: l, Site: site}
}

// policy is the result of a look that found a new policy.
func policy(l watcher.Lease, at time.Time, body string, profile []watcher.AgentAccess) watcher.Result {
	r := unchanged(l, at)
	r.Body = []byte(body)
	r.Site.State, r.Site.Readable, r.Site.ReadableAt = fetch.Policy, fetch.Policy, at
	r.Site.Body = sha256.Sum256(r.Body)
	r.Site.Profile = profile
	if l.Site.State != fetch.Policy {
		r.Site.StateSince = at
	}
	r.Observation = &watcher.Observation{At: at, State: fetch.Policy, Status: 200, Body: r.Site.Body,
		FinalURL: l.Site.Origin + "/robots.txt", Bytes: int64(len(body)),
		Evidence: watcher.Evidence{Vendor: "cloudflare", Headers: []fetch.Header{{Name: "Server", Value: "cloudflare"}}}}
	return r
}

// outage is the result of a look that got no answer.
func outage(l watcher.Lease, at time.Time) watcher.Result {
	r := unchanged(l, at)
	r.Site.State, r.Site.Reason, r.Site.ReadableAt = fetch.Unreachable, "http_503", l.Site.ReadableAt
	if l.Site.State != fetch.Unreachable {
		r.Site.StateSince = at
		r.Observation = &watcher.Observation{At: at, State: fetch.Unreachable, Reason: "http_503", Status: 503,
			FinalURL: "https://www.example/robots.txt"}
	}
	return r
}

// idOf gives the ID of a change at a time: one for each name.
func idOf(at time.Time, name string) string {
	if id, err := ulid.ParseStrict(name); err == nil && id.Timestamp().Equal(at) {
		return name
	}
	var id ulid.ULID
	sum := sha256.Sum256([]byte(name))
	if err := errors.Join(id.SetTime(uint64(at.UnixMilli())), id.SetEntropy(sum[:10])); err != nil {
		panic(err)
	}
	return id.String()
}

// change is an event of a site, wanted by receivers.
func change(r *watcher.Result, id string, receivers ...string) {
	site := r.Site.Origin
	rule, line := "Disallow: /", 2
	r.Changes = append(r.Changes, watcher.Routed{
		Change: watcher.Change{
			Schema: watcher.ChangeSchema, ID: idOf(r.Site.LastCheckAt, id), At: r.Site.LastCheckAt, Site: site, Kind: watcher.KindAccess,
			Severity: watcher.Critical, Summary: "GPTBot now blocked", Cause: watcher.CauseRules, Watched: true,
			State: watcher.StateChange{Before: fetch.Policy, After: fetch.Policy},
			Agents: []diff.AgentChange{{Agent: "GPTBot", Direction: diff.Tightened, Proven: true,
				Before:          diff.Access{Level: diff.Allowed, Source: robots.SourceDefault},
				After:           diff.Access{Level: diff.Blocked, Source: robots.SourceNamed},
				NewlyDisallowed: []diff.Entry{{Example: "/", Rule: &rule, Line: &line}}, NewlyAllowed: []diff.Entry{}}},
		},
		Receivers: receivers, GroupKey: "blocked",
	})
}

func count(t testing.TB, s *Store, query string, args ...any) (n int) {
	t.Helper()
	if err := s.QueryRow(context.Background(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}
