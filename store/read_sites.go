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

// walkChunk is how many sites one read takes while a page is looked for in
// order of origin.
const walkChunk = 2000

// effort bounds the work for one page of sites, or of changes.
type effort struct {
	// gather is how many sites are picked by an index and sorted rather than
	// looked for in order of origin.
	gather int
	// look is how many sites are looked at, to walkChunk. What was found by
	// then is the page, and the looking goes on where it ended.
	look int
	// hits is the same for names that contain a text: each costs a lookup.
	hits int
	// changes is how many changes are looked at, where many meet each of the
	// conditions.
	changes int
}

func usualEffort() effort {
	return effort{gather: 5000, look: 20_000, hits: 10_000, changes: 20_000}
}

// Sites gives the active sites that a filter selects, in order of origin; all
// of them, or the first f.Limit, however long that takes.
func (s *Store) Sites(ctx context.Context, f watcher.SiteFilter) (sites []watcher.Site, err error) {
	if f.Limit <= 0 {
		for site, err := range s.WalkSites(ctx, f) {
			if err != nil {
				return nil, err
			}
			sites = append(sites, site)
		}
		return sites, nil
	}
	for {
		page, err := s.SitePage(ctx, f)
		if err != nil {
			return nil, err
		}
		sites = append(sites, page.Sites...)
		if f.Limit -= len(page.Sites); f.Limit <= 0 || page.Next == "" {
			return sites, nil
		}
		f.After = page.Next
	}
}

// SitePage gives one page of the active sites that a filter selects, in order
// of origin: up to f.Limit, which must be positive. It takes bounded work: a
// page may be short, or empty, and not the last.
//
// What a site has in common with others (state, access, tags) is looked up
// among the standings, which are few. They also tell how many sites match, and
// so whether the page is found sooner by walking along the origins or by
// picking the few that match.
func (s *Store) SitePage(ctx context.Context, f watcher.SiteFilter) (page watcher.SitePage, err error) {
	var origins []string
	if f.Origin != "" {
		page.Sites, err = s.Sites(ctx, watcher.SiteFilter{Origin: f.Origin, Tag: f.Tag, State: f.State, Agent: f.Agent, Access: f.Access, Source: f.Source})
	} else if origins, page.Next, err = s.find(ctx, f); err == nil {
		page.Sites, err = s.sitesNamed(ctx, origins)
	}
	if err != nil {
		return watcher.SitePage{}, fmt.Errorf("sites: %w", err)
	}
	return page, nil
}

// find gives the origins of a page, and after which one the next begins.
func (s *Store) find(ctx context.Context, f watcher.SiteFilter) (origins []string, next string, err error) {
	sel, err := s.selection(ctx, f)
	if err != nil || len(sel.keys) == 0 {
		return nil, "", err
	}
	if f.Search != "" {
		return s.findNamed(ctx, f, sel)
	}
	if !f.CheckedBefore.IsZero() {
		return s.findLate(ctx, f, sel)
	}
	if sel.placed <= s.effort.gather && (f.Limit+1)*sel.all > sel.placed*sel.sites {
		origins, err = s.gather(ctx, f, sel)
	} else {
		origins, next, err = s.walk(ctx, f, sel, s.effort.look)
	}
	return cut(f, origins, next, err)
}

// findLate is find for CheckedBefore. Either nearly all sites are late, and
// the next ones will do, or few are.
func (s *Store) findLate(ctx context.Context, f watcher.SiteFilter, sel selection) (origins []string, next string, err error) {
	origins, next, err = s.walk(ctx, f, sel, 1)
	if err != nil || next == "" || len(origins) > f.Limit {
		return cut(f, origins, next, err)
	}
	late, few, err := s.late(ctx, f, sel)
	if err != nil || few {
		return cut(f, late, "", err)
	}
	origins, next, err = s.walk(ctx, f, sel, s.effort.look)
	return cut(f, origins, next, err)
}

// findNamed is find for a part of the name.
func (s *Store) findNamed(ctx context.Context, f watcher.SiteFilter, sel selection) (origins []string, next string, err error) {
	text, err := s.names.load(ctx, s)
	if err != nil {
		return nil, "", err
	}
	hits := namesWith(text, strings.ToLower(f.Search), f.After, s.effort.hits+1)
	if sel.placed <= s.effort.gather && sel.placed < len(hits) {
		origins, err = s.gather(ctx, f, sel)
		return cut(f, origins, "", err)
	}
	if len(hits) > s.effort.hits {
		hits = hits[:s.effort.hits]
		next = hits[s.effort.hits-1]
	}
	for part := range slices.Chunk(hits, namesAtOnce) {
		c := rest(f)
		c.in("sites.origin", part)
		list, err := s.queryStands(ctx, c, "")
		if err != nil {
			return nil, "", err
		}
		found := sel.of(list)
		slices.Sort(found)
		if origins = append(origins, found...); len(origins) > f.Limit {
			break
		}
	}
	return cut(f, origins, next, nil)
}

