package diff

import (
	"math/bits"
	"slices"
)

// walk is one breadth-first search through the product of the automata of the
// patterns that must match, those that must not, and the language of paths.
//
// It stays small for two reasons. First, a state is dropped when a state seen
// before has come as far with the patterns that must match and is not ahead
// of it in any that must not: whatever path leads on from the dropped one
// leads on from the other, and is no longer. Second, of all octets that take
// no required pattern a step on, one that no pattern to avoid waits for is as
// good as any other: it sets all of those back as far as can be. So from each
// state lead the octets that the one or two required patterns wait for, and
// one more.
type walk struct {
	*solver
	below int // only paths shorter than that; 0 for all

	must    []*automaton
	avoid   []*automaton
	nodes   []state
	threads []thread // of all states, one after the other
	seen    map[place]int32
}

// thread is how far a pattern to avoid has come. One that can no longer match
// has no thread.
type thread struct{ id, at uint32 }

// place is what two states must share to be compared.
type place struct {
	at [2]uint32 // positions of the patterns that must match
	in uint8     // state of the language
}

type state struct {
	place
	parent   int32
	next     int32 // state seen before at the same place, -1 for none
	depth    int32
	from, to int32 // its threads
	octet    byte
}

// run gives a shortest path that matches all of must and none of avoid, ""
// when there is none; ok is false when a limit was reached first. What a run
// made is kept for the next one to use the memory again.
func (w *walk) run(s *solver, must, avoid []string, below int) (path string, ok bool) {
	w.solver, w.below = s, below
	w.must, w.avoid = w.must[:0], w.avoid[:0]
	w.nodes, w.threads = w.nodes[:0], w.threads[:0]
	if w.seen == nil {
		w.seen = make(map[place]int32)
	}
	clear(w.seen)
	for _, m := range must {
		t := w.compile(m)
		if t == nil {
			return "", false
		}
		w.must = append(w.must, t)
	}
	for _, f := range avoid {
		t := w.compile(f)
		if t == nil {
			return "", false
		}
		if t.complete(0) {
			return "", true
		}
		w.threads = append(w.threads, thread{uint32(len(w.avoid)), 0})
		w.avoid = append(w.avoid, t)
	}
	w.nodes = append(w.nodes, state{parent: -1, next: -1, to: int32(len(w.threads))})
	if last, found := w.step(0, '/'); found {
		return w.path(last), true
	}
	for i := int32(1); int(i) < len(w.nodes); i++ {
		choices, filler := w.choices(i)
		for choices[0]|choices[1] != 0 {
			c := byte(bits.TrailingZeros64(choices[0]))
			if choices[0] == 0 {
				c = 64 + byte(bits.TrailingZeros64(choices[1]))
			}
			choices[c>>6] &^= 1 << (c & 63)
			if last, found := w.step(i, c); found {
				return w.path(last), true
			}
		}
		if filler != 0 {
			if last, found := w.step(i, filler); found {
				return w.path(last), true
			}
		}
		if w.gaveUp || w.states > MaxStates || len(w.threads) > maxThreads {
			return "", false
		}
	}
	return "", true
}

// choices gives the octets that are worth a step from state i: those that a
// required pattern waits for, and a filler, 0 for none.
func (w *walk) choices(i int32) (choices octets, filler byte) {
	n := &w.nodes[i]
	valid := w.lang.valid[n.in]
	for k, t := range w.must {
		at := n.at[k]
		if at < t.fixed || t.anchored && t.end == t.fixed {
			return t.marks[at].and(valid), 0 // any other octet ends the pattern
		}
		choices = choices.or(t.marks[at])
	}
	taken := choices
	for _, th := range w.threads[n.from:n.to] {
		taken = taken.or(w.avoid[th.id].marks[th.at])
	}
	w.spend(int(n.to - n.from))
	fillers := w.lang.fillers[n.in]
	for k := range len(fillers) {
		if !taken.has(fillers[k]) {
			return choices.and(valid), fillers[k]
		}
	}
	return valid, 0
}

// step takes one octet from state i. It gives the new state's index and
// whether the path that leads there is an answer.
func (w *walk) step(i int32, c byte) (last int32, found bool) {
	from := &w.nodes[i]
	n := state{parent: i, next: -1, depth: from.depth + 1, octet: c}
	n.in = w.lang.next(from.in, c)
	rest := uint32(0) // octets that are needed at least
	accepted := n.in == plain
	for k, t := range w.must {
		at := from.at[k]
		if !t.complete(at) {
			at = t.step(at, c)
		}
		if at == dead {
			return 0, false
		}
		n.at[k] = at
		rest = max(rest, t.end-at)
		accepted = accepted && t.accepts(at)
	}
	if w.below > 0 && int(n.depth)+int(rest) >= w.below {
		return 0, false
	}
	threads := w.threads[from.from:from.to]
	w.spend(len(threads) + 2)
	n.from = int32(len(w.threads))
	for _, th := range threads {
		t := w.avoid[th.id]
		at := t.step(th.at, c)
		if at == dead {
			continue
		}
		if t.complete(at) {
			w.threads = w.threads[:n.from]
			return 0, false
		}
		accepted = accepted && !t.accepts(at)
		w.threads = append(w.threads, thread{th.id, at})
	}
	n.to = int32(len(w.threads))
	first, known := w.seen[n.place]
	if known {
		for j := first; j >= 0; j = w.nodes[j].next {
			if w.ahead(&n, &w.nodes[j]) {
				w.threads = w.threads[:n.from]
				return 0, false
			}
		}
		n.next = first
	}
	last = int32(len(w.nodes))
	w.nodes = append(w.nodes, n)
	w.seen[n.place] = last
	w.states++
	w.spend(costState)
	return last, accepted
}

// ahead reports whether n has come at least as far as m with every pattern to
// avoid, so that nothing can be reached from n that cannot be from m.
func (w *walk) ahead(n, m *state) bool {
	have := w.threads[n.from:n.to]
	for _, th := range w.threads[m.from:m.to] {
		w.spend(1)
		for len(have) > 0 && have[0].id < th.id {
			have = have[1:]
		}
		if len(have) == 0 || have[0].id != th.id || !w.avoid[th.id].within(th.at, have[0].at) {
			return false
		}
	}
	return true
}

func (w *walk) path(i int32) string {
	var b []byte
	for ; i > 0; i = w.nodes[i].parent {
		b = append(b, w.nodes[i].octet)
	}
	slices.Reverse(b)
	return string(b)
}
