package lint

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/robots"
)

// fromWarnings takes over what the parser noticed line by line, and says of
// joined lists whom that concerns.
func (c *checker) fromWarnings() {
	for _, w := range c.file.Warnings {
		section := sections[w.Code]
		reason := strings.TrimSuffix(w.Text, " ("+section+")") // said once is enough
		if w.Code == robots.WarnGroupsJoined || w.Code == robots.WarnBlankInGroup {
			tokens := c.groupTokens(w.Line)
			if len(tokens) < 2 {
				continue // the same agent twice
			}
			reason += "; that is one group for " + nameList(tokens)
		}
		c.add(w.Line, string(w.Code), section, reason)
	}
}

// groupTokens names the agents of the group that a line is in.
func (c *checker) groupTokens(line int) []string {
	at, found := slices.BinarySearchFunc(c.file.Groups, line, func(g robots.Group, line int) int { return g.Line - line })
	if !found {
		at-- // the last one that begins before
	}
	if at < 0 {
		return nil
	}
	return c.file.Groups[at].Tokens
}

// nameList names a few and counts the rest.
func nameList(tokens []string) string {
	const most = 5
	if len(tokens) == 0 {
		return "nobody"
	}
	shown := make([]string, 0, most)
	for _, t := range tokens[:min(len(tokens), most)] {
		shown = append(shown, visible.Short(t, 40))
	}
	s := strings.Join(shown, ", ")
	if more := len(tokens) - len(shown); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// leastRead is what every crawler has to read (2.5), in octets.
const leastRead = 500 << 10

func (c *checker) size(truncated bool) {
	if truncated {
		c.add(c.file.Lines, string(robots.WarnTruncated), "2.5", fmt.Sprintf("the file goes on after this line, beyond the %d octets that were read", len(c.text)))
	}
	if len(c.text) > leastRead {
		line := 1 + bytes.Count(c.text[:leastRead], []byte("\n"))
		c.add(line, CodeBeyondLeast, "2.5", fmt.Sprintf("crawlers have to read %d octets only; what follows this line may go unread", leastRead))
	}
}

// readable notices files that are something else.
func (c *checker) readable() {
	unknown := 0
	for i := range c.file.Records {
		if c.file.Records[i].Kind == robots.KindUnknown {
			unknown++
		}
	}
	if unknown > 0 && unknown == len(c.file.Records) {
		c.add(c.file.Records[0].Line, CodeNothingReadable, "2.2", "not one line is a record of a robots.txt: everything is allowed to everyone")
	}
}

// emptyGroups finds agents that a group without a single rule line frees from
// the rules for everyone: with an empty Disallow it would have been meant.
func (c *checker) emptyGroups() {
	everyone := c.file.Rules()
	if !disallows(everyone.Rules) {
		return
	}
	for i := range c.file.Groups {
		g := &c.file.Groups[i]
		if len(g.Tokens) == 0 || len(g.Rules) > 0 || c.saysAllowed(g) {
			continue
		}
		var freed []string
		for _, t := range g.Tokens {
			if t != "*" && len(c.file.Rules(t).Rules) == 0 {
				freed = append(freed, t)
			}
		}
		if len(freed) > 0 {
			c.add(g.Line, CodeEmptyGroup, "2.2.1", fmt.Sprintf(
				"the group has no rule, so %s may fetch everything: the rules for * (line %d) do not apply to agents with a group of their own",
				nameList(freed), everyone.GroupLines[0]))
		}
	}
}

// saysAllowed reports whether a group without rules has an empty Disallow or
// Allow line.
func (c *checker) saysAllowed(g *robots.Group) bool {
	at, _ := slices.BinarySearchFunc(c.file.Records, g.Line, func(r robots.Record, line int) int { return r.Line - line })
	for _, r := range c.file.Records[at:] {
		if r.Line > g.EndLine {
			break
		}
		if (r.Kind == robots.KindDisallow || r.Kind == robots.KindAllow) && r.Value == "" {
			return true
		}
	}
	return false
}

func disallows(rules []robots.Rule) bool {
	return slices.ContainsFunc(rules, func(r robots.Rule) bool { return !r.Allow })
}

// tokens finds User-agent lines for names that nobody crawls under any more.
func (c *checker) tokens() {
	if c.catalogue == nil {
		return
	}
	for _, r := range c.file.Records {
		if r.Kind != robots.KindUserAgent {
			continue
		}
		agent, known := c.catalogue.Lookup(robots.Token(r.Value))
		switch {
		case !known:
		case len(agent.SupersededBy) > 0:
			c.superseded(r.Line, agent.Token, agent.Operator, agent.SupersededBy)
		case agent.Retired:
			c.add(r.Line, CodeRetired, "", fmt.Sprintf("nobody crawls as %s any more (%s)", agent.Token, agent.Operator))
		}
	}
}

func (c *checker) superseded(line int, token, operator string, by []string) {
	var missing []string
	for _, t := range by {
		if !c.file.Names(t) {
			missing = append(missing, t)
		}
	}
	reason := fmt.Sprintf("%s goes by %s now, no longer by %s", operator, strings.Join(by, ", "), token)
	if len(missing) > 0 {
		reason += fmt.Sprintf("; the file has no group for %s", strings.Join(missing, ", "))
	}
	c.add(line, CodeSuperseded, "", reason)
}

// longCrawlDelay is the delay in seconds from which a crawler gets through a
// handful of pages a day.
const longCrawlDelay = 3600

func (c *checker) crawlDelays() {
	for i := range c.file.Groups {
		if d := c.file.Groups[i].CrawlDelay; d != nil && d.Seconds >= longCrawlDelay {
			c.add(d.Line, CodeLongCrawlDelay, "", fmt.Sprintf("a crawl delay of %g seconds leaves %d pages a day", d.Seconds, int(24*60*60/d.Seconds)))
		}
	}
}
