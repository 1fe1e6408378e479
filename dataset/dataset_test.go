package dataset_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/dataset"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

var (
	t0   = time.Date(2026, 5, 1, 12, 30, 15, 250e6, time.UTC)
	from = dataset.Origin{Catalogue: "2026-05-01", Engine: "v1.2.3"}
)

func observation(i int) dataset.Observation {
	return dataset.ObservationRow("https://example.com", watcher.Observation{
		At: t0.Add(time.Duration(i) * 10 * time.Hour), LastAt: t0.Add(time.Duration(i)*10*time.Hour + time.Minute), State: fetch.Policy, Status: 200,
		FinalURL: "https://example.com/robots.txt", Body: watcher.Hash{byte(i + 1)}, Bytes: int64(i), Truncated: i%2 == 1,
		Evidence: watcher.Evidence{Vendor: "cloudflare", Headers: []fetch.Header{{Name: "Server", Value: "a,\"b\"\nc"}}},
	}, from)
}

func change() dataset.Change {
	rule, line, delay := "Disallow: /ü", 7, 2.5
	return dataset.Change{Origin: from, Change: watcher.Change{
		Schema: watcher.ChangeSchema, ID: "01HEYXBBNGDSNVSMATC6HK3RFD", At: t0, Site: "https://example.com", Tags: []string{"eu", "news"},
		Kind: watcher.KindAccess, Severity: watcher.Critical, Summary: "GPTBot now blocked", Cause: watcher.CauseRules, Watched: true,
		State: watcher.StateChange{Before: fetch.Policy, After: fetch.Policy}, Backfilled: true,
		Agents: []diff.AgentChange{{Agent: "GPTBot", Direction: diff.Tightened, Proven: true,
			Before: diff.Access{Level: diff.Allowed, Source: "default"}, After: diff.Access{Level: diff.Blocked, Source: "named"},
			NewlyDisallowed: []diff.Entry{{Example: "/", Rule: &rule, Line: &line}, {Example: "/x"}}, NewlyAllowed: []diff.Entry{}}},
		Signals:     []diff.SignalChange{{Scope: "*", Name: "content-signal", After: "search=yes"}},
		CrawlDelays: []diff.CrawlDelayChange{{Agent: "*", After: &delay}},
		Sitemaps:    &diff.SitemapsChange{Added: []string{"https://example.com/s.xml"}, Removed: []string{}},
	}}
}

