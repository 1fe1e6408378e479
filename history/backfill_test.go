package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

func kinds(changes []watcher.Change) string {
	var list []string
	for _, c := range changes {
		list = append(list, string(c.Kind))
	}
	return strings.Join(list, " ")
}

func TestCapturesBecomeMarkedHistoryThatNobodyIsToldOf(t *testing.T) {
	s := newStore(t)
	if err := s.Sync(t.Context(), []string{"everything"}, t0); err != nil {
		t.Fatal(err)
	}
	sum := backfill(t, s,
		policy(example, t0, open),
		policy(example, t0.Add(week), open),
		policy(example, t0.Add(2*week), closed))
	if sum.Captures != 3 || sum.New != 3 || sum.Runs != 2 {
		t.Errorf("%+v", sum)
	}
	k := knownOf(t, s, example)
	if len(k.Runs) != 2 || k.Runs[0].Looks != 2 || !k.Runs[0].LastAt.Equal(t0.Add(week)) || !k.Runs[0].Backfill {
		t.Errorf("runs: %+v", k.Runs)
	}
	if len(k.Changes) != 1 || k.Changes[0].Kind != watcher.KindAccess || !k.Changes[0].Backfilled || !k.Changes[0].At.Equal(t0.Add(2*week)) {
		t.Errorf("changes: %+v", k.Changes)
	}
	for _, status := range []notify.Status{notify.StatusPending, notify.StatusDead} {
		if owed, err := s.Owed(t.Context(), status, 10); err != nil || len(owed) != 0 {
			t.Errorf("%d deliveries %s, %v", len(owed), status, err)
		}
	}
	site, err := s.SiteByOrigin(t.Context(), example)
	if err != nil || site.State != fetch.Pending {
		t.Errorf("a site that nobody looked at is %s, %v", site.State, err)
	}
	if active, err := s.Sites(t.Context(), watcher.SiteFilter{}); err != nil || len(active) != 0 {
		t.Errorf("%d active sites, none is configured; %v", len(active), err)
	}
}

// history of some sites with everything in it: faults, reversals, absences.
func someHistory() (lines []line) {
	for i := range 30 {
		site := fmt.Sprintf("https://site%d.example", i)
		r := rand.New(rand.NewPCG(7, uint64(i)))
		for w := range 40 {
			at := t0.Add(time.Duration(w) * week)
			switch n := r.IntN(12); {
			case n < 6:
				lines = append(lines, policy(site, at, open))
			case n < 9:
				lines = append(lines, policy(site, at, closed))
			case n == 9:
				lines = append(lines, failed(site, at, 503, "html_response_error"))
			case n == 10:
				lines = append(lines, failed(site, at, 404, "html_response_error"))
			default:
				lines = append(lines, failed(site, at, 0, "request_error"))
			}
		}
	}
	return lines
}

func TestOrderAndPartsOfTheInputMakeNoDifference(t *testing.T) {
	lines := someHistory()
	whole := newStore(t)
	backfill(t, whole, lines...)
	want := map[string]string{}
	for i := range 30 {
		site := fmt.Sprintf("https://site%d.example", i)
		want[site] = asJSON(t, knownOf(t, whole, site))
	}
	same := func(t *testing.T, s *store.Store) {
		t.Helper()
		for site, text := range want {
			if got := asJSON(t, knownOf(t, s, site)); got != text {
				t.Fatalf("%s differs:\n%s\nwant\n%s", site, got, text)
			}
		}
	}
	t.Run("shuffled", func(t *testing.T) {
		s := newStore(t)
		mixed := slices.Clone(lines)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		backfill(t, s, mixed...)
		same(t, s)
	})
	t.Run("twice", func(t *testing.T) {
		if sum := backfill(t, whole, lines...); sum.New != 0 || sum.Rewritten != 0 {
			t.Errorf("the second time: %+v", sum)
		}
		same(t, whole)
	})
	t.Run("half, then all", func(t *testing.T) {
		s := newStore(t)
		backfill(t, s, lines[:len(lines)/2+13]...)
		backfill(t, s, lines...)
		same(t, s)
	})
	t.Run("broken off, then again", func(t *testing.T) {
		s := newStore(t)
		o := options(t, s)
		stop := errors.New("the lights go out")
		o.Store = &failing{Store: s, after: 7, err: stop}
		var buf bytes.Buffer
		for _, l := range lines {
			if err := json.NewEncoder(&buf).Encode(l); err != nil {
				t.Fatal(err)
			}
		}
		source, err := history.JSONL([]string{history.Stdin}, &buf)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := history.Run(t.Context(), source, o); !errors.Is(err, stop) {
			t.Fatalf("got %v, want that the lights went out", err)
		}
		if sum := backfill(t, s, lines...); sum.Rewritten == 0 || sum.Rewritten == sum.Sites {
			t.Errorf("going on: %+v", sum)
		}
		same(t, s)
	})
}

