//go:build !race

// Nothing runs at once here: the race detector would only make it long.

package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/internal/realdata"
	"github.com/robotswatch/robotswatch/robots"
)

// probes is how many random paths are tried on each rule set of a real file.
const probes = 1000

// Nothing that is called allowed or blocked may be refuted by a path, on any
// of the real files and for any agent of the default watch list.
func TestAccessOfRealFilesIsNotRefutedByProbes(t *testing.T) {
	list, err := agentList([]string{"@ai"}, "")
	if err != nil {
		t.Fatal(err)
	}
	files := realdata.Archive(t, "robots-2024.tar.xz")
	if len(files) < 2500 {
		t.Fatalf("only %d files", len(files))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	asked := 0
	for name, text := range files {
		in := diff.NewInput(text)
		if r := diff.Files(in, diff.NewInput(text), list); !r.Equivalent || len(r.Agents) > 0 {
			t.Errorf("%s differs from itself: %d agents", name, len(r.Agents))
		}
		seen := map[*robots.Rule]bool{} // merged sets are shared: probe each once
		for _, a := range list {
			rules := in.Rules(a)
			if len(rules.Rules) == 0 || seen[&rules.Rules[0]] {
				continue
			}
			seen[&rules.Rules[0]] = true
			level, proven := diff.AccessOf(rules)
			if !proven {
				t.Errorf("%s: access of %s is not proven", name, a.Token)
			}
			asked += refute(t, rng, name, rules, level)
		}
	}
	if asked < 1_000_000 {
		t.Errorf("only %d probes", asked)
	}
	t.Logf("%d files, %d probes", len(files), asked)
}

func refute(t *testing.T, rng *rand.Rand, name string, rules *robots.Rules, level diff.Level) int {
	t.Helper()
	ordinary := rules.Decide("/zq9-no-rule-mentions-this").Allowed
	if ordinary == (level == diff.Restricted || level == diff.Blocked) {
		t.Errorf("%s: %s is %s, but an ordinary path is allowed=%v", name, rules.Token, level, ordinary)
	}
	for range probes {
		path := probe(rng, rules)
		if path == "/robots.txt" {
			continue
		}
		switch allowed := rules.Decide(path).Allowed; {
		case level == diff.Allowed && !allowed:
			t.Errorf("%s: %s is allowed, but %q is not", name, rules.Token, path)
		case level == diff.Blocked && allowed:
			t.Errorf("%s: %s is blocked, but %q is allowed", name, rules.Token, path)
		}
	}
	return probes
}

// probe is a path near a random rule: its stars filled, cut, or grown.
func probe(rng *rand.Rand, rules *robots.Rules) string {
	var b strings.Builder
	for _, c := range []byte(strings.TrimSuffix(rules.Rules[rng.IntN(len(rules.Rules))].Pattern, "$")) {
		if c == '*' {
			b.WriteString([]string{"", "x", "/", "a/b", "?q=1"}[rng.IntN(5)])
			continue
		}
		b.WriteByte(c)
	}
	path := b.String()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	switch rng.IntN(4) {
	case 0:
		path = path[:1+rng.IntN(len(path))]
	case 1:
		path += []string{"x", "/", "/y", "?z", ".html", ".php?a=b"}[rng.IntN(6)]
	}
	return path
}
