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
	if f.Limit <= 0 || f.Origin != "" || f.Search == "" && f.Tag == "" && f.State == "" && f.Agent == "" && f.CheckedBefore.IsZero() {
		return s.allSites(ctx, f)
	}
	sel, err := s.selection(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("sites: %w", err)
	}
	var origins []string
	late, few, err := s.late(ctx, f, sel)
	if err != nil {
		return nil, fmt.Errorf("sites: %w", err)
	}
	switch walk := f.Limit * sel.all / max(sel.sites, 1); {
	case sel.sites == 0:
		return nil, nil
	case few:
		origins = late
	case walk <= sel.sites || sel.sites > gatherLimit:
		origins, err = s.walk(ctx, f, sel)
	default:
		origins, err = s.gather(ctx, f, sel)
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
	keys  map[standing]bool
	sites int // that stand so
	all   int // active ones
}

// places are where the selected sites stand.
func (sel selection) places() []place {
	set := map[place]bool{}
	for k := range sel.keys {
		set[place{k.state, k.profile, k.tags}] = true
	}
	return slices.Collect(maps.Keys(set))
}

// selection finds the standings that match state, tag and access.
func (s *Store) selection(ctx context.Context, f watcher.SiteFilter) (sel selection, err error) {
	sel.keys = map[standing]bool{}
	counts, err := s.standingCounts(ctx)
	if err != nil {
		return sel, err
	}
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

// rest is what a filter asks beyond standings, of the sites after an origin.
func rest(f watcher.SiteFilter) *where {
	c := conditionsOf("sites.active = 1")
	c.add("sites.origin > %s", f.After)
	if f.Search != "" {
		c.add("{{find}}(sites.origin, %s) > 0", strings.ToLower(f.Search))
	}
	if !f.CheckedBefore.IsZero() {
		since := toMillis(f.CheckedBefore)
		c.add("sites.next_check_at < %s", toMillis(f.CheckedBefore.Add(watcher.MaxGap)))
		c.add("sites.last_check_at < %s", since)
		c.add("(sites.last_check_at > 0 OR sites.state_since < %s)", since)
	}
	return c
}

// stands is a site with what it is counted by.
type stands struct {
	origin string
	standing
}

func (s *Store) queryStands(ctx context.Context, c *where, order string) (list []stands, err error) {
	rows, err := s.Query(ctx, "SELECT origin, "+standingColumns+" FROM sites WHERE "+c.sql()+order, c.args...)
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
		chunk, err := s.queryStands(ctx, rest(f), fmt.Sprintf(" ORDER BY origin LIMIT %d", walkChunk))
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

// late picks the sites that a filter selects by CheckedBefore, unless they are
// many: it goes by the times that are due, not by origins.
func (s *Store) late(ctx context.Context, f watcher.SiteFilter, sel selection) (origins []string, few bool, err error) {
	if f.CheckedBefore.IsZero() {
		return nil, false, nil
	}
	list, err := s.queryStands(ctx, rest(f), fmt.Sprintf(" ORDER BY next_check_at LIMIT %d", gatherLimit))
	for _, r := range list {
		if sel.keys[r.standing] {
			origins = append(origins, r.origin)
		}
	}
	slices.Sort(origins)
	return origins[:min(len(origins), f.Limit)], len(list) < gatherLimit, err
}

const (
	placesAtOnce = 100 // that one condition names
	namesAtOnce  = 400
)

// gather picks the sites where the selected ones stand, and sorts them.
func (s *Store) gather(ctx context.Context, f watcher.SiteFilter, sel selection) (origins []string, err error) {
	for some := range slices.Chunk(sel.places(), placesAtOnce) {
		c := rest(f)
		c.at(some)
		list, err := s.queryStands(ctx, c, "")
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if sel.keys[r.standing] {
				origins = append(origins, r.origin)
			}
		}
	}
	slices.Sort(origins)
	return origins[:min(len(origins), f.Limit)], nil
}

// sitesNamed reads whole sites, in order of origin.
func (s *Store) sitesNamed(ctx context.Context, origins []string) (page []watcher.Site, err error) {
	for part := range slices.Chunk(origins, namesAtOnce) {
		var c where
		c.in("sites.origin", part)
		sites, err := s.querySites(ctx, s, "SELECT "+siteColumns+" FROM sites WHERE "+c.sql(), c.args...)
		if err != nil {
			return nil, err
		}
		page = append(page, sites...)
	}
	slices.SortFunc(page, func(a, b watcher.Site) int { return cmp.Compare(a.Origin, b.Origin) })
	return page, nil
}
