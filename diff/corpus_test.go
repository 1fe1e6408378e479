package diff

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/realdata"
	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/robots"
)

// question is a pair of rule sets of a real file and an edit of it; after is
// nil when only the access level of before is asked for.
type question struct {
	name          string
	before, after *robots.Rules
}

func (q question) ask() AgentChange {
	c, _ := q.askWith(newSolver(q.before.Reading()))
	return c
}

func (q question) askWith(s *solver) (AgentChange, *solver) {
	if q.after == nil {
		level := s.level(&side{rules: q.before.Rules})
		return AgentChange{Before: Access{Level: level}, Proven: !s.gaveUp}, s
	}
	return describe(s.compare(q.before.Rules, q.after.Rules), q.before, q.after), s
}

func edited(before *robots.Rules, edit func([]robots.Rule) []robots.Rule) *robots.Rules {
	return &robots.Rules{Source: before.Source, Token: before.Token, Rules: edit(slices.Clone(before.Rules))}
}

// corpusRuleSets gives the distinct effective rule sets of all files, in order
// of the names.
func corpusRuleSets(t testing.TB) (sets []*robots.Rules, names []string) {
	files := realdata.Archive(t, "robots-2024.tar.xz")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := robots.Parse(files[name], robots.Options{})
		seen := map[string]bool{}
		for _, token := range append([]string{"*"}, f.Tokens()...) {
			r := f.Rules(token)
			var key strings.Builder
			for i := range r.Rules {
				fmt.Fprintf(&key, "%t %q\n", r.Rules[i].Allow, r.Rules[i].Pattern)
			}
			if key := key.String(); !seen[key] {
				seen[key] = true
				sets, names = append(sets, r), append(names, name+" "+token)
			}
		}
	}
	return sets, names
}

// corpusQuestions calls ask with every question about the corpus: drop each of
// up to 20 rules, add one, swap verdicts, compare with the next, access.
func corpusQuestions(t testing.TB, ask func(question)) {
	sets, names := corpusRuleSets(t)
	random := rand.New(rand.NewPCG(9309, 0))
	every := sizes.Pick(1, 20)
	for k := 0; k < len(sets); k += every {
		r := sets[k]
		next := sets[(k+1)%len(sets)]
		ask(question{name: names[k] + ": access", before: r})
		ask(question{names[k] + ": next", r, next})
		for _, i := range random.Perm(len(r.Rules))[:min(20, len(r.Rules))] {
			ask(question{fmt.Sprintf("%s: drop %d", names[k], i), r, edited(r, func(rules []robots.Rule) []robots.Rule {
				return slices.Delete(rules, i, i+1)
			})})
			if random.IntN(4) > 0 {
				continue
			}
			ask(question{fmt.Sprintf("%s: swap %d", names[k], i), r, edited(r, func(rules []robots.Rule) []robots.Rule {
				rules[i].Allow = !rules[i].Allow
				return rules
			})})
		}
		for n := range 2 {
			ask(question{fmt.Sprintf("%s: add %d", names[k], n), r, edited(r, func(rules []robots.Rule) []robots.Rule {
				return slices.Insert(rules, random.IntN(len(rules)+1), someRule(random, r, sets))
			})})
		}
	}
}

// someRule takes a rule of another file, or one of this file with a piece cut
// out or put before.
func someRule(random *rand.Rand, r *robots.Rules, sets []*robots.Rules) robots.Rule {
	from := r.Rules
	for len(from) == 0 || random.IntN(3) == 0 {
		from = sets[random.IntN(len(sets))].Rules
		if len(from) > 0 {
			break
		}
	}
	rule := from[random.IntN(len(from))]
	value := rule.Pattern
	switch random.IntN(3) {
	case 0:
		value = "/*" + value[1:]
	case 1:
		i := 1 + random.IntN(len(value))
		value = value[:i] + "*" + value[min(len(value), i+random.IntN(3)):]
	}
	return robots.Rule{Allow: random.IntN(3) == 0, Pattern: robots.NormalizePattern(value), Text: "added", Line: 0}
}

// Every answer over the corpus is proven, every example is one, and none is
// shorter: the literals of its rule alone are as long, or all shorter paths
// that the rule matches were tried. ROBOTSWATCH_CORPUS=all tries all that can
// be tried, else a part.
func TestCorpusQuestions(t *testing.T) {
	asked, examples, states, work := 0, 0, 0, 0
	shortness := shortnessCheck{every: 20}
	if os.Getenv("ROBOTSWATCH_CORPUS") == "all" {
		shortness.every = 1
	}
	corpusQuestions(t, func(q question) {
		asked++
		c, s := q.askWith(newSolver(robots.ReadingRFC9309))
		states, work = max(states, s.states), max(work, s.work)
		if !c.Proven {
			t.Errorf("%s: not proven", q.name)
		}
		for _, e := range c.NewlyDisallowed {
			examples++
			confirm(t, q.name, e, q.after, q.before)
			shortness.look(t, q.name, e, q.after, q.before)
		}
		for _, e := range c.NewlyAllowed {
			examples++
			confirm(t, q.name, e, q.before, q.after)
			shortness.look(t, q.name, e, q.before, q.after)
		}
	})
	t.Logf("%+v", shortness)
	t.Logf("%d questions, %d examples; at most %d states of %d, work %d of %d", asked, examples, states, MaxStates, work, MaxWork)
}

