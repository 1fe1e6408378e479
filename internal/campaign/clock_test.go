//go:build !race

package campaign

import (
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/store"
)

// A daemon whose clock differs from the database's goes by the database's: it
// looks when that says so and no more often, records at its time, and delivers
// at once. The database is made to tell another time, which comes to the same.
// The hour between the two is more than any machine is slow: what goes by the
// wrong clock is an hour off or does not happen in this test's life.
func TestAClockThatIsOff(t *testing.T) {
	for name, off := range map[string]string{"behind": "1 hour", "ahead": "-1 hour"} {
		t.Run(name, func(t *testing.T) {
			url := server(t).Database(t)
			s, err := store.Open(t.Context(), url, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			err = s.Write(t.Context(), func(tx *store.Tx) error {
				if _, err := tx.Exec(t.Context(), "CREATE SCHEMA fake"); err != nil {
					return err
				}
				_, err := tx.Exec(t.Context(), `CREATE FUNCTION fake.statement_timestamp() RETURNS timestamptz STABLE LANGUAGE sql
					AS 'SELECT pg_catalog.statement_timestamp() + interval ''`+off+`'''`)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
			url += "&options=-c%20search_path%3Dfake%2Cpg_catalog%2Cpublic"

			to := newReceiver(t)
			crowd := newCrowd(t, 50, 2*time.Second)
			d := start(t, setup{store: url, concurrency: 50, schedule: "@every 2s", sites: crowd.sites, receivers: to.tables()}.write(t))
			d.awaitSweep(3 * time.Minute)
			swept := time.Since(d.begun)
			await(t, 3*time.Minute, "hardly a change was delivered", func() bool {
				to.mu.Lock()
				defer to.mu.Unlock()
				return len(to.arrived) > 10
			})
			took := time.Since(d.begun)
			t.Logf("all sites were looked at after %v, changes delivered after %v", swept.Round(time.Millisecond), took.Round(time.Millisecond))
			d.stop()
			wrong := count(t, look(t, url), `SELECT count(*) FROM sites
				WHERE abs(last_check_at - extract(epoch FROM statement_timestamp()) * 1000) > 1800000`)
			if wrong > 0 {
				t.Errorf("%d sites were looked at at another time than the database's", wrong)
			}
			wrong = count(t, look(t, url), `SELECT count(*) FROM deliveries
				WHERE abs(created_at - extract(epoch FROM statement_timestamp()) * 1000) > 1800000`)
			if wrong > 0 {
				t.Errorf("%d deliveries were recorded at another time than the database's", wrong)
			}
			most := len(crowd.sites) * (2 + int(took/time.Second)) // the least gap is half the interval
			if crowd.requests > most {
				t.Errorf("%d requests in %v, want %d at most", crowd.requests, took, most)
			}
		})
	}
}
