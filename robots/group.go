package robots

import "slices"

// span is where the rules and tokens of a group begin.
type span struct{ rule, token int }

// userAgent starts a group, or joins the one whose rules have not begun:
// nothing but a rule ends the run of User-agent lines (2.2.1, 2.2.4).
func (p *parser) userAgent(value string) {
	line := p.file.Lines
	if !p.inRun {
		p.endGroup()
		p.open, p.inRun = true, true
		p.first = span{len(p.rules), len(p.tokens)}
		p.group = Group{Line: line}
	} else if p.betweenRun > 0 {
		p.warn(p.betweenRun, WarnGroupsJoined,
			"this line does not end the list of User-agent lines: the rules below also apply to the agents above (2.2.4)")
	} else if p.blankRun > 0 {
		p.warn(p.blankRun, WarnBlankInGroup,
			"a blank line does not end the list of User-agent lines: the rules below also apply to the agents above (2.2)")
	}
	p.betweenRun, p.blankRun = 0, 0
	p.group.EndLine = line
	if p.google {
		p.addToken(googleAgent(value))
		return
	}
	a := readAgent(value)
	switch {
	case value == "":
		p.warn(line, WarnAgentEmpty, "User-agent names nobody: write a product token or *")
	case a.token == "" && hasOddSpace(value):
		p.warn(line, WarnOddSpace, "white space that is not ASCII makes %s equal to no crawler's product token (2.2.1)", quote(value))
	case a.token == "":
		p.warn(line, WarnAgentNobody, "%s equals no crawler's product token, so these rules are for nobody (2.2.1)", quote(value))
	case a.rest != "":
		p.warn(line, WarnAgentTrailing, "read as %s; %s is ignored: one record a line", quote(a.token), quote(a.rest))
	case a.version:
		p.warn(line, WarnAgentVersion, "%s is read as %s: a product token has no version (2.2.1)", quote(value), quote(a.token))
	}
	p.addToken(a.token)
}

// manyTokens is where a set takes over from looking through the list.
const manyTokens = 16

func (p *parser) addToken(token string) {
	group := p.tokens[p.first.token:]
	switch {
	case token == "":
		return
	case len(group) < manyTokens:
		if slices.Contains(group, token) {
			return
		}
	default:
		if p.seen == nil {
			p.seen = make(map[string]bool)
			for _, t := range group {
				p.seen[t] = true
			}
		}
		if p.seen[token] {
			return
		}
		p.seen[token] = true
	}
	p.tokens = append(p.tokens, token)
}

// endGroup closes the group being read, if any.
func (p *parser) endGroup() {
	if !p.open {
		return
	}
	for _, s := range p.signals {
		for _, token := range p.tokens[p.first.token:] {
			s.Scope = token
			if !p.addSignal(s) {
				break
			}
		}
	}
	p.file.Groups = append(p.file.Groups, p.group)
	p.spans = append(p.spans, p.first)
	p.open, p.inRun, p.signals, p.seen = false, false, p.signals[:0], nil
	p.betweenRun, p.blankRun = 0, 0
}

// finish hands the groups their rules and tokens.
func (p *parser) finish() {
	if len(p.rules) < cap(p.rules)/2 {
		p.rules = slices.Clone(p.rules)
	}
	end := span{len(p.rules), len(p.tokens)}
	for i := len(p.spans) - 1; i >= 0; i-- {
		first := p.spans[i]
		p.file.Groups[i].Rules = p.rules[first.rule:end.rule:end.rule]
		p.file.Groups[i].Tokens = p.tokens[first.token:end.token:end.token]
		end = first
	}
	slices.SortStableFunc(p.file.Signals, func(a, b Signal) int { return a.Line - b.Line })
	sortWarnings(p.file.Warnings)
}
