package slacktest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Slack's documented limits.
const (
	MaxBlocks  = 50
	MaxText    = 40000 // of a message; beyond it Slack cuts
	MaxHeader  = 150
	MaxSection = 3000
	MaxField   = 2000
	MaxFields  = 10
	MaxContext = 10 // elements
)

type textObject struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type block struct {
	Type     string       `json:"type"`
	Text     *textObject  `json:"text"`
	Fields   []textObject `json:"fields"`
	Elements []textObject `json:"elements"`
}

func (b block) texts() []textObject {
	var list []textObject
	if b.Text != nil {
		list = append(list, *b.Text)
	}
	return append(append(list, b.Fields...), b.Elements...)
}

// Check lists what Slack would refuse or cut in a message, and what a hostile
// text might have got into it: entities cut or unknown, mentions.
func Check(text string, blocks json.RawMessage) []string {
	var problems []string
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if n := length(text); n > MaxText {
		bad("text of %d characters, limit %d", n, MaxText)
	}
	checkMrkdwn("text", text, bad)
	var list []block
	if len(blocks) > 0 {
		if err := json.Unmarshal(blocks, &list); err != nil {
			bad("blocks: %v", err)
			return problems
		}
	}
	if text == "" && len(list) == 0 {
		bad("no_text")
	}
	if len(list) > MaxBlocks {
		bad("%d blocks, limit %d", len(list), MaxBlocks)
	}
	for i, b := range list {
		checkBlock(fmt.Sprintf("block %d (%s)", i, b.Type), b, bad)
	}
	return problems
}

func checkBlock(where string, b block, bad func(string, ...any)) {
	limit := func(t textObject, n int) {
		if l := length(t.Text); l == 0 || l > n {
			bad("%s: text of %d characters, limit 1 to %d", where, l, n)
		}
	}
	switch b.Type {
	case "header":
		if b.Text == nil || b.Text.Type != "plain_text" {
			bad("%s: text must be plain_text", where)
			return
		}
		limit(*b.Text, MaxHeader)
		if strings.ContainsAny(b.Text.Text, "<>&") {
			bad("%s: a bare <, > or & in %q", where, b.Text.Text)
		}
	case "section":
		if b.Text == nil && len(b.Fields) == 0 {
			bad("%s: neither text nor fields", where)
		}
		if b.Text != nil {
			limit(*b.Text, MaxSection)
		}
		if len(b.Fields) > MaxFields {
			bad("%s: %d fields, limit %d", where, len(b.Fields), MaxFields)
		}
		for _, f := range b.Fields {
			limit(f, MaxField)
		}
	case "context":
		if len(b.Elements) == 0 || len(b.Elements) > MaxContext {
			bad("%s: %d elements, limit 1 to %d", where, len(b.Elements), MaxContext)
		}
		for _, e := range b.Elements {
			limit(e, MaxSection)
		}
	case "divider":
	default:
		bad("%s: unknown type", where)
	}
	for _, t := range b.texts() {
		if t.Type == "mrkdwn" {
			checkMrkdwn(where, t.Text, bad)
		}
		if !utf8.ValidString(t.Text) {
			bad("%s: not valid UTF-8", where)
		}
	}
}

var (
	entity  = regexp.MustCompile(`&(amp|lt|gt);`)
	control = regexp.MustCompile(`<[^<>]*>`)
	address = regexp.MustCompile(`^https?://[^|\s]+\|[^|]+$`)
)

// checkMrkdwn finds control sequences other than links, and entities that are
// cut or unknown.
func checkMrkdwn(where, s string, bad func(string, ...any)) {
	for _, c := range control.FindAllString(s, -1) {
		if !address.MatchString(c[1 : len(c)-1]) {
			bad("%s: control sequence %q", where, c)
		}
	}
	rest := entity.ReplaceAllString(control.ReplaceAllString(s, ""), "")
	if strings.ContainsAny(rest, "<>&") {
		bad("%s: a bare <, > or & in %.80q", where, rest[strings.IndexAny(rest, "<>&"):])
	}
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, "```") && strings.Count(line, "`")%2 == 1 && !strings.Contains(line, "`\u2060") && strings.Count(s, "```") == 0 {
			bad("%s: a quotation that does not end in %.80q", where, line)
		}
	}
}

// length counts as the stricter of the two ways in which Slack may count.
func length(s string) int { return len(utf16.Encode([]rune(s))) }
