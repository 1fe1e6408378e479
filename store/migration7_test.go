package store

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/oklog/ulid/v2"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// atVersion makes a database with an older schema, and gives what runs
// statements in it.
func atVersion(t *testing.T, url string, version int64) func(query string, args ...any) {
	t.Helper()
	driver, dsn, s := "pgx", url, &Store{d: postgresDialect}
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		s.d = sqliteDialect
		if err := s.makeFile(path); err != nil {
			t.Fatal(err)
		}
		driver, dsn = "sqlite", sqliteDSN(path, sqliteWriterCacheKiB, false)
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	p, err := s.provider(db)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	return func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
}

// anyChange has every field of a change, with several verdicts.
func anyChange(i int) watcher.Change {
	at := t0.AddDate(0, 0, i)
	rule, line, delay := "Disallow: /a,b", 3, 1.5
	entry := []diff.Entry{{Example: "/a,b", Rule: &rule, Line: &line, AllowedBy: "Allow: /", AllowedLine: 1}, {Example: "/x"}}
	agent := func(name string, level diff.Level, note string) diff.AgentChange {
		return diff.AgentChange{Agent: name, Direction: diff.Mixed, Proven: i%2 == 0, Note: note,
			Before: diff.Access{Level: diff.Allowed, Source: robots.SourceDefault}, After: diff.Access{Level: level, Source: robots.SourceNamed},
			NewlyDisallowed: entry, NewlyAllowed: []diff.Entry{},
			NoEffect: []diff.NoEffect{{Added: true, Rule: "Allow: /b", Line: 4, CoveredBy: "Allow: /", CoveredLine: 1, CoveredInOther: true}}}
	}
	c := watcher.Change{
		Schema: watcher.ChangeSchema, ID: idOf(at, fmt.Sprint(i)), At: at, Site: siteConfig(i % 3).Origin, Tags: []string{"eu", "news"},
		Kind: watcher.KindAccess, Severity: []watcher.Severity{watcher.Info, watcher.Warning, watcher.Critical}[i%3], Summary: "changed",
		Agents: []diff.AgentChange{agent("GPTBot", diff.Blocked, ""), agent("CCBot", diff.Partial, "says otherwise"), agent("Other", diff.Blocked, "")},
		State:  watcher.StateChange{Before: fetch.Absent, After: fetch.Policy}, Reason: "http_404", Detail: "d", Cause: watcher.CauseStatus,
		BeforeSHA256: strings.Repeat("ab", 32), AfterSHA256: watcher.Hash{31: byte(i)}.String(),
		Signals:     []diff.SignalChange{{Scope: "*", Name: "content-signal", Path: "/", Before: "a", After: "b"}},
		CrawlDelays: []diff.CrawlDelayChange{{Agent: "*", After: &delay}}, Sitemaps: &diff.SitemapsChange{Added: []string{"s"}, Removed: []string{}},
		Managed: "cloudflare", Unstable: watcher.UnstableBegan, WatchedFirst: 2, Watched: i%2 == 0, Expected: "note", Backfilled: i%2 == 1, BackfilledAgents: []string{"CCBot"}, Link: "l",
	}
	switch i % 4 {
	case 1: // one verdict on all
		c.Agents, c.CrawlDelays = []diff.AgentChange{agent("GPTBot", diff.Blocked, ""), agent("CCBot", diff.Blocked, "")}, nil
	case 2: // no agents, and the usual state
		c.Kind, c.Agents, c.Tags, c.State = watcher.KindSitemap, []diff.AgentChange{}, []string{}, policyHeld
	case 3: // more verdicts than there are letters
		c.Agents = nil
		for n := range len(verdictLetters) + 1 {
			c.Agents = append(c.Agents, agent(fmt.Sprintf("bot%d", n), diff.Blocked, fmt.Sprint(n)))
		}
	}
	return c
}

// Every field of an event survives being packed; a field that is new and left
// out fails here.
func TestEventsSurvivePacking(t *testing.T) {
	set := map[string]bool{}
	for i := range 8 {
		c := anyChange(i)
		v := reflect.ValueOf(c)
		for f := range v.NumField() {
			if !v.Field(f).IsZero() {
				set[v.Type().Field(f).Name] = true
			}
		}
		p, err := packChange(&c)
		if err != nil {
			t.Fatal(err)
		}
		r := changeRow{key: p.key, kind: string(p.Kind), origin: p.Site, severity: int64(p.Severity.Rank()), watched: p.Watched,
			backfill: p.Backfilled, before: p.before[:], after: p.after[:], data: p.data}
		r.agents.String = joinSet(p.agents)
		got, err := r.change()
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%d: %v\ngot  %+v\nwant %+v", i, err, got, c)
		}
		for at := range p.data {
			bad := r
			bad.data = append([]byte(nil), p.data...)
			bad.data[at] ^= 1
			if _, err := bad.change(); err == nil {
				t.Fatalf("%d: octet %d may change unnoticed", i, at)
			}
		}
	}
	for f := range reflect.TypeFor[watcher.Change]().Fields() {
		if !set[f.Name] {
			t.Errorf("no event of this test has a %s", f.Name)
		}
	}
}

