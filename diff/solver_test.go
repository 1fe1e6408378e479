//go:build !race

// One goroutine asks: the race detector has nothing to find, and takes long.

package diff

import (
	"reflect"
	"testing"

	"github.com/robotswatch/robotswatch/robots"
)

// One solver serves all questions about two files: what an earlier one left
// does not show in an answer, and what a large one left is let go.
func TestASolverAnswersAsANewOneDoes(t *testing.T) {
	used := newSolver(robots.ReadingRFC9309)
	large := 0
	ask := func(q question) {
		used.begin(q.before.Reading())
		if cap(used.walk.nodes) > keptStates || len(used.compiled) > 0 {
			t.Errorf("%s: begins with %d states and %d patterns of another question", q.name, cap(used.walk.nodes), len(used.compiled))
		}
		got, _ := q.askWith(used)
		if want, _ := q.askWith(newSolver(q.before.Reading())); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, a new solver says %+v", q.name, got, want)
		}
		if cap(used.walk.nodes) > keptStates {
			large++
		}
	}
	tough := hostile()
	for i, q := range tough { // each behind two others
		ask(q)
		ask(tough[len(tough)-1-i])
	}
	n := 0
	corpusQuestions(t, func(q question) {
		if n++; n%10 == 0 {
			ask(q)
		}
	})
	if large == 0 {
		t.Error("no question was large")
	}
}
