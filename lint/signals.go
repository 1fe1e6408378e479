package lint

import (
	"fmt"
	"strings"

	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/robots"
)

// topic is what one preference is about. Content-Signal and Content-Usage
// name training differently and mean the same.
type topic struct{ scope, path, about string }

type stated struct {
	yes  bool
	line int
	text string
}

// signals finds preferences of one scope that contradict each other, and
// values that say nothing.
func (c *checker) signals() {
	said := make(map[topic]stated)
	for _, s := range c.file.Signals {
		if s.Name != "content-signal" && s.Name != "content-usage" {
			continue
		}
		for item := range strings.SplitSeq(s.Value, ", ") {
			name, value, _ := strings.Cut(item, "=")
			yes, ok := yesOrNo(value)
			if !ok {
				c.add(s.Line, CodeSignalValue, "", fmt.Sprintf("%q says neither yes nor no", visible.Short(item, 60)))
				continue
			}
			t := topic{s.Scope, s.Path, about(name)}
			before, again := said[t]
			switch {
			case !again:
				said[t] = stated{yes, s.Line, item}
			case before.yes != yes:
				c.add(s.Line, CodeContradiction, "", fmt.Sprintf("%s contradicts %s in line %d, for %s",
					visible.Short(item, 60), visible.Short(before.text, 60), before.line, scopeName(s)))
			}
		}
	}
}

func yesOrNo(value string) (yes, ok bool) {
	switch strings.ToLower(value) {
	case "yes", "y":
		return true, true
	case "no", "n":
		return false, true
	}
	return false, false
}

func about(name string) string {
	if name == "train-ai" {
		return "ai-train"
	}
	return name
}

func scopeName(s robots.Signal) string {
	name := "the whole file"
	if s.Scope != "" {
		name = visible.Short(s.Scope, 40)
	}
	if s.Path != "" {
		name += " under " + visible.Short(s.Path, 60)
	}
	return name
}
