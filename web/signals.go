package web

import (
	"cmp"
	"slices"

	"github.com/robotswatch/robotswatch/watcher"
)

// A stance is what statements of several vocabularies come to. Stances are
// counted beside statements, under keys that no statement has.
type stance struct {
	key, label string
	holds      func(watcher.Statement) bool
}

func stances() []stance {
	general := func(s watcher.Statement) bool { return s.Scope == "*" && !s.OnPaths }
	return []stance{
		{"any", "State a preference", func(watcher.Statement) bool { return true }},
		{"no-training", "Refuse training", func(s watcher.Statement) bool {
			return general(s) && (s.Value == "ai-train=no" || s.Value == "train-ai=n" || s.Name == "disallowaitraining")
		}},
		{"no-input", "Refuse use in answers", func(s watcher.Statement) bool { return general(s) && s.Value == "ai-input=no" }},
		{"licence", "Name a licence", func(s watcher.Statement) bool { return s.Name == "license" }},
	}
}

// said lists what a policy with some statements counts for.
func said(signals []string) []string {
	if len(signals) == 0 {
		return nil
	}
	keys := slices.Clone(signals)
	for _, st := range stances() {
		if slices.ContainsFunc(signals, func(text string) bool {
			s, ok := watcher.ParseStatement(text)
			return ok && st.holds(s)
		}) {
			keys = append(keys, st.key)
		}
	}
	return keys
}

// statementCount is how many sites state one thing.
type statementCount struct {
	watcher.Statement
	Sites int
}

// statements lists what sites state, the most frequent first.
func (t *tally) statements() []statementCount {
	var list []statementCount
	for text, n := range t.Says {
		if s, ok := watcher.ParseStatement(text); ok && n > 0 {
			list = append(list, statementCount{s, n})
		}
	}
	slices.SortFunc(list, func(a, b statementCount) int {
		return cmp.Or(cmp.Compare(b.Sites, a.Sites), cmp.Compare(a.String(), b.String()))
	})
	return list
}

// signalName is how the line is written that a signal stands in.
func signalName(name string) string {
	switch name {
	case "content-signal":
		return "Content-Signal"
	case "content-usage":
		return "Content-Usage"
	case "license":
		return "License"
	case "disallowaitraining":
		return "DisallowAITraining"
	}
	return name
}

// shortSignals are statements as a list of sites shows them, a few words each.
func shortSignals(signals []string) (words []string) {
	for _, text := range signals {
		s, ok := watcher.ParseStatement(text)
		if !ok {
			continue
		}
		w := cmp.Or(s.Value, signalName(s.Name))
		if w == "other" {
			w = signalName(s.Name)
		}
		if s.Scope != "*" {
			w += " for " + s.Scope
		}
		if s.OnPaths {
			w += " on paths"
		}
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}

// scopeText says whom a signal is for.
func scopeText(scope string) string {
	if scope == "*" || scope == "" {
		return "everyone"
	}
	return shown(scope)
}
