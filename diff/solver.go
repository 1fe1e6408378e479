package diff

import (
	"slices"
	"strings"

	"github.com/robotswatch/robotswatch/robots"
)

// Limits of one question (one Compare, one AccessOf). They count work and not
// time, so that an answer does not depend on the machine. Beyond them the
// answer comes from candidates and says so.
const (
	// MaxStates is the number of states of the search kept for one question.
	MaxStates = 200_000
	// MaxWork is the number of steps of a pattern, comparisons of two
	// positions or looks at a rule, together.
	MaxWork = 30_000_000
	// maxCells bounds the memory for the states of one search: positions of
	// patterns, eight octets each.
	maxCells = 2_000_000
	// maxLiteral is the longest pattern, in octets, that is searched.
	maxLiteral = 1 << 16
	// reserve is the work that candidates may take once MaxWork is used up.
	reserve = 10_000_000
)

// solver answers: is there a path that matches all of some patterns and none
// of others, and which is a shortest one? One solver serves one question and
// holds its budget. It is not safe for concurrent use.
type solver struct {
	lang     *language
	work     int
	states   int
	gaveUp   bool
	compiled map[string]*automaton
	scratch  []string // of opposing
}

func newSolver(r robots.Reading) *solver {
	return &solver{lang: languageOf(r)}
}

// spend takes from the budget and reports whether some is left.
func (s *solver) spend(n int) bool {
	s.work += n
	if s.work > MaxWork {
		s.gaveUp = true
		return false
	}
	return true
}

// exhausted reports whether not even candidates can be tried any more.
func (s *solver) exhausted() bool { return s.work > MaxWork+reserve }

// exempt adds the path that is always allowed to the patterns to avoid, if d
// matches it.
func (s *solver) exempt(avoid []string, d string) []string {
	if s.lang.exempt != "" && robots.Match(d, s.lang.exempt) {
		return append(avoid, s.lang.exempt+"$")
	}
	return avoid
}

// one finds a shortest path that matches d and none of avoid, shorter than
// below (0: any length). "" is none; none is proven unless the solver gave up.
func (s *solver) one(d string, avoid []string, below int) string {
	// Nothing that matches d is shorter than this.
	candidate := shortest(d)
	if below > 0 && len(candidate) >= below {
		return ""
	}
	s.work += len(avoid)
	free := true
	for _, f := range avoid {
		if robots.Match(f, candidate) {
			if covers(f, d) {
				return ""
			}
			free = false
		}
	}
	if free && s.lang.contains(candidate) {
		return candidate
	}
	return s.search([]string{d}, avoid, candidate, below)
}

// both is one for paths that match d and a.
func (s *solver) both(d, a string, avoid []string, below int) string {
	switch {
	case !compatible(d, a):
		return ""
	case covers(a, d):
		return s.one(d, avoid, below)
	case covers(d, a):
		return s.one(a, avoid, below)
	}
	s.work += len(avoid)
	for _, f := range avoid {
		if covers(f, d) || covers(f, a) {
			return ""
		}
	}
	return s.search([]string{d, a}, avoid, "", below)
}

// search finds a shortest path by looking away first: it searches with only
// those patterns to avoid that got in the way so far, and looks whether the
// answer meets the others. If it does, nothing shorter can, for less was
// asked; if it does not, those that it violates are added. tried is an answer
// that was found not to meet them, "" for none. At a limit it falls back to
// samples.
func (s *solver) search(must, avoid []string, tried string, below int) string {
	var active []string
	for !s.gaveUp {
		if tried != "" {
			n := len(active)
			for _, f := range avoid {
				if robots.Match(f, tried) {
					active = append(active, f)
				}
			}
			s.work += len(avoid) * (1 + len(tried)/16)
			if len(active) == n && s.lang.contains(tried) {
				return tried
			}
		}
		w := walk{solver: s, below: below}
		path, ok := w.run(must, active)
		if !ok {
			s.gaveUp = true
			break
		}
		if path == "" {
			return ""
		}
		tried = path
	}
	return s.sample(must, avoid, below)
}

func (s *solver) compile(pattern string) *automaton {
	if t := s.compiled[pattern]; t != nil {
		return t
	}
	if s.compiled == nil {
		s.compiled = make(map[string]*automaton)
	}
	t := compile(pattern)
	s.work += len(pattern)
	s.compiled[pattern] = t
	return t
}

// sample tries paths built from the patterns: every star filled alike with
// little, then with pieces of the other patterns. What it finds is true, and
// need not be shortest.
func (s *solver) sample(must, avoid []string, below int) string {
	fills := []string{"", "x", "/", "q/", "?"}
	for _, p := range append(slices.Clip(must), avoid[:min(len(avoid), 8)]...) {
		fills = append(fills, strings.Trim(shortest(p), "/"))
	}
	best := ""
	for _, m := range must {
		open := !strings.HasSuffix(m, "$")
		m = strings.TrimSuffix(m, "$")
		for _, fill := range fills {
			for _, tail := range fills {
				if !open && tail != "" {
					break
				}
				path := strings.ReplaceAll(m, "*", fill) + tail
				s.work += len(path) + len(avoid)
				if s.exhausted() {
					return best
				}
				if !strings.HasPrefix(path, "/") {
					path = "/" + path
				}
				if (below == 0 || len(path) < below) && (best == "" || len(path) < len(best)) && s.answers(path, must, avoid) {
					best = path
				}
			}
		}
	}
	return best
}

// answers reports whether the path matches all of must and none of avoid.
func (s *solver) answers(path string, must, avoid []string) bool {
	if !s.lang.contains(path) {
		return false
	}
	for _, m := range must {
		if !robots.Match(m, path) {
			return false
		}
	}
	for _, f := range avoid {
		if robots.Match(f, path) {
			return false
		}
	}
	return true
}
