package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

const (
	// walkChunk is how many sites one read takes while a page is looked for
	// in order of origin.
	walkChunk = 2000
	// gatherLimit is how many sites are picked by index and sorted rather than
	// looked for in order of origin.
	gatherLimit = 20_000
)

// Sites gives one page of the active sites that a filter selects, in order of
// origin.
//
// What a site has in common with others (state, access, tags) is looked up
// among the standings, which are few. They also tell how many sites match, and
// so whether the page is found sooner by walking along the origins or by
// picking the few that match.
func (s *Store) Sites(ctx context.Context, f watcher.SiteFilter) (page []watcher.Site, err error) {
	if f.Limit <= 0 || f.Origin != "" || f.Tag == "" && f.State == "" && f.Agent == "" {
		return s.allSites(ctx, f)
	}
	sel, err := s.selection(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("sites: %w", err)
	}
	var origins []string
	walk := f.Limit * sel.all / max(sel.sites, 1)
	if f.Tag == "" {
		sel.tagged = sel.all
	}
	switch {
	case sel.sites == 0:
		return nil, nil
	case walk <= min(sel.tagged, sel.alike) || min(sel.tagged, sel.alike) > gatherLimit:
		origins, err = s.walk(ctx, f, sel)
	case sel.tagged <= sel.alike:
		origins, err = s.gather(ctx, f, sel, byTags, sel.tagSets())
	default:
		origins, err = s.gather(ctx, f, sel, byProfile, sel.profiles())
	}
	if err == nil {
		page, err = s.sitesNamed(ctx, origins)
	}
	if err != nil {
		return nil, fmt.Errorf("sites: %w", err)
	}
	return page, nil
}

func (s *Store) allSites(ctx context.Context, f watcher.SiteFilter) ([]watcher.Site, error) {
	var page []watcher.Site
	for site, err := range s.WalkSites(ctx, f) {
		if err != nil {
			return nil, err
		}
		page = append(page, site)
	}
	return page, nil
}

// selection is the standings that a filter selects.
type selection struct {
	keys   map[standing]bool
	sites  int // that stand so
	tagged int // with one of their lists of tags, however they stand
	alike  int // with one of their states and profiles, whatever their tags
	all    int // active ones
}

func (sel selection) tagSets() []int64 {
	return distinct(sel.keys, func(k standing) int64 { return k.tags })
}

func (sel selection) profiles() []int64 {
	return distinct(sel.keys, func(k standing) int64 { return k.profile })
}

