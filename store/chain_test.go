package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/evidence"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/watcher"
)

// story lets one site answer differently a few times, an hour apart, and goes
// on with the last answer.
func story(t testing.TB, s *Store, from time.Time, bodies ...string) {
	t.Helper()
	for i, body := range bodies {
		now := from.Add(time.Duration(i) * time.Hour)
		record(t, s, policy(claim(t, s, now, 1)[0], now, body, nil))
		later := now.Add(10 * time.Minute)
		l, err := s.ClaimSites(t.Context(), later, []string{siteConfig(0).Origin}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		r := unchanged(l[0], later)
		r.Site.NextCheckAt = now.Add(time.Hour)
		record(t, s, r)
	}
}

func chainOf(t testing.TB, s *Store, origin string, archive bool) evidence.Chain {
	t.Helper()
	c, _, err := readChain(t.Context(), s, origin, archive)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func problems(t testing.TB, s *Store) string {
	t.Helper()
	var found []string
	if err := s.Check(t.Context(), func(p Problem) { found = append(found, p.String()) }); err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, "\n")
}

// Every bit of every column of what was seen is covered.
func TestCheckFindsAnyFlippedBitOfAnObservation(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		story(t, s, t0, "a", "b", "c")
		if err := s.Rewrite(t.Context(), []*history.Rewrite{captured(siteConfig(0).Origin, t0.AddDate(-1, 0, 0), 0)}); err != nil {
			t.Fatal(err)
		}
		fine(t, s)
		for _, table := range tables {
			switch table.name {
			case "observations", "chains", "bodies":
				flipEach(t, s, table)
			}
		}
		fine(t, s)
	})
}

