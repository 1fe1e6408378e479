package notify

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/slack-go/slack"
)

// Slack's documented limits, in characters.
const (
	slackHeaderLimit  = 150   // of a header's text
	slackSectionLimit = 3000  // of a section's text
	slackContextLimit = 3000  // of a context element's text
	slackBlockLimit   = 50    // blocks of a message
	slackTextLimit    = 4000  // of the fallback text, as recommended; 40,000 is where Slack cuts
	slackTotalLimit   = 12000 // of all blocks together, ours: beyond it Slack may refuse with msg_too_long
)

// SlackBlocks renders a message as Block Kit, and as the text that
// notifications show. Everything in it is escaped; nothing is cut inside an
// entity, a link or a quotation.
func SlackBlocks(m Message) (blocks []slack.Block, fallback string) {
	header := slack.NewTextBlockObject(slack.PlainTextType, fit(emblem(m)+slackHeader.Replace(m.Text.Title), slackHeaderLimit), false, false)
	blocks = append(blocks, slack.NewHeaderBlock(header))
	budget := slackTotalLimit
	for _, s := range m.Text.Sections {
		if len(blocks) == slackBlockLimit-1 || budget <= 0 {
			break
		}
		text := slackSection(s, min(slackSectionLimit, budget))
		if text == "" {
			continue
		}
		budget -= slackLen(text)
		blocks = append(blocks, slack.NewSectionBlock(
			slack.NewTextBlockObject(slack.MarkdownType, text, false, true), nil, nil))
	}
	if foot := slackLine(m.Text.Footer); foot != "" && slackLen(foot) <= slackContextLimit {
		blocks = append(blocks, slack.NewContextBlock("",
			slack.NewTextBlockObject(slack.MarkdownType, foot, false, true)))
	}
	return blocks, slackFallback(m.Text)
}

// A header is plain text, where escapes may or may not be read as such: what
// would need one is shown by its likeness.
var slackHeader = strings.NewReplacer("<", "‹", ">", "›", "&", "＆")

// emblem marks the severity where no colour can.
func emblem(m Message) string {
	switch {
	case m.Kind != MessageChange:
		return ""
	case m.Severity == "critical":
		return "🔴 "
	case m.Severity == "warning":
		return "🟠 "
	}
	return "⚪ "
}

// slackSection joins lines while they fit.
func slackSection(s Section, limit int) string {
	var b strings.Builder
	used := 0
	add := func(line string) bool {
		n := slackLen(line) + 1
		if used+n > limit-2 {
			if used > 0 {
				b.WriteString("\n…")
			}
			return false
		}
		if used > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
		used += n
		return true
	}
	if s.Heading != "" && !add("*"+slackPlain(s.Heading)+"*") {
		return ""
	}
	for _, l := range s.Lines {
		if !add(slackLine(l)) {
			break
		}
	}
	return b.String()
}

func slackLine(l Line) string {
	var b strings.Builder
	for _, s := range l {
		switch s.Style {
		case StyleBold:
			b.WriteString("*" + slackPlain(s.Text) + "*")
		case StyleCode:
			b.WriteString(slackCode(s.Text))
		case StyleLink:
			b.WriteString("<" + slackURL(s.URL) + "|" + slackLabel(s.Text) + ">")
		default:
			b.WriteString(slackPlain(s.Text))
		}
	}
	return b.String()
}

var slackEntities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// slackEscape makes the three characters that Slack reads as control
// sequences (mentions, links, entities) literal.
func slackEscape(s string) string { return slackEntities.Replace(s) }

// mrkdwn has no escape for its own marks. An invisible word joiner after each
// keeps it from pairing.
var slackMarks = strings.NewReplacer("*", "*\u2060", "_", "_\u2060", "~", "~\u2060", "`", "`\u2060", "\n", " ")

func slackPlain(s string) string { return slackMarks.Replace(slackEscape(s)) }

// slackCode quotes text literally; a backtick in it would end the quotation,
// so another one stands in for it.
func slackCode(s string) string {
	if s == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(slackEscape(s), "`", "ˋ") + "`"
}

// slackURL keeps an address from ending the link it stands in.
func slackURL(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C", " ", "%20", "\n", "", "\r", "").Replace(s)
}

func slackLabel(s string) string { return strings.ReplaceAll(slackPlain(s), "|", "¦") }

// slackFallback is the message in one text, cut between lines.
func slackFallback(t Text) string {
	s := slackPlain(t.Title)
	for line := range strings.SplitSeq(strings.TrimPrefix(t.Plain(), t.Title), "\n") {
		line = slackPlain(line)
		if slackLen(s)+slackLen(line)+1 > slackTextLimit {
			break
		}
		s += line + "\n"
	}
	return strings.TrimRight(s, "\n")
}

// slackLen counts as the stricter of the two ways in which Slack may count.
func slackLen(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// fit cuts text to n UTF-16 units, never inside a character.
func fit(s string, n int) string {
	if slackLen(s) <= n {
		return s
	}
	for slackLen(s) > n-1 {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s + "…"
}
