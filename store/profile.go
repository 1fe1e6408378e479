package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// profile is the access of a site's watched agents, with the fingerprint of
// the list that they are (watcher.Memory.Watch), and what its policy states
// about use: all that sites are counted by and that their file decides.
type profile struct {
	watch   string
	access  []watcher.AgentAccess
	signals []string // watcher.Site.Signals
}

// In profiles.data each agent's access is one letter: 'A' plus five times the
// level's place plus the source's. The order is part of the format.
var (
	codeLevels  = []diff.Level{diff.Allowed, diff.Partial, diff.Restricted, diff.Blocked, diff.Unknown}
	codeSources = []robots.Source{robots.SourceNamed, robots.SourceWildcard, robots.SourceDefault, robots.SourceStatus, ""}
	accessCodes = func() map[diff.Access]byte {
		m := make(map[diff.Access]byte)
		for l, level := range codeLevels {
			for s, source := range codeSources {
				m[diff.Access{Level: level, Source: source}] = 'A' + byte(l*len(codeSources)+s)
			}
		}
		return m
	}()
)

// profileID finds or makes the row of a profile; 0 for the empty one. Its
// text is the set of fingerprint and agents, a colon, and a letter for each
// agent, as in "7:PPB"; then a semicolon and the set of signals, where there
// are any: "7:PPB;12".
func (s *Store) profileID(ctx context.Context, tx *Tx, p profile) (int64, error) {
	if len(p.access) == 0 {
		return 0, nil
	}
	list := make([]string, 0, len(p.access)+1)
	codes := make([]byte, 0, len(p.access))
	list = append(list, p.watch)
	for _, a := range p.access {
		code, ok := accessCodes[a.Access]
		if !ok {
			return 0, fmt.Errorf("access %q by %q of %s is not known", a.Level, a.Source, a.Agent)
		}
		list, codes = append(list, a.Agent), append(codes, code)
	}
	set, err := s.setID(ctx, tx, list)
	if err != nil {
		return 0, err
	}
	text := strconv.FormatInt(set, 10) + ":" + string(codes)
	if len(p.signals) > 0 {
		if set, err = s.setID(ctx, tx, p.signals); err != nil {
			return 0, err
		}
		text += ";" + strconv.FormatInt(set, 10)
	}
	return s.profiles.id(ctx, tx, text, p)
}

func newProfiles(sets *interner[[]string]) *interner[profile] {
	parse := func(ctx context.Context, q Queryer, text string) (profile, error) {
		id, codes, _ := strings.Cut(text, ":")
		codes, signals, more := strings.Cut(codes, ";")
		set, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return profile{}, fmt.Errorf("%q: %w", text, ErrCorrupt)
		}
		list, err := sets.get(ctx, q, set)
		if err != nil {
			return profile{}, err
		}
		if len(list) != len(codes)+1 {
			return profile{}, fmt.Errorf("%q: %w: its list has %d agents", text, ErrCorrupt, len(list)-1)
		}
		p := profile{watch: list[0], access: make([]watcher.AgentAccess, len(codes))}
		for i := range p.access {
			k := int(codes[i]) - 'A'
			if k < 0 || k >= len(codeLevels)*len(codeSources) {
				return profile{}, fmt.Errorf("%q: %w", text, ErrCorrupt)
			}
			p.access[i] = watcher.AgentAccess{Agent: list[i+1],
				Access: diff.Access{Level: codeLevels[k/len(codeSources)], Source: codeSources[k%len(codeSources)]}}
		}
		if more {
			if set, err = strconv.ParseInt(signals, 10, 64); err != nil {
				return profile{}, fmt.Errorf("%q: %w", text, ErrCorrupt)
			}
			if p.signals, err = sets.get(ctx, q, set); err != nil {
				return profile{}, err
			}
		}
		return p, nil
	}
	return &interner[profile]{table: "profiles", text: "data", parse: parse}
}
