package watcher

import (
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
)

func TestRequestsAreConditionalButForOneAWeek(t *testing.T) {
	first := policyAnswer("a")
	first.ETag, first.Modified = `"1"`, "Sun, 01 Mar 2026 12:00:00 GMT"
	site, _ := lived(t, testJudge(t, "@every 6h"), SiteConfig{Origin: "https://example.com"}, nil, first)
	if r := site.Request(day0.Add(time.Hour)); r.ETag != first.ETag || r.Modified != first.Modified || r.Origin != site.Origin {
		t.Errorf("request: %+v", r)
	}
	if r := site.Request(day0.Add(7*24*time.Hour - time.Second)); r.ETag == "" {
		t.Error("a full GET before a week is over")
	}
	if r := site.Request(day0.Add(7 * 24 * time.Hour)); r.ETag != "" || r.Modified != "" {
		t.Errorf("after a week a full GET is due: %+v", r)
	}
	if r := site.Request(day0.Add(-time.Hour)); r.ETag != "" {
		t.Error("the clock was set back: nobody knows when the last full GET was")
	}
}

func TestValidatorsFollowTheAnswers(t *testing.T) {
	first := policyAnswer("a")
	first.ETag, first.Modified = `"1"`, "Sun, 01 Mar 2026 12:00:00 GMT"
	same := fetch.Outcome{State: fetch.Policy, Status: 304, NotModified: true, ETag: `"2"`}
	bare := policyAnswer("b")
	j, c := testJudge(t, "@every 6h"), SiteConfig{Origin: "https://example.com"}
	validators := func(answers ...fetch.Outcome) [2]string {
		site, _ := lived(t, j, c, nil, answers...)
		r := site.Request(day0.Add(time.Duration(len(answers)) * time.Hour))
		return [2]string{r.ETag, r.Modified}
	}
	for _, tc := range []struct {
		name    string
		answers []fetch.Outcome
		want    [2]string
	}{
		{"a 304 refreshes what it names", []fetch.Outcome{first, same}, [2]string{`"2"`, first.Modified}},
		{"a 200 without validators has none", []fetch.Outcome{first, bare}, [2]string{"", ""}},
		{"an outage keeps them", append([]fetch.Outcome{first}, failed(5)...), [2]string{`"1"`, first.Modified}},
		{"a file that is gone has none", append([]fetch.Outcome{first}, gone(3)...), [2]string{"", ""}},
	} {
		if got := validators(tc.answers...); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestObservationsAreRunsOfEqualAnswers(t *testing.T) {
	j := testJudge(t, "@every 6h")
	moved := policyAnswer("a")
	moved.FinalURL = "https://www.example.com/robots.txt"
	same := fetch.Outcome{State: fetch.Policy, Status: 304, NotModified: true, FinalURL: policyAnswer("").FinalURL}
	refused := fetch.Outcome{State: fetch.Unreachable, Reason: fetch.ConnRefused}
	r := NewReplay(j, SiteConfig{Origin: "https://example.com"})
	for i, step := range []struct {
		out  fetch.Outcome
		runs bool
	}{
		{policyAnswer("a"), true}, {policyAnswer("a"), false}, {same, false},
		{refused, true}, {refused, false}, {failed(1)[0], true}, // a fault is visible, confirmed or not
		{policyAnswer("a"), true}, {same, false}, {policyAnswer("b"), true}, {moved, true},
	} {
		out := step.out
		out.At = day0.Add(time.Duration(i) * time.Hour)
		v, err := r.Next(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		if (v.Observation != nil) != step.runs {
			t.Errorf("answer %d: a new run %t, want %t", i, v.Observation != nil, step.runs)
		}
		if v.Observation != nil && (v.Observation.State != out.State || v.Observation.At != out.At || !v.Observation.Backfill || v.Observation.Body.IsZero() == (out.State == fetch.Policy)) {
			t.Errorf("answer %d: %+v", i, v.Observation)
		}
	}
}