// A store of version 6 keeps all its events, in other words, and what is still
// to be delivered.
func TestVersion6IsRepacked(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		exec := atVersion(t, url, 6)
		for i := range 3 {
			exec("INSERT INTO sites (origin) VALUES ($1)", siteConfig(i).Origin)
		}
		const n = repackPage + 9
		body := []byte("User-agent: *\n")
		kept := watcher.Hash{31: 1}
		exec("INSERT INTO bodies (sha256, size, seen_at, data) VALUES ($1, $2, 0, $3)", kept[:], len(body), packBody(body))
		empty := watcher.Hash(sha256.Sum256(nil))
		exec("INSERT INTO bodies (sha256, size, seen_at, data) VALUES ($1, 0, 0, $2)", empty[:], []byte{})
		exec("INSERT INTO observations (site_id, at, state, body_id, evidence, seq, link) VALUES (1, 5, 'policy', 1, $1, 7, $2)", []byte{}, kept[:])
		want := map[string]watcher.Change{}
		for i := range n {
			c := anyChange(i)
			want[c.ID] = c
			data, err := packWith(codecs().event, c)
			if err != nil {
				t.Fatal(err)
			}
			exec("INSERT INTO changes (id, site_id, at, kind, severity, watched, agents_id, data) VALUES ($1, $2, $3, $4, $5, $6, 0, $7)",
				c.ID, i%3+1, c.At.UnixMilli(), string(c.Kind), int64(c.Severity.Rank()), toInt(c.Watched), data)
			exec(`INSERT INTO deliveries (receiver, change_id, site_id, group_key, created_at, next_at, receipt)
				VALUES ('log', $1, $2, 'g', 1, 2, $3)`, c.ID, i%3+1, fmt.Sprint(i))
		}
		exec("DELETE FROM deliveries WHERE receipt = $1", fmt.Sprint(n-1)) // its key is not given again

		s := open(t, url)
		got := 0
		for c, err := range s.WalkChanges(t.Context(), watcher.ChangeFilter{Cosmetic: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if got++; !reflect.DeepEqual(c, want[c.ID]) {
				t.Fatalf("got  %+v\nwant %+v", c, want[c.ID])
			}
		}
		if got != n {
			t.Errorf("%d changes, want %d", got, n)
		}
		if found, err := s.Changes(t.Context(), watcher.ChangeFilter{Agent: "ccbot", Kinds: []watcher.Kind{watcher.KindAccess}}); err != nil || len(found) != (n+1)/2 {
			t.Errorf("%d changes of an agent, %v", len(found), err)
		}
		owed, err := s.Owed(t.Context(), notify.StatusPending, n)
		if err != nil || len(owed) != n-1 || owed[n-2].ID != n-1 || owed[3].Receipt != "3" || !reflect.DeepEqual(owed[3].Change, want[owed[3].Change.ID]) {
			t.Errorf("%d deliveries, %v", len(owed), err)
		}
		if at := count(t, s, "SELECT count(*) FROM observations WHERE site_id = 1 AND at = 5 AND seq = 7 AND length(link) = 32"); at != 1 {
			t.Errorf("%d observations", at)
		}
		if body, err := s.Body(t.Context(), empty); err != nil || len(body) > 0 {
			t.Errorf("the empty body: %q, %v", body, err)
		}
		id, err := ulid.Parse(anyChange(n).ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.exec(t.Context(), `INSERT INTO changes (id, site_id, kind, severity, watched, backfill, data) VALUES ($1, 1, 'access', 0, 0, 0, $2)`, id.Bytes(), []byte{}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.exec(t.Context(), `INSERT INTO deliveries (receiver, change_id, site_id, group_key, created_at, next_at) VALUES ('log', $1, 1, 'g', 1, 2)`, id.Bytes()); err != nil {
			t.Fatal(err)
		}
		if last := count(t, s, "SELECT max(id) FROM deliveries"); last <= n {
			t.Errorf("the key %d was given before", last)
		}
	})
}

// What only changes name is left as a hash, and comes back when it is seen.
func TestHashesOfChangesOutliveBodies(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		var hashes []watcher.Hash
		for i, text := range []string{"first", "second", "third"} {
			at := t0.AddDate(0, 0, 10*i)
			r := policy(claim(t, s, at, 1)[0], at, text, blockedProfile)
			hashes = append(hashes, r.Site.Body)
			change(&r, text)
			r.Changes[0].Change.BeforeSHA256, r.Changes[0].Change.AfterSHA256 = r.Lease.Site.Body.String(), r.Site.Body.String()
			record(t, s, r)
		}
		if did, err := s.Tidy(t.Context(), t0.AddDate(0, 0, 40), 15*24*time.Hour); err != nil || did.Bodies != 2 {
			t.Fatalf("%+v, %v", did, err)
		}
		if again, err := s.Tidy(t.Context(), t0.AddDate(0, 0, 40), 15*24*time.Hour); err != nil || again != (Tidied{}) {
			t.Errorf("again: %+v, %v", again, err)
		}
		if _, err := s.Body(t.Context(), hashes[0]); !errors.Is(err, watcher.ErrNotFound) {
			t.Errorf("a body that was dropped: %v", err)
		}
		fine(t, s)
		list, err := s.Changes(t.Context(), watcher.ChangeFilter{})
		if err != nil || len(list) != 3 || list[1].BeforeSHA256 != hashes[0].String() || list[1].AfterSHA256 != hashes[1].String() {
			t.Errorf("%+v, %v", list, err)
		}
		at := t0.AddDate(0, 0, 50)
		record(t, s, policy(claim(t, s, at, 1)[0], at, "first", blockedProfile))
		if body, err := s.Body(t.Context(), hashes[0]); err != nil || string(body) != "first" {
			t.Errorf("seen again: %q, %v", body, err)
		}
		fine(t, s)
	})
}

// A file without a byte is kept like any other.
func TestEmptyBodyIsKept(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		r := policy(claim(t, s, t0, 1)[0], t0, "", blockedProfile)
		record(t, s, r)
		if body, err := s.Body(t.Context(), r.Site.Body); err != nil || len(body) > 0 || r.Site.Body.IsZero() {
			t.Errorf("%q, %v", body, err)
		}
		fine(t, s)
	})
}