func flipEach(t *testing.T, s *Store, table table) {
	t.Helper()
	rows, err := readPage(t.Context(), table, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for i, column := range table.columns {
			if column == "seen_at" {
				continue // housekeeping
			}
			for _, changed := range flips(row[len(table.key)+i]) {
				where := ""
				for k, key := range table.key {
					where += fmt.Sprintf(" AND %s = $%d", key, k+2)
				}
				set := "UPDATE " + table.name + " SET " + column + " = $1 WHERE 1 = 1" + where
				if _, err := s.exec(t.Context(), set, append([]any{changed}, row[:len(table.key)]...)...); err != nil {
					continue // the database itself refuses it
				}
				if problems(t, s) == "" {
					t.Errorf("%s.%s of %v: %v became %v, and nobody noticed", table.name, column, row[:len(table.key)], row[len(table.key)+i], changed)
				}
				if _, err := s.exec(t.Context(), set, append([]any{row[len(table.key)+i]}, row[:len(table.key)]...)...); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// flips are values that differ from v in one bit, of which a few are taken
// where v is long.
func flips(v any) (list []any) {
	bits := func(b []byte) (list [][]byte) {
		step := max(1, len(b)*8/9)
		for i := 0; i < len(b)*8; i += step {
			c := bytes.Clone(b)
			c[i/8] ^= 1 << (i % 8)
			list = append(list, c)
		}
		return list
	}
	switch v := v.(type) {
	case nil:
		return []any{make([]byte, 32)}
	case int64:
		for _, b := range bits(binary.BigEndian.AppendUint64(nil, uint64(v))) {
			list = append(list, int64(binary.BigEndian.Uint64(b)))
		}
	case string:
		if v == "" {
			return []any{"x"}
		}
		c := []byte(v)
		c[len(c)/2] ^= 1
		return []any{string(c)}
	case []byte:
		for _, b := range bits(v) {
			list = append(list, b)
		}
		list = append(list, []byte{})
	}
	return list
}

func TestCheckFindsMissingAndSwappedRecords(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		for what, damage := range map[string][]string{
			"the first record deleted":           {"DELETE FROM observations WHERE seq = 1"},
			"one in the middle":                  {"DELETE FROM observations WHERE seq = 2"},
			"one made to stand before the chain": {"UPDATE observations SET seq = -1, link = NULL WHERE seq = 1"},
			"two that changed places": {"UPDATE observations SET seq = 20 WHERE seq = 2", "UPDATE observations SET seq = 2 WHERE seq = 3",
				"UPDATE observations SET seq = 3 WHERE seq = 20"},
			"the archive's last": {"DELETE FROM observations WHERE backfill > 0 AND seq = 2"},
			"all of the archive": {"DELETE FROM observations WHERE backfill > 0"},
		} {
			t.Run(what, func(t *testing.T) {
				s := open(t, "sqlite:"+filepath.Join(t.TempDir(), "x.db"))
				resync(t, s, siteConfigs(1))
				story(t, s, t0, "a", "b", "c", "d")
				if err := s.Rewrite(t.Context(), []*history.Rewrite{captured(siteConfig(0).Origin, t0.AddDate(-1, 0, 0), 0)}); err != nil {
					t.Fatal(err)
				}
				for _, query := range damage {
					if _, err := s.exec(t.Context(), query); err != nil {
						t.Fatal(err)
					}
				}
				if found := problems(t, s); !strings.Contains(found, "chain") {
					t.Errorf("found %q", found)
				}
			})
		}
	})
}

// What retention drops, a backfill inserts and a copy carries leaves chains
// that hold, and proofs that were made before agree with those made after.
func TestChainsOutliveRetentionBackfillAndCopy(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		origin := siteConfig(0).Origin
		story(t, s, t0, "a", "b", "c")
		if err := s.Rewrite(t.Context(), []*history.Rewrite{captured(origin, t0.AddDate(0, 0, -3), 0)}); err != nil {
			t.Fatal(err)
		}
		story(t, s, t0.Add(3*time.Hour), "d", "e")
		was := chainOf(t, s, origin, false)
		if len(was.Links) != 5 || was.Head().Position != 5 {
			t.Fatalf("%+v", was)
		}
		if breaks := was.Breaks(); len(breaks) > 0 {
			t.Fatal(breaks)
		}
		// The first archived run and the first two live ones are over.
		for _, now := range []time.Time{t0.AddDate(0, 0, -3).Add(90 * time.Minute), t0.Add(115 * time.Minute)} {
			if did, err := s.Tidy(t.Context(), now.Add(time.Hour), time.Hour); err != nil || did.Observations == 0 {
				t.Fatalf("%+v, %v", did, err)
			}
			fine(t, s)
		}
		is := chainOf(t, s, origin, false)
		if len(is.Links) != 3 || is.Dropped != was.Links[1].Mark || is.Head() != was.Head() {
			t.Errorf("left: %+v", is)
		}
		if breaks := is.Breaks(); len(breaks) > 0 {
			t.Error(breaks)
		}
		archive := chainOf(t, s, origin, true)
		if len(archive.Links) != 0 || archive.Dropped.Position != 2 {
			t.Errorf("archive: %+v", archive)
		}
		if err := s.Rewrite(t.Context(), []*history.Rewrite{captured(origin, t0.AddDate(0, 0, -2), 0)}); err != nil {
			t.Fatal(err)
		}
		fine(t, s)
		to := open(t, "sqlite:"+filepath.Join(t.TempDir(), "to.db"))
		if err := Copy(t.Context(), s, to, nil); err != nil {
			t.Fatal(err)
		}
		fine(t, to)
		if got := chainOf(t, to, origin, false); got.Head() != was.Head() || got.Dropped != is.Dropped {
			t.Errorf("copied: %+v", got)
		}
		story(t, to, t0.Add(5*time.Hour), "f")
		fine(t, to)
		if got := chainOf(t, to, origin, false); got.Head().Position != 6 {
			t.Errorf("head %+v", got.Head())
		}
	})
}

