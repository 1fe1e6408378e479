package diff

import "github.com/robotswatch/robotswatch/robots"

// Grant is what a policy gives an agent.
type Grant struct {
	Access
	Rules *robots.Rules // shared: read only
}

// Grants says what the policy gives each agent of a list, in its order. Agents
// under the same groups are looked at once.
func (in *Input) Grants(list []Agent) []Grant {
	type group struct {
		reading robots.Reading
		source  robots.Source
		token   string
	}
	found := make(map[group]Grant)
	got := make([]Grant, len(list))
	for i, a := range list {
		rules := in.Rules(a)
		g := group{a.Reading, rules.Source, rules.Token}
		grant, ok := found[g]
		if !ok {
			level, _ := AccessOf(rules)
			grant = Grant{Access{level, rules.Source}, rules}
			found[g] = grant
		}
		got[i] = grant
	}
	return got
}

// ordinary is "/" and text that no rule mentions: no normalised pattern has
// its last octet, so only a star can take it.
const ordinary = "/\xff"

// Ordinary is the rule that decides an ordinary path, nil when none does.
func Ordinary(r *robots.Rules) *robots.Rule {
	i := newSolver(r.Reading()).decider(&side{rules: r.Rules}, ordinary, -1)
	if i < 0 {
		return nil
	}
	return &r.Rules[i]
}

// Telling is the rule to show where there is room for one: the one that
// decides an ordinary path, or else the first that disallows something; nil
// when there is neither.
func Telling(r *robots.Rules) *robots.Rule {
	if rule := Ordinary(r); rule != nil {
		return rule
	}
	for i := range r.Rules {
		if !r.Rules[i].Allow {
			return &r.Rules[i]
		}
	}
	return nil
}