// failing is a store that ends after some transactions.
type failing struct {
	*store.Store
	after int
	err   error
}

func (f *failing) Rewrite(ctx ctx, sites []*history.Rewrite) error {
	if f.after--; f.after < 0 {
		return f.err
	}
	return f.Store.Rewrite(ctx, sites)
}

func TestTwoArchivesMeet(t *testing.T) {
	s := newStore(t)
	backfill(t, s, policy(example, t0, open), policy(example, t0.Add(2*week), open), policy(example, t0.Add(4*week), open))
	// Another archive saw something else in between.
	backfill(t, s, policy(example, t0.Add(week), closed), policy(example, t0.Add(3*week), open))
	k := knownOf(t, s, example)
	if got := kinds(k.Changes); got != "access access" {
		t.Errorf("changes: %s", got)
	}
	if len(k.Runs) != 3 || k.Runs[1].Looks != 1 {
		t.Errorf("runs: %+v", k.Runs)
	}
	before := asJSON(t, k)
	for range 2 {
		if sum := backfill(t, s, policy(example, t0.Add(week), closed), policy(example, t0.Add(3*week), open)); sum.New != 0 {
			t.Errorf("once more: %+v", sum)
		}
		if sum := backfill(t, s, policy(example, t0, open), policy(example, t0.Add(2*week), open), policy(example, t0.Add(4*week), open)); sum.New != 0 {
			t.Errorf("the first once more: %+v", sum)
		}
	}
	if after := asJSON(t, knownOf(t, s, example)); after != before {
		t.Errorf("running again changed something:\n%s\nwas\n%s", after, before)
	}
}

func TestWhatNobodyLookedAtForLongIsNotKnown(t *testing.T) {
	s := newStore(t)
	backfill(t, s, policy(example, t0, open), policy(example, t0.Add(history.DefaultGap), open), policy(example, t0.Add(2*history.DefaultGap+time.Second), open))
	k := knownOf(t, s, example)
	if len(k.Runs) != 2 || !k.Runs[0].LastAt.Equal(t0.Add(history.DefaultGap)) || len(k.Changes) != 0 {
		t.Errorf("runs: %+v, changes: %+v", k.Runs, k.Changes)
	}
}