func distinct(keys map[standing]bool, of func(standing) int64) []int64 {
	set := map[int64]bool{}
	for k := range keys {
		set[of(k)] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// selection finds the standings that match state, tag and access.
func (s *Store) selection(ctx context.Context, f watcher.SiteFilter) (sel selection, err error) {
	sel.keys = map[standing]bool{}
	counts, err := s.standingCounts(ctx)
	if err != nil {
		return sel, err
	}
	tags, profiles := map[int64]bool{}, map[int64]bool{}
	verdicts := map[standing]bool{} // access does not depend on tags
	for k, n := range counts {
		sel.all += n
		if f.State != "" && k.state != f.State {
			continue
		}
		if f.Tag != "" {
			list, err := s.sets.get(ctx, s, k.tags)
			if err != nil {
				return sel, err
			}
			if !slices.Contains(list, f.Tag) {
				continue
			}
		}
		like := k
		like.tags = 0
		holds, known := verdicts[like]
		if !known {
			if holds, err = s.holds(ctx, f, like); err != nil {
				return sel, err
			}
			verdicts[like] = holds
		}
		if holds {
			sel.keys[k] = true
			sel.sites += n
			tags[k.tags], profiles[k.profile] = true, true
		}
	}
	for k, n := range counts {
		if tags[k.tags] {
			sel.tagged += n
		}
		if profiles[k.profile] {
			sel.alike += n
		}
	}
	return sel, nil
}

func (s *Store) standingCounts(ctx context.Context) (map[standing]int, error) {
	rows, err := s.Query(ctx, "SELECT sites, "+standingColumns+" FROM standings WHERE sites > 0")
	if err != nil {
		return nil, err
	}
	counts := map[standing]int{}
	err = each(rows, func(scan Scan) error {
		var k standing
		var n int
		err := scan(&n, &k.state, &k.phase, &k.profile, &k.agents, &k.tags)
		counts[k] = n
		return err
	})
	return counts, err
}

// holds reports whether the access that a filter asks for holds on sites of a
// standing.
func (s *Store) holds(ctx context.Context, f watcher.SiteFilter, k standing) (bool, error) {
	if f.Agent == "" {
		return true, nil
	}
	st := watcher.Standing{State: k.state, Tentative: k.phase == tentative, Aged: k.phase == aged}
	var err error
	if st.Agents, err = s.sets.get(ctx, s, k.agents); err != nil {
		return false, err
	}
	profile, err := s.profiles.get(ctx, s, k.profile)
	if err != nil {
		return false, err
	}
	if access := profile.access; len(access) > 0 {
		// A profile has every agent that is watched: one entry will do.
		i := slices.IndexFunc(access, func(a watcher.AgentAccess) bool { return strings.EqualFold(a.Agent, f.Agent) })
		if i < 0 {
			return false, nil
		}
		st.Profile, st.Agents = access[i:i+1], []string{access[i].Agent}
	}
	for _, a := range s.opts.Effective(st.Site(time.Now())) {
		if strings.EqualFold(a.Agent, f.Agent) {
			return matches(f, a.Access), nil
		}
	}
	return false, nil
}

func matches(f watcher.SiteFilter, a diff.Access) bool {
	return (f.Access == "" || f.Access == a.Level) && (f.Source == "" || f.Source == a.Source)
}

// rest is what a filter asks beyond standings, as SQL. $1 is the origin that
// the page comes after.
func rest(f watcher.SiteFilter) (where string, args []any) {
	where, args = "active = 1 AND origin > $1", []any{f.After}
	arg := func(condition string, v any) {
		args = append(args, v)
		where += fmt.Sprintf(" AND "+condition, len(args))
	}
	if f.Search != "" {
		arg("{{find}}(origin, $%d) > 0", strings.ToLower(f.Search))
	}
	if !f.CheckedBefore.IsZero() {
		since := toMillis(f.CheckedBefore)
		arg("next_check_at < $%d", toMillis(f.CheckedBefore.Add(watcher.MaxGap)))
		arg("last_check_at < $%d", since)
		arg("(last_check_at > 0 OR state_since < $%d)", since)
	}
	return where, args
}

// stands is a site with what it is counted by.
type stands struct {
	origin string
	standing
}

func (s *Store) queryStands(ctx context.Context, where string, args ...any) (list []stands, err error) {
	rows, err := s.Query(ctx, "SELECT origin, "+standingColumns+" FROM sites WHERE "+where, args...)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(scan Scan) error {
		var r stands
		err := scan(&r.origin, &r.state, &r.phase, &r.profile, &r.agents, &r.tags)
		list = append(list, r)
		return err
	})
	return list, err
}

// walk looks along the origins until the page is full.
func (s *Store) walk(ctx context.Context, f watcher.SiteFilter, sel selection) (origins []string, err error) {
	for {
		where, args := rest(f)
		chunk, err := s.queryStands(ctx, where+fmt.Sprintf(" ORDER BY origin LIMIT %d", walkChunk), args...)
		if err != nil {
			return nil, err
		}
		for _, r := range chunk {
			if sel.keys[r.standing] {
				if origins = append(origins, r.origin); len(origins) == f.Limit {
					return origins, nil
				}
			}
		}
		if len(chunk) < walkChunk {
			return origins, nil
		}
		f.After = chunk[len(chunk)-1].origin
	}
}

// keysAtOnce is how many keys one query names.
const keysAtOnce = 400

// What gather looks up; the first is worded as the index of tags is.
const (
	byTags    = "tags_id <> 0 AND tags_id"
	byProfile = "profile_id"
)

// gather picks the sites with certain keys and sorts them.
func (s *Store) gather(ctx context.Context, f watcher.SiteFilter, sel selection, column string, keys []int64) (origins []string, err error) {
	states := map[fetch.State]bool{}
	for k := range sel.keys {
		states[k.state] = true
	}
	for part := range slices.Chunk(keys, keysAtOnce) {
		for state := range states {
			where, args := rest(f)
			marks := make([]string, len(part))
			for i, k := range part {
				args = append(args, k)
				marks[i] = fmt.Sprintf("$%d", len(args))
			}
			args = append(args, string(state))
			list, err := s.queryStands(ctx, where+fmt.Sprintf(" AND %s IN (%s) AND state = $%d", column, strings.Join(marks, ", "), len(args)), args...)
			if err != nil {
				return nil, err
			}
			for _, r := range list {
				if sel.keys[r.standing] {
					origins = append(origins, r.origin)
				}
			}
		}
	}
	slices.Sort(origins)
	return origins[:min(len(origins), f.Limit)], nil
}

// sitesNamed reads whole sites, in order of origin.
func (s *Store) sitesNamed(ctx context.Context, origins []string) (page []watcher.Site, err error) {
	for part := range slices.Chunk(origins, keysAtOnce) {
		marks, args := make([]string, len(part)), make([]any, len(part))
		for i, o := range part {
			marks[i], args[i] = fmt.Sprintf("$%d", i+1), o
		}
		sites, err := s.querySites(ctx, s, "SELECT "+siteColumns+" FROM sites WHERE origin IN ("+strings.Join(marks, ", ")+")", args...)
		if err != nil {
			return nil, err
		}
		page = append(page, sites...)
	}
	slices.SortFunc(page, func(a, b watcher.Site) int { return cmp.Compare(a.Origin, b.Origin) })
	return page, nil
}
