package lint_test

import (
	"fmt"
	"testing"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/lint"
)

func TestGroupsThatBindNobodyAnyMore(t *testing.T) {
	catalogue, err := agents.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text, want string
		evaded           bool
	}{
		{"none", "User-agent: GPTBot\nDisallow: /\n", "[]", false},
		{"the successor may", "User-agent: *\nDisallow: /x\n\nUser-agent: Anthropic-AI\nDisallow: /\n",
			"[{anthropic-ai Anthropic 4 blocked [{ClaudeBot partial wildcard false}]}]", true},
		{"the successor may not", "User-agent: anthropic-ai\nUser-agent: ClaudeBot\nDisallow: /\n",
			"[{anthropic-ai Anthropic 1 blocked [{ClaudeBot blocked named true}]}]", false},
		{"no successor, twice", "User-agent: Operator\nDisallow: /a\n\nUser-agent: operator\nDisallow: /b\n",
			"[{Operator OpenAI 1 partial []}]", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := lint.InertGroups([]byte(c.text), catalogue)
			if fmt.Sprint(got) != c.want {
				t.Errorf("%v, want %s", got, c.want)
			}
			if len(got) > 0 && got[0].Evaded() != c.evaded {
				t.Errorf("evaded: %v", got[0].Evaded())
			}
		})
	}
}
