package web

import (
	"strings"
	"sync"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// levels and sources give counts their order; the last of each is "unknown".
func levels() [5]diff.Level {
	return [5]diff.Level{diff.Allowed, diff.Partial, diff.Restricted, diff.Blocked, diff.Unknown}
}

const (
	iAllowed = iota
	iPartial
	iRestricted
	iBlocked
	iUnknown
)

func levelIndex(l diff.Level) int {
	switch l {
	case diff.Allowed:
		return iAllowed
	case diff.Partial:
		return iPartial
	case diff.Restricted:
		return iRestricted
	case diff.Blocked:
		return iBlocked
	}
	return iUnknown
}

const (
	iNamed = iota
	iInherited
	iStatus
)

// sourceIndex splits by who decided: a group that names the agent, what it
// inherits (the * group, or that no group applies), the HTTP answer.
func sourceIndex(s robots.Source) int {
	switch s {
	case robots.SourceNamed:
		return iNamed
	case robots.SourceWildcard, robots.SourceDefault:
		return iInherited
	}
	return iStatus
}

// counts are numbers of sites by access and who decided.
type counts [5][3]int

func (c *counts) level(i int) int { return c[i][iNamed] + c[i][iInherited] + c[i][iStatus] }

func (c *counts) total() (n int) {
	for i := range c {
		n += c.level(i)
	}
	return n
}

// tally is how all sites, or those with a tag, stand at one moment.
type tally struct {
	Sites  int
	States map[fetch.State]int
	Agents map[string]*counts // by lower-case token, or by group: "@ai"
	Swings int                // unstable sites
	Says   map[string]int     // by what a policy states about use, and by stances
}

// answered is how many sites gave an answer of any kind, withFile how many of
// those a robots.txt.
func (t *tally) answered() int {
	return t.Sites - t.States[fetch.Pending] - t.States[fetch.Unreachable]
}

func (t *tally) withFile() int { return t.States[fetch.Policy] }

// of gives the counts of an agent or group, zero ones for one that nobody
// watches.
func (t *tally) of(agent string) *counts {
	if c := t.Agents[lower(agent)]; c != nil {
		return c
	}
	return new(counts)
}

// counter turns numbers of alike sites into tallies.
type counter struct {
	now       time.Time
	effective func(watcher.Site) ([]watcher.AgentAccess, error)
	groups    map[string][]string // lower-case token to the groups it is in
	known     *likenesses
}

// knownLikes bounds how many likenesses are remembered.
const knownLikes = 50_000

// likenesses remembers what standings count for, over all counting: what is
// the same has been judged before.
type likenesses struct {
	mu sync.Mutex
	by map[likeness]counted
}

// counted is what one site adds to a tally.
type counted struct {
	access []keyed
	says   []string
}

func (l *likenesses) get(k likeness) (counted, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.by[k]
	return c, ok
}

func (l *likenesses) put(k likeness, c counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil || len(l.by) >= knownLikes {
		l.by = map[likeness]counted{}
	}
	l.by[k] = c
}

// likeness is what standings differ by; equal ones have equal access.
type likeness struct {
	state     fetch.State
	tentative bool
	aged      bool
	profile   *watcher.AgentAccess
	agents    *string
	signals   *string
}

// keyed is the access that a site adds to one key of a tally.
type keyed struct {
	key string
	diff.Access
}

func likenessOf(st watcher.Standing) likeness {
	l := likeness{state: st.State, tentative: st.Tentative, aged: st.Aged}
	if len(st.Profile) > 0 {
		l.profile = &st.Profile[0]
	}
	if len(st.Agents) > 0 {
		l.agents = &st.Agents[0]
	}
	if len(st.Signals) > 0 {
		l.signals = &st.Signals[0]
	}
	return l
}

// add counts n more sites (or fewer) that stand alike.
func (k *counter) add(t *tally, st watcher.Standing, n int) error {
	like := likenessOf(st)
	parts, ok := k.known.get(like)
	if !ok {
		access, err := k.effective(st.Site(k.now))
		if err != nil {
			return err
		}
		parts = counted{k.parts(access), said(st.Signals)}
		k.known.put(like, parts)
	}
	t.Sites += n
	t.States[st.State] += n
	if st.Unstable {
		t.Swings += n
	}
	for _, p := range parts.access {
		t.count(p.key, p.Access, n)
	}
	for _, s := range parts.says {
		t.Says[s] += n
	}
	return nil
}

// parts are the agents and the groups a site counts for. A group counts each
// site once, by the strictest access among its watched agents.
func (k *counter) parts(access []watcher.AgentAccess) []keyed {
	var out []keyed
	strictest := map[string]diff.Access{}
	for _, a := range access {
		token := lower(a.Agent)
		out = append(out, keyed{token, a.Access})
		for _, g := range k.groups[token] {
			if s, ok := strictest[g]; !ok || stricter(a.Access, s) {
				strictest[g] = a.Access
			}
		}
	}
	for g, a := range strictest {
		out = append(out, keyed{g, a})
	}
	return out
}

func (t *tally) count(key string, a diff.Access, n int) {
	c := t.Agents[key]
	if c == nil {
		c = new(counts)
		t.Agents[key] = c
	}
	c[levelIndex(a.Level)][sourceIndex(a.Source)] += n
}

// stricter orders access: unknown counts least, and of two equal levels the
// one by name is the stronger statement.
func stricter(a, b diff.Access) bool {
	if a.Level != b.Level {
		return strictness(a.Level) > strictness(b.Level)
	}
	return sourceIndex(a.Source) < sourceIndex(b.Source)
}

func strictness(l diff.Level) int { return (levelIndex(l) + 1) % 5 }

func newTally() *tally {
	return &tally{States: map[fetch.State]int{}, Agents: map[string]*counts{}, Says: map[string]int{}}
}

// clone is a copy that goes its own way.
func (t *tally) clone() *tally {
	c := newTally()
	c.Sites, c.Swings = t.Sites, t.Swings
	for k, v := range t.States {
		c.States[k] = v
	}
	for k, v := range t.Says {
		if v != 0 {
			c.Says[k] = v
		}
	}
	for k, v := range t.Agents {
		n := *v
		c.Agents[k] = &n
	}
	return c
}

func lower(token string) string { return strings.ToLower(token) }
