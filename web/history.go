package web

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/robotswatch/robotswatch/agents"
)

const (
	// liveFor is how long the numbers of now are shown before they are asked
	// for again.
	liveFor = 5 * time.Second
	// keptTags bounds for how many tags numbers are remembered.
	keptTags = 32
)

// dayTally is how sites stood at the end of a day.
type dayTally struct {
	Day time.Time // its first instant, UTC
	*tally
}

// numbers remembers what takes a while to count: the present for a moment,
// past days until midnight. Who asks while it counts waits for that.
type numbers struct {
	mu   sync.Mutex
	tags map[string]*tagNumbers
	like likenesses
}

type tagNumbers struct {
	mu      sync.Mutex
	live    *tally
	liveAt  time.Time
	days    []dayTally
	daysFor time.Time // the day whose past they are
	past    map[string]time.Time
}

// of gives the numbers of a tag, "" for all sites.
func (n *numbers) of(tag string) *tagNumbers {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tags == nil || len(n.tags) >= keptTags && n.tags[tag] == nil {
		n.tags = map[string]*tagNumbers{}
	}
	if n.tags[tag] == nil {
		n.tags[tag] = &tagNumbers{}
	}
	return n.tags[tag]
}

// now is how the sites with a tag stand, at most liveFor ago.
func (s *Server) tallyNow(ctx context.Context, tag string) (*tally, error) {
	t := s.numbers.of(tag)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := s.deps.Now()
	if t.live != nil && now.Sub(t.liveAt) < liveFor {
		return t.live, nil
	}
	k := s.counter()
	standings, err := s.deps.Store.Standings(ctx, tag)
	if err != nil {
		return nil, err
	}
	live := newTally()
	for _, st := range standings {
		if err := k.add(live, st, st.Sites); err != nil {
			return nil, err
		}
	}
	t.live, t.liveAt = live, now
	return live, nil
}

// pastDays is how the sites with a tag stood at the end of each day before
// today. The result is shared: read only.
func (s *Server) pastDays(ctx context.Context, tag string) ([]dayTally, error) {
	t := s.numbers.of(tag)
	t.mu.Lock()
	defer t.mu.Unlock()
	today := dayOf(s.deps.Now())
	past, err := s.deps.Store.AgentsPast(ctx)
	if err != nil {
		return nil, err
	}
	if t.daysFor.Equal(today) && maps.Equal(past, t.past) {
		return t.days, nil
	}
	k := s.counter()
	// Yesterday may have gone on when it was counted last: days before it stand.
	var days []dayTally
	running := newTally()
	var at time.Time
	if n := len(t.days) - 1; n > 0 && t.daysFor.Before(today) && maps.Equal(past, t.past) && allBefore(past, t.days[n-1].Day) {
		days, running, at = t.days[:n:n], t.days[n-1].tally.clone(), t.days[n].Day
	}
	since := at
	upTo := func(day time.Time) {
		for !at.IsZero() && at.Before(day) {
			days = append(days, dayTally{at, running.clone()})
			at = at.AddDate(0, 0, 1)
		}
		at = day
	}
	for move, err := range s.deps.Store.StandingMoves(ctx, tag, since) {
		if err != nil {
			return nil, err
		}
		if !move.Day.Before(today) {
			break
		}
		if move.Day.After(at) {
			upTo(move.Day)
		}
		if err := k.add(running, move.Standing, move.Sites); err != nil {
			return nil, err
		}
	}
	upTo(today)
	if since.IsZero() { // else no day is new that the past of agents is about
		if err := s.addPast(ctx, tag, days, past); err != nil {
			return nil, err
		}
	}
	t.days, t.daysFor, t.past = days, today, past
	return days, nil
}

func allBefore(times map[string]time.Time, day time.Time) bool {
	for _, t := range times {
		if !t.Before(day) {
			return false
		}
	}
	return true
}

// addPast puts in how sites stood to agents before these were watched; until
// says for which days that is known.
func (s *Server) addPast(ctx context.Context, tag string, days []dayTally, until map[string]time.Time) error {
	if len(until) == 0 {
		return nil
	}
	running := newTally()
	put := func(d dayTally) {
		for agent, last := range until {
			if !d.Day.After(last) {
				c := *running.of(agent)
				d.Agents[agent] = &c
			}
		}
	}
	for move, err := range s.deps.Store.AgentMoves(ctx, tag) {
		if err != nil {
			return err
		}
		for len(days) > 0 && days[0].Day.Before(move.Day) {
			put(days[0])
			days = days[1:]
		}
		running.count(move.Agent, move.Access, move.Sites)
	}
	for _, d := range days {
		put(d)
	}
	return nil
}

// allDays is the past with today, as it stands, at the end.
func (s *Server) allDays(ctx context.Context, tag string) ([]dayTally, error) {
	live, err := s.tallyNow(ctx, tag)
	if err != nil {
		return nil, err
	}
	past, err := s.pastDays(ctx, tag)
	if err != nil {
		return nil, err
	}
	return append(past[:len(past):len(past)], dayTally{dayOf(s.deps.Now()), live}), nil
}

// daysAgo is the tally of a day that long before today, nil when nobody
// looked then.
func daysAgo(days []dayTally, n int) *tally {
	if i := len(days) - 1 - n; i >= 0 {
		return days[i].tally
	}
	return nil
}

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// counter counts by the settings that are in force now.
func (s *Server) counter() *counter {
	k := &counter{now: s.deps.Now(), effective: s.effective, groups: map[string][]string{}, known: &s.numbers.like}
	for _, a := range s.deps.Judge.Settings().Catalogue.Agents {
		k.groups[lower(a.Token)] = a.Groups
	}
	return k
}

// groupName words a group of the catalogue.
func groupName(group string) string {
	switch group {
	case agents.GroupAI:
		return "any AI crawler"
	case agents.GroupTraining:
		return "training"
	case agents.GroupSearch:
		return "AI search"
	case agents.GroupAssistant:
		return "assistants"
	case agents.GroupAll:
		return "any crawler"
	}
	return group
}
