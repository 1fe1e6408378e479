package evidence

import (
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/robots"
)

// ordinary is a path that rules hardly ever mention: only a star can take an
// octet that is no text.
const ordinary = "/\xff"

// Read says what a policy gives agents, in their order, with the rule that
// decides an ordinary path; where none does, the first one that disallows
// something.
func Read(text []byte, list []diff.Agent) []AgentReading {
	type group struct {
		reading robots.Reading
		source  robots.Source
		token   string
	}
	in := diff.NewInput(text)
	found := make(map[group]AgentReading)
	got := make([]AgentReading, len(list))
	for i, a := range list {
		rules := in.Rules(a)
		g := group{a.Reading, rules.Source, rules.Token}
		r, ok := found[g]
		if !ok {
			r = readRules(rules)
			found[g] = r
		}
		r.Agent, r.Fallbacks = a.Token, a.Fallbacks
		got[i] = r
	}
	return got
}

func readRules(rules *robots.Rules) AgentReading {
	level, _ := diff.AccessOf(rules)
	r := AgentReading{Access: level, Source: rules.Source}
	rule := rules.Decide(ordinary).Rule
	for i := range rules.Rules {
		if rule == nil && !rules.Rules[i].Allow {
			rule = &rules.Rules[i]
		}
	}
	if rule != nil {
		text, line := valid(rule.Text), rule.Line
		r.Rule, r.Line = &text, &line
	}
	return r
}
