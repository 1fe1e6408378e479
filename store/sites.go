package store

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/watcher"
)

// siteColumns is what siteRow.scan reads; of the table called sites.
const siteColumns = `sites.id, sites.origin, sites.tags_id, sites.agents_id, sites.schedule,
	sites.state, sites.reason, sites.state_since, sites.readable, sites.readable_at,
	(SELECT bodies.sha256 FROM bodies WHERE bodies.id = sites.body_id), sites.profile_id, sites.memory,
	sites.last_check_at, sites.last_change_at, sites.next_check_at, sites.active`

// siteRow is a site before its interned parts are looked up, which takes
// queries of its own.
type siteRow struct {
	site                      watcher.Site
	tagsID, agentsID, profile int64
	watchOfProfile            bool
}

// scan reads siteColumns, and more columns behind them.
func (r *siteRow) scan(scan Scan, more ...any) error {
	var stateSince, readableAt, lastCheck, lastChange, nextCheck, active int64
	var state, reason, readable, memory string
	var hash []byte
	s := &r.site
	dest := []any{&s.ID, &s.Origin, &r.tagsID, &r.agentsID, &s.Config.Schedule,
		&state, &reason, &stateSince, &readable, &readableAt,
		&hash, &r.profile, &memory, &lastCheck, &lastChange, &nextCheck, &active}
	if err := scan(append(dest, more...)...); err != nil {
		return err
	}
	s.Config.Origin, s.Left = s.Origin, active == 0
	s.State, s.Reason, s.Readable = fetch.State(state), fetch.Reason(reason), fetch.State(readable)
	s.StateSince, s.ReadableAt = fromMillis(stateSince), fromMillis(readableAt)
	s.LastCheckAt, s.LastChangeAt, s.NextCheckAt = fromMillis(lastCheck), fromMillis(lastChange), fromMillis(nextCheck)
	copy(s.Body[:], hash)
	var err error
	r.watchOfProfile, err = unpackMemory(memory, s)
	return err
}

// complete looks up the interned parts of a site. They are shared: read only.
func (s *Store) complete(ctx context.Context, q Queryer, r *siteRow) (err error) {
	if r.site.Config.Tags, err = s.sets.get(ctx, q, r.tagsID); err != nil {
		return err
	}
	if r.site.Config.Agents, err = s.sets.get(ctx, q, r.agentsID); err != nil {
		return err
	}
	p, err := s.profiles.get(ctx, q, r.profile)
	r.site.Profile, r.site.Signals = p.access, p.signals
	if r.watchOfProfile {
		r.site.Memory.Watch = p.watch
	}
	return err
}

// querySites runs a query whose columns are siteColumns.
func (s *Store) querySites(ctx context.Context, q Queryer, query string, args ...any) ([]watcher.Site, error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var got []siteRow
	if err := each(rows, func(scan Scan) error {
		var r siteRow
		if err := r.scan(scan); err != nil {
			return err
		}
		got = append(got, r)
		return nil
	}); err != nil {
		return nil, err
	}
	sites := make([]watcher.Site, len(got))
	for i := range got {
		if err := s.complete(ctx, q, &got[i]); err != nil {
			return nil, err
		}
		sites[i] = got[i].site
	}
	return sites, nil
}

// SiteByOrigin gives one site, also one that left the configuration;
// watcher.ErrNotFound for one that was never watched.
func (s *Store) SiteByOrigin(ctx context.Context, origin string) (watcher.Site, error) {
	sites, err := s.querySites(ctx, s, "SELECT "+siteColumns+" FROM sites WHERE origin = $1", origin)
	if err != nil {
		return watcher.Site{}, fmt.Errorf("site %s: %w", origin, err)
	}
	if len(sites) == 0 {
		return watcher.Site{}, fmt.Errorf("site %s: %w", origin, watcher.ErrNotFound)
	}
	return sites[0], nil
}

// pageSize is how many rows one read takes while a list is walked.
const pageSize = 500

// WalkSites walks the active sites that a filter selects, in order of origin,
// reading a page at a time: it may take as long as the caller likes. After an
// error it ends.
func (s *Store) WalkSites(ctx context.Context, f watcher.SiteFilter) iter.Seq2[watcher.Site, error] {
	return func(yield func(watcher.Site, error) bool) {
		left := f.Limit
		for {
			size := pageSize
			if left > 0 && f.Agent == "" && f.Signal == "" && !f.Unstable {
				size = min(size, left)
			}
			page, next, err := s.sitesPage(ctx, f, size)
			if err != nil {
				yield(watcher.Site{}, fmt.Errorf("sites: %w", err))
				return
			}
			for _, site := range page {
				if !s.selects(f, &site) {
					continue
				}
				if !yield(site, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
			if next == "" {
				return
			}
			f.After = next
		}
	}
}

// sitesPage reads the next page in order of origin, narrowed by what the
// database can see; next is "" at the end.
func (s *Store) sitesPage(ctx context.Context, f watcher.SiteFilter, size int) (page []watcher.Site, next string, err error) {
	c := rest(f)
	if f.Origin != "" {
		c.add("sites.origin = %s", f.Origin)
	}
	if f.State != "" {
		c.add("(sites.state || '') = %s", string(f.State)) // no index of it: the order is that of origins
	}
	if f.Tag != "" {
		c.add("sites.tags_id IN (SELECT id FROM sets WHERE {{find}}(members, %s) > 0)", joinSet([]string{f.Tag}))
	}
	page, err = s.querySites(ctx, s, "SELECT "+siteColumns+" FROM sites WHERE "+c.sql()+
		fmt.Sprintf(" ORDER BY sites.origin LIMIT %d", size), c.args...)
	if len(page) == size {
		next = page[len(page)-1].Origin
	}
	return page, next, err
}

// EachSite calls fn for each active site as metrics show it.
func (s *Store) EachSite(ctx context.Context, fn func(notify.SiteSeries) error) error {
	for site, err := range s.WalkSites(ctx, watcher.SiteFilter{}) {
		if err != nil {
			return err
		}
		if err := fn(notify.SiteSeries{Origin: site.Origin, State: site.State, LastCheckAt: site.LastCheckAt,
			LastChangeAt: site.LastChangeAt, Access: s.opts.Effective(site)}); err != nil {
			return err
		}
	}
	return nil
}

// selects judges what only the meaning of a site tells.
func (s *Store) selects(f watcher.SiteFilter, site *watcher.Site) bool {
	if f.Unstable && !site.Unstable() {
		return false
	}
	if f.Signal != "" && !slices.Contains(site.Signals, f.Signal) {
		return false
	}
	if f.Agent == "" {
		return true
	}
	for _, a := range s.opts.Effective(*site) {
		if strings.EqualFold(a.Agent, f.Agent) {
			return matches(f, a.Access)
		}
	}
	return false
}