// What is read of a chain while retention shortens it is a chain that holds, and
// the run that was asked for is in it: no bundle fails, or says that its record
// is older than the chain.
func TestAChainIsReadAtOneMoment(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		bodies := make([]string, sizes.Pick(150, 60))
		for i := range bodies {
			bodies[i] = fmt.Sprint(i)
		}
		story(t, s, t0, bodies...)
		ctx, stop := context.WithCancel(t.Context())
		var oldest atomic.Int64 // run that is left
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for ctx.Err() == nil {
					at := t0.Add(time.Duration(oldest.Load()) * time.Hour)
					run, c, err := s.ChainAt(t.Context(), siteConfig(0).Origin, at)
					if errors.Is(err, watcher.ErrNotFound) {
						continue // it went
					}
					if proof, e := c.Prove(run.At); err != nil || e != nil || proof == nil {
						t.Errorf("%v, %v: the run of %v is proven by %v", err, e, run.At, proof)
						return
					}
				}
			})
		}
		for i := range bodies {
			oldest.Store(int64(i))
			if _, err := s.dropObservations(t.Context(), t0.Add(time.Duration(i)*time.Hour)); err != nil {
				t.Error(err)
			}
		}
		stop()
		readers.Wait()
		if n := len(chainOf(t, s, siteConfig(0).Origin, false).Links); n != 1 {
			t.Errorf("%d runs are left, want the open one", n)
		}
	})
}

// A look that ends an old run between what retention notes of a chain and what
// it removes leaves a chain that holds: after a stop of the daemons for longer
// than that, retention begins with the looks.
func TestRetentionBesideALookLeavesAChainThatHolds(t *testing.T) {
	onPostgres(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		story(t, s, t0, "a", "b", "c")
		if n, err := s.dropObservations(t.Context(), t0.Add(time.Hour)); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		held, let, dropped := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			_ = s.Write(context.Background(), func(tx *Tx) error {
				_, err := tx.Exec(t.Context(), "SELECT 1 FROM chains FOR UPDATE")
				close(held)
				<-let
				return err
			})
		}()
		<-held
		go func() {
			_, err := s.dropObservations(context.Background(), t0.Add(24*time.Hour))
			dropped <- err
		}()
		wait(t, func() bool {
			return count(t, s, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == 1
		})
		story(t, s, t0.Add(48*time.Hour), "d")
		close(let)
		if err := <-dropped; err != nil {
			t.Fatal(err)
		}
		fine(t, s)
		chain := chainOf(t, s, siteConfig(0).Origin, false)
		if breaks, links := chain.Breaks(), count(t, s, "SELECT count(*) FROM observations"); len(breaks) > 0 || links != 2 {
			t.Errorf("%v, %d runs", breaks, links)
		}
	})
}

// A clock that was set back does not make retention tear a hole.
func TestRetentionDropsOnlyTheBeginningOfAChain(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		look := func(at time.Time, body string) {
			l, err := s.ClaimSites(t.Context(), t0, []string{siteConfig(0).Origin}, 0)
			if err != nil || len(l) != 1 {
				t.Fatalf("%v, %v", l, err)
			}
			record(t, s, policy(l[0], at, body, nil))
		}
		look(t0, "a")
		look(t0.Add(10*time.Hour), "b") // lasts until the clock is right again
		look(t0.Add(1*time.Hour), "c")
		look(t0.Add(2*time.Hour), "d")
		if _, err := s.exec(t.Context(), "UPDATE observations SET last_at = at WHERE last_at <> 0 AND last_at < at"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Tidy(t.Context(), t0.Add(4*time.Hour), time.Hour); err != nil {
			t.Fatal(err)
		}
		c := chainOf(t, s, siteConfig(0).Origin, false)
		if c.Dropped.Position != 1 || len(c.Links) != 3 {
			t.Errorf("%+v", c)
		}
	})
}

