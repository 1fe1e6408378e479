package evidence

import "github.com/robotswatch/robotswatch/diff"

// Read says what a policy gives agents, in their order, with the rule that
// decides an ordinary path; where none does, the first one that disallows
// something.
func Read(text []byte, list []diff.Agent) []AgentReading {
	got := make([]AgentReading, len(list))
	for i, g := range diff.NewInput(text).Grants(list) {
		got[i] = AgentReading{Agent: list[i].Token, Fallbacks: list[i].Fallbacks, Access: g.Level, Source: g.Source}
		if rule := diff.Telling(g.Rules); rule != nil {
			text, line := valid(rule.Text), rule.Line
			got[i].Rule, got[i].Line = &text, &line
		}
	}
	return got
}
