package diff

import (
	"strings"

	"github.com/robotswatch/robotswatch/robots"
)

// Limits of one question (one Compare, one AccessOf). They count work and not
// time, so that an answer does not depend on the machine. Beyond them the
// answer comes from candidates and samples, and says so.
const (
	// MaxStates is the number of states of the search for one question.
	MaxStates = 200_000
	// MaxWork is in units of one step of one pattern by one octet, a few
	// nanoseconds.
	MaxWork = 12_000_000
	// maxFilesWork is for all questions about two files. When it is used
	// up, each further one gets no more than lateWork.
	maxFilesWork = 8 * MaxWork
	lateWork     = MaxWork / 500
	// maxThreads bounds the memory of one search: positions of patterns in
	// all its states, eight octets each.
	maxThreads = 1_000_000
	// maxCompiled bounds the patterns that are searched for one question,
	// in octets; an automaton takes 24 for each.
	maxCompiled = 512 << 10
	// maxSample is the longest path that is made up as a sample.
	maxSample = 8 << 10
)

// What things cost, in units of MaxWork.
const (
	costLook  = 1  // at what a rule begins with
	costMatch = 4  // of a pattern and a path, and one for each 32 octets
	costState = 16 // to keep
)

// solver answers: is there a path that matches all of some patterns and none
// of others, and which is a shortest one? A solver serves one question after
// the other, and holds the budget of each and its memory. It is not safe for
// concurrent use.
type solver struct {
	lang     *language
	limit    int // of work
	work     int
	states   int
	gaveUp   bool
	compiled map[string]*automaton
	octets   int // of the patterns in compiled

	// list is a stack of patterns to avoid: whoever puts some on top takes
	// them off again.
	list   []string
	active []string // those that a search has to do with
	found  []int32  // scratch of near
	walk   walk

	// Where list and found begin: most questions need no more.
	listStart  [16]string
	foundStart [64]int32
}

func newSolver(r robots.Reading) *solver {
	s := &solver{}
	s.begin(r)
	return s
}

// begin makes ready for a question.
func (s *solver) begin(r robots.Reading) {
	s.lang, s.limit = languageOf(r), MaxWork
	s.work, s.states, s.octets, s.gaveUp = 0, 0, 0, false
	s.list, s.found = s.listStart[:0], s.foundStart[:0]
	if len(s.compiled) > keptPatterns || cap(s.walk.nodes) > keptStates {
		s.compiled, s.walk = nil, walk{}
	}
	clear(s.compiled)
}

// What a solver keeps for the next question. More is let go: to clear it would
// cost more than the question.
const (
	keptPatterns = 256
	keptStates   = 4096
)

// spend takes from the budget and reports whether some is left.
func (s *solver) spend(n int) bool {
	s.work += n
	if s.work > s.limit {
		s.gaveUp = true
	}
	return !s.gaveUp
}

// exhausted reports whether not even candidates and samples can be tried any
// more: they may take a sixth of the limit once it is used up.
func (s *solver) exhausted() bool { return s.work > s.limit+s.limit/6 }

// match is robots.Match on the budget.
func (s *solver) match(pattern, path string) bool {
	s.spend(costMatch + len(path)/32)
	return robots.Match(pattern, path)
}

// exempt puts the path that is always allowed on the list, if d matches it.
func (s *solver) exempt(d string) {
	if s.lang.exempt != "" && compatible(d, s.lang.exempt) && robots.Match(d, s.lang.exempt) {
		s.list = append(s.list, s.lang.exempt+"$")
	}
}

// one finds a shortest path that matches d and none of avoid, shorter than
// below (0: any length). "" is none; none is proven unless the solver gave up.
func (s *solver) one(d string, avoid []string, below int) string {
	if below > 0 && least(d) >= below {
		return ""
	}
	candidate := shortest(d)
	free := true
	for _, f := range avoid {
		if s.match(f, candidate) {
			if covers(f, d) {
				return ""
			}
			free = false
		}
		if s.exhausted() {
			return ""
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
	for _, f := range avoid {
		s.spend(2 * costMatch)
		if covers(f, d) || covers(f, a) {
			return ""
		}
		if s.exhausted() {
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
	s.active = s.active[:0]
	for !s.gaveUp {
		if tried != "" {
			n := len(s.active)
			for _, f := range avoid {
				if s.match(f, tried) {
					s.active = append(s.active, f)
				}
			}
			if len(s.active) == n && s.lang.contains(tried) {
				return tried
			}
		}
		path, ok := s.walk.run(s, must, s.active, below)
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

// compile gives the automaton of a pattern, nil when there is no room for it.
func (s *solver) compile(pattern string) *automaton {
	if t := s.compiled[pattern]; t != nil {
		return t
	}
	s.octets += len(pattern)
	if s.octets > maxCompiled || !s.spend(4*len(pattern)) {
		return nil
	}
	if s.compiled == nil {
		s.compiled = make(map[string]*automaton)
	}
	t := compile(pattern)
	s.compiled[pattern] = t
	return t
}

// sample tries paths built from the patterns: every star filled alike with
// little, then with pieces of the other patterns. What it finds is true, and
// need not be shortest.
func (s *solver) sample(must, avoid []string, below int) string {
	fills := []string{"", "x", "/", "q/", "?"}
	for _, list := range [][]string{must, avoid[:min(len(avoid), 8)]} {
		for _, p := range list {
			fills = append(fills, strings.Trim(shortest(p), "/"))
		}
	}
	best := ""
	for _, m := range must {
		open := !strings.HasSuffix(m, "$")
		m = strings.TrimSuffix(m, "$")
		stars := strings.Count(m, "*")
		for _, fill := range fills {
			for _, tail := range fills {
				if !open && tail != "" || len(m)+stars*len(fill)+len(tail) > maxSample {
					continue
				}
				if s.exhausted() {
					return best
				}
				path := strings.ReplaceAll(m, "*", fill) + tail
				if !strings.HasPrefix(path, "/") {
					path = "/" + path
				}
				s.spend(len(path))
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
		if !s.match(m, path) {
			return false
		}
	}
	for _, f := range avoid {
		if s.match(f, path) || s.exhausted() {
			return false
		}
	}
	return true
}