func TestLiveHistoryStaysAsItIs(t *testing.T) {
	s := newStore(t)
	j := newJudge(t)
	live := watcher.SiteConfig{Origin: example, Schedule: "@every 6h"}
	if _, err := s.SyncSites(t.Context(), t0, one(live), func(string, string) time.Time { return t0 }); err != nil {
		t.Fatal(err)
	}
	began := t0.Add(10 * week)
	look := func(at time.Time, body string) {
		leases, err := s.ClaimSites(t.Context(), at, []string{example}, time.Minute)
		if err != nil || len(leases) != 1 {
			t.Fatalf("%d leases, %v", len(leases), err)
		}
		v, err := j.Judge(t.Context(), leases[0].Site, fetch.Outcome{At: at, State: fetch.Policy, Status: 200, Body: []byte(body), FinalURL: example + "/robots.txt"}, s)
		if err != nil {
			t.Fatal(err)
		}
		r := watcher.Result{Lease: leases[0], Site: v.Site, Observation: v.Observation, Body: v.Body}
		for _, c := range v.Changes {
			r.Changes = append(r.Changes, watcher.Routed{Change: c})
		}
		if lost, err := s.Record(t.Context(), []watcher.Result{r}); err != nil || lost != 0 {
			t.Fatalf("%d lost, %v", lost, err)
		}
	}
	look(began, closed)
	look(began.Add(week), closed)
	look(began.Add(2*week), open)
	before := knownOf(t, s, example)

	sum := backfill(t, s,
		policy(example, t0, open),
		policy(example, began.Add(3*24*time.Hour), open),    // watched live, which counts more
		policy(example, began.Add(10*24*time.Hour), closed), // nobody looked then: a fact, and no change
		policy(example, began.Add(5*week), closed))
	if sum.Watched != 2 || sum.New != 2 {
		t.Errorf("%+v", sum)
	}
	after := knownOf(t, s, example)
	var rest known
	for _, r := range after.Runs {
		if !r.Backfill {
			rest.Runs = append(rest.Runs, r)
		}
	}
	for _, c := range after.Changes {
		if !c.Backfilled {
			rest.Changes = append(rest.Changes, c)
		}
	}
	if asJSON(t, rest) != asJSON(t, before) {
		t.Errorf("live history changed:\n%s\nwas\n%s", asJSON(t, rest), asJSON(t, before))
	}
	if len(after.Runs) != len(before.Runs)+2 || len(after.Changes) != len(before.Changes)+1 {
		t.Fatalf("%d runs and %d changes, had %d and %d", len(after.Runs), len(after.Changes), len(before.Runs), len(before.Changes))
	}
	if c := after.Changes[0]; !c.Backfilled || !c.At.Equal(began) || c.Kind != watcher.KindAccess {
		t.Errorf("what led to the first live answer: %+v", c)
	}
	if sum := backfill(t, s, policy(example, t0, open), policy(example, began.Add(10*24*time.Hour), closed)); sum.New != 0 {
		t.Errorf("again: %+v", sum)
	}
}

func TestBadRecordsAreNamedAndPassedOver(t *testing.T) {
	s := newStore(t)
	o := options(t, s)
	var got []string
	o.Bad = func(b history.Bad) { got = append(got, b.String()) }
	text := strings.Join([]string{
		`{"site":"https://example.com","time":"2024-05-01T12:00:00Z","status":200,"body_base64":"VXNlci1hZ2VudDogKgo="}`,
		`not json`,
		`{"time":"2024-05-01T12:00:00Z","status":200,"body_base64":""}`,
		`{"site":"https://example.com","status":200,"body_base64":""}`,
		`{"site":"https://example.com","time":"2024-05-01T12:00:00Z"}`,
		`{"site":"https://example.com","time":"2024-05-01T12:00:00Z","status":0}`,
		`{"site":"https://example.com","time":"2024-05-01T12:00:00Z","status":200}`,
		`{"site":"ftp://example.com","time":"2024-05-01T12:00:00Z","status":404}`,
		`{"site":"https://example.com","time":"1970-01-01T00:00:00Z","status":404}`,
		``,
		`{"site":"https://example.com","time":"2024-05-08T12:00:00Z","status":404,"headers":{"Server":["nginx"]}}`,
	}, "\n")
	source, err := history.JSONL([]string{history.Stdin}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := history.Run(t.Context(), source, o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"standard input:2: not a JSON object",
		`standard input:3: "site" is missing`,
		`standard input:4: "time" is missing`,
		`standard input:5: "status" is missing`,
		`standard input:6: "status" is 0`,
		"standard input:7: a success without a body",
		"standard input:8: site: ",
		"standard input:9: time 1970-01-01",
	}
	for i := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("bad records:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if len(got) != len(want) || sum.Bad != int64(len(want)) || sum.New != 2 {
		t.Errorf("%d bad, %+v", len(got), sum)
	}
	if k := knownOf(t, s, example); len(k.Runs) != 2 || k.Runs[1].Reason != "http_404" || len(k.Runs[1].Evidence.Headers) != 1 {
		t.Errorf("runs: %+v", k.Runs)
	}
}
