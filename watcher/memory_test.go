package watcher

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// memStore is a Store in memory, for tests that need a year in a second. The
// real one has the same contract; see pipeline_test.go for tests on it.
type memStore struct {
	mu      sync.Mutex
	sites   map[string]*memSite
	bodies  map[Hash][]byte
	changes []Change
	lost    int
	fail    func(results []Result) error // nil: never
}

type memSite struct {
	site  Site
	token int64
	until time.Time // of the lease
}

func newMemStore(sites ...Site) *memStore {
	m := &memStore{sites: map[string]*memSite{}, bodies: map[Hash][]byte{}}
	for i, s := range sites {
		s.ID = int64(i + 1)
		m.sites[s.Origin] = &memSite{site: s}
	}
	return m
}

func (m *memStore) lease(s *memSite, now time.Time, d time.Duration) Lease {
	s.token++
	s.until = now.Add(d)
	return Lease{Site: s.site, Token: s.token}
}

func (m *memStore) Claim(_ context.Context, now time.Time, n int, lease time.Duration) ([]Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []*memSite
	for _, s := range m.sites {
		far := s.site.NextCheckAt.After(now.Add(MaxGap + time.Hour))
		if !s.until.After(now) && (far || !s.site.NextCheckAt.After(now)) {
			due = append(due, s)
		}
	}
	slices.SortFunc(due, func(a, b *memSite) int {
		return cmp.Or(a.site.NextCheckAt.Compare(b.site.NextCheckAt), cmp.Compare(a.site.ID, b.site.ID))
	})
	var leases []Lease
	for _, s := range due[:min(n, len(due))] {
		leases = append(leases, m.lease(s, now, lease))
	}
	return leases, nil
}

func (m *memStore) ClaimSites(_ context.Context, now time.Time, origins []string, lease time.Duration) ([]Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var leases []Lease
	for _, o := range origins {
		if s := m.sites[o]; s != nil && !s.until.After(now) {
			leases = append(leases, m.lease(s, now, lease))
		}
	}
	return leases, nil
}

func (m *memStore) Record(_ context.Context, results []Result) (lost int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		if err := m.fail(results); err != nil {
			return 0, err
		}
	}
	for _, r := range results {
		s := m.sites[r.Lease.Site.Origin]
		if s.token != r.Lease.Token {
			lost++
			continue
		}
		s.site, s.until = r.Site, time.Time{}
		s.token++
		if r.Body != nil {
			m.bodies[r.Site.Body] = r.Body
		}
		for _, c := range r.Changes {
			m.changes = append(m.changes, c.Change)
		}
	}
	m.lost += lost
	return lost, nil
}

func (m *memStore) Release(_ context.Context, leases []Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range leases {
		if s := m.sites[l.Site.Origin]; s.token == l.Token {
			s.until = time.Time{}
			s.token++
		}
	}
	return nil
}

func (m *memStore) SetBack(_ context.Context, by time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sites {
		s.site.NextCheckAt = s.site.NextCheckAt.Add(-by)
		s.until = s.until.Add(-by)
	}
	return nil
}

func (m *memStore) LastLook(context.Context) (last time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sites {
		if s.site.LastCheckAt.After(last) {
			last = s.site.LastCheckAt
		}
	}
	return last, nil
}

func (m *memStore) Body(_ context.Context, h Hash) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b, ok := m.bodies[h]; ok {
		return b, nil
	}
	return nil, ErrNotFound
}

func (m *memStore) site(origin string) Site {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sites[origin].site
}

// toEverybody routes each change to one receiver.
type toEverybody struct{}

func (toEverybody) Route(c Change) ([]string, string) { return []string{"all"}, c.ID }
