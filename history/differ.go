package history

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/watcher"
)

// compare notes how a stored change would be told otherwise.
func (t *reteller) compare(ctx context.Context, tr *track, r *Retelling, s, now placed) error {
	stored, is := s.change, now.change
	added, what, kept, err := t.agents(ctx, tr, stored, is)
	if err != nil {
		return err
	}
	if t.only != nil {
		added = slices.DeleteFunc(added, func(a diff.AgentChange) bool { return !t.only[strings.ToLower(a.Agent)] })
		what = nil
	} else if stored.Backfilled || stored.Unstable == "" && is.Unstable == "" && !tr.swinging[s.run] {
		what = append(what, aspects(stored, is)...)
	} else {
		what = nil // which version it is told against depends on looks that are not kept
	}
	if len(what)+len(added) == 0 {
		r.Told++
		return nil
	}
	d := Difference{Stored: stored, What: what}
	if len(added) > 0 {
		d.What = append(d.What, "agents that it does not speak of: "+tokens(added))
	}
	switch {
	case len(what) == 0 && !(stored.Backfilled && t.only == nil):
		d.Now = stored.With(added)
	default:
		is.ID, is.At, is.Tags, is.Expected, is.Link = stored.ID, stored.At, stored.Tags, stored.Expected, stored.Link
		is.Agents = append(is.Agents, kept...)
		if is.Backfilled = stored.Backfilled; !is.Backfilled {
			is.BackfilledAgents = names(added)
		}
		d.Now = is
	}
	r.Different = append(r.Different, d)
	return nil
}

// agents compares what two tellings of one change say of agents: who is added,
// in which respects they differ, and who is kept since nobody would tell
// anything of them today.
func (t *reteller) agents(ctx context.Context, tr *track, stored, is watcher.Change) (added []diff.AgentChange, what []string, kept []diff.AgentChange, err error) {
	if stored.Kind == watcher.KindCosmetic {
		return nil, nil, nil, nil // who inherits what from whom moved nobody's access
	}
	find := func(list []diff.AgentChange, agent string) int {
		return slices.IndexFunc(list, func(a diff.AgentChange) bool { return strings.EqualFold(a.Agent, agent) })
	}
	for _, a := range is.Agents {
		switch i := find(stored.Agents, a.Agent); {
		case i < 0 && a.Agent == diff.Everyone: // who stands for all others depends on who is watched
		case i < 0:
			added = append(added, a)
		case meaning(stored.Agents[i]) != meaning(a):
			what = append(what, a.Agent)
		}
	}
	var named func(string) bool
	for _, a := range stored.Agents {
		if find(is.Agents, a.Agent) >= 0 {
			continue
		}
		if a.Agent == diff.Everyone {
			kept = append(kept, a)
			continue
		}
		if named == nil && !tr.watch.Has(a.Agent) {
			if named, err = t.named(ctx, stored); err != nil {
				return nil, nil, nil, err
			}
		}
		if tr.watch.Has(a.Agent) || named(a.Agent) {
			what = append(what, a.Agent)
		} else {
			kept = append(kept, a)
		}
	}
	return added, what, kept, nil
}

// named tells which agents the files before and after a change name.
func (t *reteller) named(ctx context.Context, c watcher.Change) (func(string) bool, error) {
	var in [2]*diff.Input
	for i, sum := range []string{c.BeforeSHA256, c.AfterSHA256} {
		var text []byte
		if sum != "" {
			raw, err := hex.DecodeString(sum)
			if err != nil || len(raw) != len(watcher.Hash{}) {
				return nil, fmt.Errorf("change %s: %q is no SHA-256", c.ID, sum)
			}
			if text, err = t.bodies.Body(ctx, watcher.Hash(raw)); err != nil {
				return nil, fmt.Errorf("change %s: %w", c.ID, err)
			}
		}
		in[i] = diff.NewInput(text)
	}
	list := diff.Named(in[0], in[1], nil)
	return func(agent string) bool {
		return slices.ContainsFunc(list, func(a diff.Agent) bool { return strings.EqualFold(a.Token, agent) })
	}, nil
}

// meaning is what a change says of an agent. Which path serves as an example
// is a matter of words.
func meaning(a diff.AgentChange) string {
	var b strings.Builder
	fmt.Fprint(&b, a.Direction, a.Before, a.After)
	for _, list := range [][]diff.Entry{a.NewlyDisallowed, a.NewlyAllowed} {
		b.WriteByte('\n')
		for _, e := range list {
			if e.Rule != nil && e.Line != nil {
				fmt.Fprint(&b, *e.Line, *e.Rule)
			}
			b.WriteByte(';')
		}
	}
	return b.String()
}

// aspects names in which other respects two tellings differ.
func aspects(stored, is watcher.Change) (what []string) {
	for _, x := range []struct {
		name      string
		was, then any
	}{
		{"severity", stored.Severity, is.Severity},
		{"cause", stored.Cause, is.Cause},
		{"reason", stored.Reason, is.Reason},
		{"state", stored.State, is.State},
		{"version", stored.BeforeSHA256 + stored.AfterSHA256, is.BeforeSHA256 + is.AfterSHA256},
		{"instability", stored.Unstable, is.Unstable},
		{"signals", stored.Signals, is.Signals},
		{"crawl delays", stored.CrawlDelays, is.CrawlDelays},
		{"sitemaps", stored.Sitemaps, is.Sitemaps},
	} {
		if x.name == "severity" && !stored.Backfilled {
			continue // what was told went by who was watched then
		}
		if text(x.was) != text(x.then) {
			what = append(what, x.name)
		}
	}
	return what
}

// text makes values comparable that come out of a store and that do not.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func names(list []diff.AgentChange) []string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = a.Agent
	}
	return out
}

func tokens(list []diff.AgentChange) string { return strings.Join(names(list), ", ") }