func written[R any](t *testing.T, w func(io.Writer) dataset.Writer[R], rows ...R) []byte {
	t.Helper()
	var buf bytes.Buffer
	out := w(&buf)
	for _, r := range rows {
		if err := out.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// columns are the schemas as docs/datasets.md has them: a column that goes or
// changes its type breaks somebody's notebook.
var columns = map[string]string{
	dataset.ObservationsSchema: "schema site first_at last_at state reason detail status final_url sha256 bytes truncated backfilled captures vendor address tls_subject headers catalogue engine",
	dataset.PoliciesSchema:     "schema site agent valid_from valid_to access source state rule line sha256 catalogue engine",
	dataset.ChangesSchema:      "schema id at site tags kind severity summary agents state_before state_after reason detail cause before_sha256 after_sha256 signals crawl_delays sitemaps_added sitemaps_removed managed unstable watched expected backfilled backfilled_agents link catalogue engine",
}

func TestColumnsOfAllFormats(t *testing.T) {
	rule, line, to := "Disallow: /", int32(3), t0.Add(time.Hour)
	policy := dataset.Policy{Schema: dataset.PoliciesSchema, Site: "https://example.com", Agent: "GPTBot", ValidFrom: t0, ValidTo: &to,
		Access: "blocked", Source: "named", State: "policy", Rule: &rule, Line: &line, Origin: from}
	open := policy
	open.ValidTo, open.Rule, open.Line = nil, nil, nil
	about := func(schema string) dataset.About { return dataset.About{Schema: schema, Origin: from} }
	files := map[string]map[dataset.Format][]byte{}
	for _, f := range []dataset.Format{dataset.CSV, dataset.Parquet, dataset.JSONL} {
		add := func(schema string, content []byte) {
			if files[schema] == nil {
				files[schema] = map[dataset.Format][]byte{}
			}
			files[schema][f] = content
		}
		add(dataset.ObservationsSchema, written(t, func(w io.Writer) dataset.Writer[dataset.Observation] {
			return dataset.NewWriter[dataset.Observation](w, f, about(dataset.ObservationsSchema))
		}, observation(0), observation(1)))
		add(dataset.PoliciesSchema, written(t, func(w io.Writer) dataset.Writer[dataset.Policy] {
			return dataset.NewWriter[dataset.Policy](w, f, about(dataset.PoliciesSchema))
		}, policy, open))
		add(dataset.ChangesSchema, written(t, func(w io.Writer) dataset.Writer[dataset.Change] {
			return dataset.NewChangeWriter(w, f, about(dataset.ChangesSchema))
		}, change(), change()))
	}
	for schema, formats := range files {
		t.Run(schema, func(t *testing.T) {
			rows, err := csv.NewReader(bytes.NewReader(formats[dataset.CSV])).ReadAll()
			if err != nil || len(rows) != 3 || strings.Join(rows[0], " ") != columns[schema] {
				t.Errorf("CSV: %d rows, %v, columns\n%s\nwant\n%s", len(rows), err, strings.Join(rows[0], " "), columns[schema])
			}
			file, err := parquet.OpenFile(bytes.NewReader(formats[dataset.Parquet]), int64(len(formats[dataset.Parquet])))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, field := range file.Schema().Fields() {
				names = append(names, field.Name())
				if strings.HasSuffix(field.Name(), "_at") || strings.HasPrefix(field.Name(), "valid_") || field.Name() == "at" {
					if got := field.Type().String(); got != "TIMESTAMP(isAdjustedToUTC=true,unit=MILLIS)" {
						t.Errorf("Parquet: %s is %s", field.Name(), got)
					}
				}
			}
			if strings.Join(names, " ") != columns[schema] || file.NumRows() != 2 {
				t.Errorf("Parquet: %d rows, columns\n%s\nwant\n%s", file.NumRows(), strings.Join(names, " "), columns[schema])
			}
			for key, want := range map[string]string{"schema": schema, "catalogue": from.Catalogue, "engine": from.Engine} {
				if got, ok := file.Lookup(key); !ok || got != want {
					t.Errorf("Parquet: metadata %s is %q, want %q", key, got, want)
				}
			}
			if n := bytes.Count(formats[dataset.JSONL], []byte("\n")); n != 2 {
				t.Errorf("JSONL: %d lines", n)
			}
		})
	}
	t.Run("values", func(t *testing.T) {
		got, err := parquet.Read[dataset.Policy](bytes.NewReader(files[dataset.PoliciesSchema][dataset.Parquet]), int64(len(files[dataset.PoliciesSchema][dataset.Parquet])))
		if err != nil || len(got) != 2 || !got[0].ValidFrom.Equal(t0) || !got[0].ValidTo.Equal(to) || *got[0].Rule != rule || *got[0].Line != line || got[1].ValidTo != nil || got[1].Line != nil {
			t.Errorf("policies: %+v, %v", got, err)
		}
		runs, err := parquet.Read[dataset.Observation](bytes.NewReader(files[dataset.ObservationsSchema][dataset.Parquet]), int64(len(files[dataset.ObservationsSchema][dataset.Parquet])))
		if err != nil || len(runs) != 2 || asJSON(t, runs[1]) != asJSON(t, observation(1)) {
			t.Errorf("observations: %s, %v", asJSON(t, runs), err)
		}
		var event map[string]any
		line, _, _ := bytes.Cut(files[dataset.ChangesSchema][dataset.JSONL], []byte("\n"))
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		if event["catalogue"] != from.Catalogue || event["state"].(map[string]any)["before"] != "policy" || event["agents"].([]any)[0].(map[string]any)["agent"] != "GPTBot" {
			t.Errorf("a change as JSON: %s", line)
		}
	})
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDaysAreWrittenWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	write := func(rows ...int) {
		days, err := dataset.NewDays(dir, "observations.csv", func(o dataset.Observation) time.Time { return o.FirstAt },
			func(w io.Writer) dataset.Writer[dataset.Observation] {
				return dataset.NewWriter[dataset.Observation](w, dataset.CSV, dataset.About{})
			})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range rows {
			if err := days.Write(observation(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := days.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write(4, 0, 2, 1, 3)
	write(0, 1) // again, in place of what was there
	want := map[string]int{"day=2026-05-01": 2, "day=2026-05-02": 2, "day=2026-05-03": 1}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(want) {
		t.Fatalf("%v, %v", entries, err)
	}
	for day, n := range want {
		text, err := os.ReadFile(filepath.Join(dir, day, "observations.csv"))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil || len(rows) != n+1 {
			t.Errorf("%s: %d rows, want %d; %v", day, len(rows)-1, n, err)
		}
	}
}

type bodies map[watcher.Hash][]byte

func (b bodies) Body(_ context.Context, h watcher.Hash) ([]byte, error) {
	if text, ok := b[h]; ok {
		return text, nil
	}
	return nil, watcher.ErrNotFound
}

func TestPoliciesSayWhoCouldFetchWhen(t *testing.T) {
	catalogue, err := agents.Load()
	if err != nil {
		t.Fatal(err)
	}
	judge, err := watcher.NewJudge(watcher.Settings{Confirm: watcher.Confirm{Failures: 3, Interval: time.Minute}, Schedule: "@every 6h",
		Watch: []string{"GPTBot", "CCBot"}, Catalogue: catalogue})
	if err != nil {
		t.Fatal(err)
	}
	a, b := watcher.Hash{1}, watcher.Hash{2}
	texts := bodies{a: []byte("User-agent: *\nDisallow: /x\n"), b: []byte("User-agent: *\nDisallow: /x\n\nUser-agent: GPTBot\nDisallow: /\n")}
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	h := watcher.History{Active: true, Site: watcher.Site{Origin: "https://example.com"}, Runs: []watcher.Observation{
		{At: day(1), LastAt: day(3), State: fetch.Policy, Status: 200, Body: a},
		{At: day(4), LastAt: day(6), State: fetch.Unreachable, Reason: "timeout"},
		{At: day(7), LastAt: day(8), State: fetch.Policy, Status: 200, Body: b},
	}}
	p := dataset.Policies{Judge: judge, Bodies: texts, Gap: 10 * 24 * time.Hour, From: from}
	rows, err := p.Rows(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		text := r.Agent + " " + r.ValidFrom.Format("02") + "-"
		if r.ValidTo != nil {
			text += r.ValidTo.Format("02")
		}
		text += " " + r.Access + " " + r.Source
		if r.Rule != nil {
			text += " " + *r.Rule
		}
		got = append(got, text)
	}
	want := []string{
		"GPTBot 01-04 partial wildcard", "GPTBot 04-07 blocked status", "GPTBot 07- blocked named Disallow: /",
		"CCBot 01-04 partial wildcard", "CCBot 04-07 blocked status", "CCBot 07- partial wildcard",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	delete(texts, b)
	p = dataset.Policies{Judge: judge, Bodies: texts, Gap: time.Hour}
	if _, err := p.Rows(t.Context(), h); err == nil || !strings.Contains(err.Error(), "missing from the store") {
		t.Errorf("without a body: %v", err)
	}
}
