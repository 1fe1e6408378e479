package diff

import "github.com/robotswatch/robotswatch/robots"

// Input is one side of a comparison: the file read for each reading that is
// asked for, and its text.
type Input struct {
	Text []byte
	// contains lazily parsed files, one per reading
}

// NewInput wraps the bytes of a robots.txt; nil is a site without one.
func NewInput(text []byte) *Input { return &Input{Text: text} }

// File is the input as the given reading parses it.
func (in *Input) File(r robots.Reading) *robots.File {
	return robots.Parse(in.Text, robots.Options{Reading: r})
}

// Rules are the effective rules of an agent.
func (in *Input) Rules(a Agent) *robots.Rules {
	return in.File(a.Reading).Rules(append([]string{a.Token}, a.Fallbacks...)...)
}

// AccessOf gives the level of a rule set, proven over all paths. proven is
// false when the search gave up at its limit; the level is then the best
// answer that candidates and sampling gave.
func AccessOf(r *robots.Rules) (level Level, proven bool) { return Allowed, true }

// Compare two rule sets of one agent: direction, every deciding rule with
// effect and its example, rules without effect.
func Compare(before, after *robots.Rules) AgentChange { return AgentChange{} }

// Files compares two files for the agents given (callers add the ones that
// either file names with Named). Each distinct pair of rule sets is compared
// once.
func Files(before, after *Input, agents []Agent) *Report { return &Report{Schema: Schema} }

// Named gives the agents that either file names and the list lacks.
func Named(before, after *Input, known []Agent) []Agent { return nil }

// LineKind of a line of a text diff.
type LineKind byte

const (
	LineSame    LineKind = ' '
	LineAdded   LineKind = '+'
	LineRemoved LineKind = '-'
)

// TextLine is a line of a text diff, for display only.
type TextLine struct {
	Kind LineKind
	Old  int // line number in the old text, 0 when added
	New  int // line number in the new text, 0 when removed
	Text string
}

// Text compares line by line (for people; meaning is Files' business).
func Text(before, after []byte) []TextLine { return nil }

// Unified renders lines as a unified diff with n lines of context.
func Unified(lines []TextLine, n int) string { return "" }