// cut makes a page out of what was found, which is one more than fits where
// there is a next page; otherwise the looking goes on at next.
func cut(f watcher.SiteFilter, origins []string, next string, err error) ([]string, string, error) {
	if len(origins) > f.Limit {
		origins = origins[:f.Limit]
		next = origins[f.Limit-1]
	}
	return origins, next, err
}

// selection is the standings that a filter selects.
type selection struct {
	keys   map[standing]bool
	sites  int // that stand so
	placed int // at the places of those
	all    int // active ones
}

// of gives the origins of those that are selected.
func (sel selection) of(list []stands) (origins []string) {
	for _, r := range list {
		if r.fits && sel.keys[r.standing] {
			origins = append(origins, r.origin)
		}
	}
	return origins
}

// places are where the selected sites stand.
func (sel selection) places() []place {
	set := map[place]bool{}
	for k := range sel.keys {
		set[k.place()] = true
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
		if f.State != "" && k.state != f.State || f.Unstable && k.phase&unstable == 0 {
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
	at := map[place]bool{}
	for k := range sel.keys {
		at[k.place()] = true
	}
	for k, n := range counts {
		if at[k.place()] {
			sel.placed += n
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

// holds reports whether the access and the statement that a filter asks for
// hold on sites of a standing.
func (s *Store) holds(ctx context.Context, f watcher.SiteFilter, k standing) (bool, error) {
	if f.Agent == "" && f.Signal == "" {
		return true, nil
	}
	profile, err := s.profiles.get(ctx, s, k.profile)
	if err != nil || f.Signal != "" && !slices.Contains(profile.signals, f.Signal) {
		return false, err
	}
	if f.Agent == "" {
		return true, nil
	}
	st := watcher.Standing{State: k.state, Tentative: k.phase.of() == tentative, Aged: k.phase.of() == aged}
	if st.Agents, err = s.sets.get(ctx, s, k.agents); err != nil {
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
	c.checkedBefore(f)
	return c
}

func (c *where) checkedBefore(f watcher.SiteFilter) {
	if f.CheckedBefore.IsZero() {
		return
	}
	since := toMillis(f.CheckedBefore)
	c.add("sites.next_check_at < %s", toMillis(f.CheckedBefore.Add(watcher.MaxGap)))
	c.add("sites.last_check_at < %s", since)
	c.add("(sites.last_check_at > 0 OR sites.state_since < %s)", since)
}

// stands is a site with what it is counted by.
type stands struct {
	origin string
	standing
	fits bool // what else was asked
}

const standsColumns = "sites.origin, " + standingColumns

func (s *Store) queryStands(ctx context.Context, c *where, order string) (list []stands, err error) {
	return s.scanStands(ctx, "SELECT "+standsColumns+", 1 FROM sites WHERE "+c.sql()+order, c.args...)
}

func (s *Store) scanStands(ctx context.Context, query string, args ...any) (list []stands, err error) {
	rows, err := s.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(scan Scan) error {
		var r stands
		err := scan(&r.origin, &r.state, &r.phase, &r.profile, &r.agents, &r.tags, &r.fits)
		list = append(list, r)
		return err
	})
	return list, err
}

// walk looks along the origins, at all that come, until it has one more than
// the page takes or has looked at enough: the limit, to walkChunk.
func (s *Store) walk(ctx context.Context, f watcher.SiteFilter, sel selection, limit int) (origins []string, next string, err error) {
	fits := conditionsOf("sites.active = 1")
	fits.checkedBefore(f)
	after := fits.arg(f.After)
	chunk := walkChunk
	if sel.sites == sel.all && f.CheckedBefore.IsZero() {
		chunk = min(walkChunk, f.Limit+1) // the next ones will do
	}
	query := "SELECT " + standsColumns + ", CASE WHEN " + fits.sql() + " THEN 1 ELSE 0 END FROM sites WHERE sites.origin > " + after +
		fmt.Sprintf(" ORDER BY sites.origin LIMIT %d", chunk)
	for looked := 0; looked < limit; looked += chunk {
		list, err := s.scanStands(ctx, query, fits.args...)
		if err != nil {
			return nil, "", err
		}
		if origins = append(origins, sel.of(list)...); len(origins) > f.Limit || len(list) < chunk {
			return origins, "", nil
		}
		next = list[len(list)-1].origin
		fits.args[len(fits.args)-1] = next
	}
	return origins, next, nil
}

// late picks the sites that a filter selects by CheckedBefore, unless they are
// many: it goes by the times that are due, not by origins.
func (s *Store) late(ctx context.Context, f watcher.SiteFilter, sel selection) (origins []string, few bool, err error) {
	list, err := s.queryStands(ctx, rest(f), fmt.Sprintf(" ORDER BY next_check_at LIMIT %d", s.effort.gather))
	origins = sel.of(list)
	slices.Sort(origins)
	return origins, len(list) < s.effort.gather, err
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
		origins = append(origins, sel.of(list)...)
	}
	slices.Sort(origins)
	return origins, nil
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