// shortnessCheck looks for an example that is shorter.
type shortnessCheck struct {
	every                   int // one in so many of those that have to be tried
	evident, tried, skipped int
}

func (c *shortnessCheck) look(t *testing.T, name string, e Entry, on, off *robots.Rules) {
	t.Helper()
	i := slices.IndexFunc(on.Rules, func(r robots.Rule) bool { return r.Text == *e.Rule && r.Line == *e.Line })
	pattern := on.Rules[i].Pattern
	literals := strings.NewReplacer("*", "", "$", "").Replace(pattern)
	extra := len(e.Example) - 1 - len(literals) // octets that a shorter path can have besides the literals
	switch {
	case extra < 0:
		c.evident++
		return
	case extra > 2 || (c.evident+c.tried+c.skipped)%c.every != 0:
		c.skipped++
		return
	}
	c.tried++
	for path := range fillings(strings.TrimSuffix(pattern, "$"), !strings.HasSuffix(pattern, "$"), extra) {
		if !naiveValid(path) || len(path) >= len(e.Example) {
			continue
		}
		if d := on.Decide(path); d.Rule != &on.Rules[i] {
			continue
		}
		if off.Decide(path).Allowed && !on.Decide(path).Allowed {
			t.Errorf("%s: %q is shorter than %q", name, path, e.Example)
		}
	}
}

// fillings gives the paths that the pattern matches with at most so many octets
// in the place of its stars and behind it.
func fillings(pattern string, open bool, extra int) iter.Seq[string] {
	const octets = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?[]@!&'()+,;=%"
	return func(yield func(string) bool) {
		var fill func(done, rest string, extra int) bool
		fill = func(done, rest string, extra int) bool {
			literal, after, star := strings.Cut(rest, "*")
			done += literal
			if !star && (!open || extra == 0) {
				return yield(done)
			}
			// Nothing here; or one octet, and then again.
			if star && !fill(done, after, extra) || !star && !yield(done) {
				return false
			}
			if extra == 0 {
				return true
			}
			for i := range len(octets) {
				next := after
				if star {
					next = "*" + after
				}
				if !fill(done+octets[i:i+1], next, extra-1) {
					return false
				}
			}
			return true
		}
		fill("", pattern, extra)
	}
}

// confirm asks the matcher about the example of an entry: on one side its rule
// disallows it, on the other it is allowed.
func confirm(t *testing.T, name string, e Entry, on, off *robots.Rules) {
	t.Helper()
	if robots.NormalizePath(e.Example) != e.Example || !naiveValid(e.Example) {
		t.Errorf("%s: %q is no normal path", name, e.Example)
	}
	d := on.Decide(e.Example)
	if d.Allowed || d.Rule == nil || &d.Rule.Text != e.Rule || &d.Rule.Line != e.Line {
		t.Errorf("%s: %q: %s does not decide, but %+v", name, e.Example, *e.Rule, d)
	}
	if d := off.Decide(e.Example); !d.Allowed {
		t.Errorf("%s: %q is disallowed on both sides", name, e.Example)
	}
}

// BenchmarkCorpusQuestions prints how long one question takes: the least of
// its processor times over the iterations.
func BenchmarkCorpusQuestions(b *testing.B) {
	var questions []question
	corpusQuestions(b, func(q question) { questions = append(questions, q) })
	least := make([]time.Duration, len(questions))
	undecided, memory := 0, uint64(0)
	for b.Loop() {
		undecided = 0
		for k, q := range questions {
			var c AgentChange
			d := cpu(b, func() { c = q.ask() })
			if d < 20*time.Microsecond { // too short for the clock
				d = cpu(b, func() {
					for range 8 {
						q.ask()
					}
				}) / 8
			}
			if least[k] == 0 || d < least[k] {
				least[k] = d
			}
			if !c.Proven {
				undecided++
			}
		}
	}
	slowest := 0
	for k, d := range least {
		if d > least[slowest] {
			slowest = k
		}
	}
	memory = allocated(questions[slowest])
	b.Logf("slowest: %s", questions[slowest].name)
	slices.Sort(least)
	b.ReportMetric(float64(len(least)), "questions")
	b.ReportMetric(microseconds(least[len(least)/2]), "µs-median")
	b.ReportMetric(microseconds(least[len(least)*99/100]), "µs-p99")
	b.ReportMetric(microseconds(least[len(least)-1])/1e3, "ms-slowest")
	b.ReportMetric(float64(undecided), "undecided")
	b.ReportMetric(float64(memory)/(1<<20), "MB-slowest")
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// allocated is all the memory that a question asks for, garbage included.
func allocated(q question) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	q.ask()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
