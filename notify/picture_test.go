//go:build pictures

package notify

import (
	"encoding/json"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slack-go/slack"
)

// TestPictureOfASlackMessage draws what a channel shows: the Block Kit that is
// sent, laid out as Slack does it.
func TestPictureOfASlackMessage(t *testing.T) {
	blocks, _ := SlackBlocks(goldenMessages()["access"])
	sent, err := json.Marshal(slack.Blocks{BlockSet: blocks})
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "slack.html")
	if err := os.WriteFile(page, []byte(slackPage(t, sent)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := filepath.Abs("../docs/images/slack.png")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=2",
		"--window-size=720,594", "--screenshot="+out, "file://"+page)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, said)
	}
}

type slackBlock struct {
	Type     string
	Text     struct{ Text string }
	Elements []struct{ Text string }
}

func slackPage(t *testing.T, sent []byte) string {
	t.Helper()
	var list []slackBlock
	if err := json.Unmarshal(sent, &list); err != nil {
		t.Fatalf("%v in %s", err, sent)
	}
	var b strings.Builder
	b.WriteString(slackPageHead)
	for _, block := range list {
		switch block.Type {
		case "header":
			b.WriteString("<h1>" + emblems.Replace(html.EscapeString(block.Text.Text)) + "</h1>\n")
		case "section":
			b.WriteString("<p>" + fromMrkdwn(block.Text.Text) + "</p>\n")
		case "context":
			b.WriteString("<p class=context>" + fromMrkdwn(block.Elements[0].Text) + "</p>\n")
		default:
			t.Fatalf("no picture of a block of type %q", block.Type)
		}
	}
	return b.String() + "</div></div>\n"
}

// emblems are drawn, since fonts with coloured ones are rarely installed.
var emblems = strings.NewReplacer("🔴", `<i style="background:#dd2e44"></i>`, "🟠", `<i style="background:#f4900c"></i>`, "⚪", `<i style="background:#ccd6dd"></i>`)

// fromMrkdwn reads the marks that SlackBlocks writes. Its entities are HTML's.
func fromMrkdwn(s string) string {
	s = regexp.MustCompile(`<([^|>]+)\|([^>]*)>`).ReplaceAllString(s, `<a href="$1">$2</a>`)
	s = regexp.MustCompile("`([^`]+)`").ReplaceAllString(s, "<code>$1</code>")
	s = regexp.MustCompile(`\*([^*\x{2060}]+)\*`).ReplaceAllString(s, "<b>$1</b>")
	return strings.ReplaceAll(s, "\n", "<br>\n")
}

const slackPageHead = `<!doctype html><meta charset=utf-8><style>
body { margin: 0; background: #fff; font: 15px/1.47 Lato, "Helvetica Neue", "Noto Sans", "DejaVu Sans", Arial, sans-serif; color: #1d1c1d }
.channel { border-bottom: 1px solid #ddd; padding: 13px 20px; font-weight: 700; font-size: 17px }
.message { display: flex; gap: 10px; padding: 16px 20px }
.face { flex: none; width: 36px; height: 36px; border-radius: 6px; background: #14532d; color: #fff; display: grid; place-items: center; font-size: 17px; font-weight: 700 }
.who b { margin-right: 6px } .who { margin-bottom: 2px }
.app { background: #e8e8e8; color: #616061; font-size: 10px; font-weight: 700; border-radius: 2px; padding: 1px 3px; margin-right: 6px }
.at, .context { color: #616061; font-size: 12px }
h1 { font-size: 18px; line-height: 1.33; margin: 8px 0 } p { margin: 8px 0 }
code { background: #f8f8f8; border: 1px solid #ddd; border-radius: 3px; padding: 1px 3px; color: #c0123c; font: 12px "DejaVu Sans Mono", monospace }
h1 i { display: inline-block; width: 17px; height: 17px; border-radius: 50%; vertical-align: -2px }
a { color: #1264a3; text-decoration: none }
</style><div class=channel># robots</div><div class=message><div class=face>r</div>
<div><div class=who><b>robotswatch</b><span class=app>APP</span><span class=at>9:00 AM</span></div>
`