func TestStoresFromBeforeThereWereChains(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		origin, ms := siteConfig(0).Origin, t0.UnixMilli()
		atSchema(t, url, 1,
			fmt.Sprintf(`INSERT INTO sites (origin, state, readable, observed_at, last_check_at, next_check_at)
				VALUES ('%s', 'absent', 'absent', %d, %[2]d, %[2]d)`, origin, ms),
			fmt.Sprintf(`INSERT INTO observations (site_id, at, last_at, state, status, backfill) VALUES (1, %d, %[1]d, 'absent', 404, 1),
				(1, %d, %d, 'denied', 403, 0), (1, %d, 0, 'absent', 404, 0)`, ms-9e7, ms-2000, ms-1000, ms),
			"INSERT INTO standings VALUES ('absent', 0, 0, 0, 0, 1)", "INSERT INTO standings_daily VALUES (20000, 'absent', 0, 0, 0, 0, 1)")
		s := open(t, url)
		fine(t, s)
		story(t, s, t0.Add(2*time.Hour), "c", "d")
		fine(t, s)
		c, before, err := readChain(t.Context(), s, origin, false)
		if err != nil || before != 2 || len(c.Links) != 2 || c.Links[0].Position != 1 {
			t.Errorf("%+v, %d before, %v", c, before, err)
		}
		if c, before, err = readChain(t.Context(), s, origin, true); err != nil || before != 1 || len(c.Links) != 0 {
			t.Errorf("%+v, %d before, %v", c, before, err)
		}
		if err := s.Rewrite(t.Context(), []*history.Rewrite{captured(origin, t0.AddDate(-1, 0, 0), 1)}); err != nil {
			t.Fatal(err)
		}
		fine(t, s)
		if got := chainOf(t, s, origin, true); got.Head().Position != 2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestHeadsAreThoseOfAMoment(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		story(t, s, t0, "a", "b", "c")
		if err := s.Rewrite(t.Context(), []*history.Rewrite{captured("https://archived.example", t0.AddDate(-1, 0, 0), 0)}); err != nil {
			t.Fatal(err)
		}
		links := chainOf(t, s, siteConfig(0).Origin, false).Links
		for at, want := range map[time.Time]int{t0: 0, t0.Add(time.Millisecond): 1, t0.Add(90 * time.Minute): 2, t0.Add(24 * time.Hour): 3} {
			var got []evidence.SiteHead
			for h, err := range s.Heads(t.Context(), at) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, h)
			}
			if want == 0 && len(got) == 0 {
				continue
			}
			if len(got) != 1 || got[0].Mark != links[want-1].Mark {
				t.Errorf("at %s: %+v", at, got)
			}
		}
	})
}

// What a store gives back of an observation has the record that was chained.
func TestRecordsComeBackAsTheyWereChained(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		now := t0
		for _, ob := range []watcher.Observation{
			{State: fetch.Unreachable, Reason: "dns", FinalURL: siteConfig(0).Origin + "/robots.txt"},
			{State: fetch.Unreachable, Reason: "http_503", Status: 503},
			{State: fetch.Absent, Status: 404, Detail: "a \"b\" <c> & é \u2028", FinalURL: "https://elsewhere.example/robots.txt"},
			{State: fetch.Denied, Status: 403, Evidence: watcher.Evidence{TLSSubject: "CN=site0.example", Address: "[2001:db8::1]:443",
				Headers: []fetch.Header{{Name: "Last-Modified", Value: "Mon, 02 Jan 2006 15:04:05 GMT"}, {Name: "Server", Value: `\xff`}}}},
			{State: fetch.NotRobots, Status: 200, Reason: "html", Bytes: 12345, Truncated: true, Evidence: watcher.Evidence{Headers: []fetch.Header{}}},
		} {
			now = now.Add(time.Hour + 1234567*time.Nanosecond)
			r := outage(claim(t, s, now, 1)[0], now)
			r.Observation = &ob
			ob.At = now
			r.Site.NextCheckAt = now
			record(t, s, r)
		}
		fine(t, s)
		if c := chainOf(t, s, siteConfig(0).Origin, false); c.Head().Position != 5 {
			t.Errorf("%+v", c)
		}
	})
}
