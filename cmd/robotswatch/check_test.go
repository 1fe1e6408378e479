package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestCheckAsksForTokensGroupsAndAllOthers(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("User-agent: GPTBot\nAllow: /\n\nUser-agent: *\nDisallow: /\n"))
	}))
	defer site.Close()
	for _, tc := range []struct {
		agents []string
		code   int
		want   []string
	}{
		{[]string{"GPTBot"}, exitOK, []string{"GPTBot allowed named"}},
		{[]string{"*"}, exitAnswer, []string{"* blocked wildcard"}},
		{[]string{"*", "gptbot", "FooBot"}, exitAnswer, []string{"GPTBot allowed named", "FooBot blocked wildcard", "* blocked wildcard"}},
	} {
		args := []string{"check", site.URL, "--allow-private-networks", "--format", "json"}
		for _, a := range tc.agents {
			args = append(args, "--agent", a)
		}
		code, out, stderr := runApp(t, "", args...)
		var res struct {
			Agents []struct{ Agent, Access, Source string }
		}
		if err := json.Unmarshal([]byte(out), &res); err != nil {
			t.Fatalf("%v: %q, %q", err, out, stderr)
		}
		var got []string
		for _, a := range res.Agents {
			got = append(got, a.Agent+" "+a.Access+" "+a.Source)
		}
		if code != tc.code || !slices.Equal(got, tc.want) {
			t.Errorf("%v: exit %d, %q; want %d, %q", tc.agents, code, got, tc.code, tc.want)
		}
	}
}

// Sites are looked at together, and told of in the order they were asked for:
// here the first answers only once the last is asked.
func TestCheckLooksAtSitesTogether(t *testing.T) {
	last := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-last:
		case <-r.Context().Done(): // the look gave up
		}
	}))
	defer slow.Close()
	quick := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(last) }))
	defer quick.Close()
	code, out, stderr := runApp(t, "", "check", slow.URL, quick.URL, "--allow-private-networks", "--agent", "GPTBot")
	if first, second := strings.Index(out, slow.URL), strings.Index(out, quick.URL); code != exitOK || first < 0 || second < first {
		t.Errorf("exit %d, %s%s", code, out, stderr)
	}
}
