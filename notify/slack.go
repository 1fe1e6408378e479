package notify

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/slack-go/slack"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/watcher"
)

// Bodies gives the texts of robots.txt files, for text diffs.
type Bodies interface {
	// Body gives the bytes kept under a hash, or watcher.ErrNotFound.
	Body(ctx context.Context, h watcher.Hash) ([]byte, error)
}

// maxDiffMessage is how many characters of text diff go into the thread as a
// message; a longer one is uploaded as a snippet.
const maxDiffMessage = 2500

// maxDiffSnippet is how much of a text diff is uploaded, in octets.
const maxDiffSnippet = 512 << 10

type slackSender struct {
	cfg    SlackConfig
	client *http.Client
	api    *slack.Client // nil: by incoming webhook
	bodies Bodies
	links  Links
}

// NewSlack makes the sender of a Slack receiver. bodies may be nil: no text
// diffs then.
func NewSlack(cfg SlackConfig, client *http.Client, bodies Bodies, links Links) (Sender, error) {
	s := &slackSender{cfg: cfg, client: client, bodies: bodies, links: links}
	switch {
	case cfg.WebhookURL.IsSet() && cfg.Token.IsSet():
		return nil, errors.New("give webhook_url, or token and channel, not both")
	case cfg.WebhookURL.IsSet():
		return s, nil
	case !cfg.Token.IsSet() || cfg.Channel == "":
		return nil, errors.New("give webhook_url, or token and channel")
	}
	opts := []slack.Option{slack.OptionHTTPClient(client)}
	if cfg.APIURL != "" {
		opts = append(opts, slack.OptionAPIURL(strings.TrimRight(cfg.APIURL, "/")+"/"))
	}
	s.api = slack.New(cfg.Token.Reveal(), opts...)
	return s, nil
}

// slackReceipt is where a message went.
type slackReceipt struct {
	Channel string `json:"channel"`
	TS      string `json:"ts"`
}

func (s *slackSender) Send(ctx context.Context, m Message) (string, error) {
	blocks, fallback := SlackBlocks(m)
	if s.api == nil {
		no := false
		err := slack.PostWebhookCustomHTTPContext(ctx, s.cfg.WebhookURL.Reveal(), s.client, &slack.WebhookMessage{
			Text: fallback, Blocks: &slack.Blocks{BlockSet: blocks}, UnfurlLinks: &no, UnfurlMedia: &no,
		})
		return "", slackError(err)
	}
	channel, ts, err := s.api.PostMessageContext(ctx, s.cfg.Channel, slackOptions(blocks, fallback)...)
	if err != nil {
		return "", slackError(err)
	}
	// The message is out: what follows is an extra, whose failure must not
	// have the message sent again.
	s.endOutage(ctx, m)
	s.threadDiff(ctx, m, channel, ts)
	receipt, err := json.Marshal(slackReceipt{channel, ts})
	return string(receipt), err
}

func slackOptions(blocks []slack.Block, fallback string) []slack.MsgOption {
	return []slack.MsgOption{
		slack.MsgOptionBlocks(blocks...),
		slack.MsgOptionText(fallback, false),
		slack.MsgOptionDisableLinkUnfurl(),
		slack.MsgOptionDisableMediaUnfurl(),
	}
}

// endOutage rewrites the message that told of an outage once it is over.
func (s *slackSender) endOutage(ctx context.Context, m Message) {
	var r slackReceipt
	if m.Ends == nil || json.Unmarshal([]byte(m.EndsReceipt), &r) != nil || r.TS == "" {
		return
	}
	old := changeMessage([]watcher.Change{*m.Ends}, Totals{Sites: 1, Deliveries: 1}, s.links, nil)
	old.Text.Title = cut("Over: "+old.Text.Title, maxTitle)
	old.Text.Sections = append([]Section{{Lines: []Line{{bold(fmt.Sprintf("Over since %s, after %s.",
		clock(m.At), duration(m.At.Sub(m.Ends.At))))}}}}, old.Text.Sections...)
	blocks, fallback := SlackBlocks(old)
	_, _, _, _ = s.api.UpdateMessageContext(ctx, r.Channel, r.TS, slackOptions(blocks, fallback)...)
}

// threadDiff replies with the text diff of a change of one site.
func (s *slackSender) threadDiff(ctx context.Context, m Message, channel, ts string) {
	if s.bodies == nil || m.Kind != MessageChange || m.Totals.Sites > 1 {
		return
	}
	c := m.Changes[0]
	if c.BeforeSHA256 == c.AfterSHA256 || c.Kind == watcher.KindState {
		return
	}
	text, err := textDiff(ctx, s.bodies, c)
	if err != nil || text == "" {
		return
	}
	shown := visibleLines(text)
	if len([]rune(shown)) > maxDiffMessage {
		if len(text) > maxDiffSnippet {
			text = strings.ToValidUTF8(text[:maxDiffSnippet], "") + "\n…\n"
		}
		_, err := s.api.UploadFileContext(ctx, slack.UploadFileParameters{
			Channel: channel, ThreadTimestamp: ts, Filename: "robots.txt.diff", Title: "robots.txt of " + siteName(c.Site),
			Content: text, FileSize: len(text), SnippetType: "diff",
		})
		if err == nil {
			return
		}
		shown = cut(shown, maxDiffMessage) // no right to upload: what fits
	}
	// A fence in the text would end the block early.
	body := "```\n" + strings.ReplaceAll(slackEscape(shown), "```", "'''") + "\n```"
	_, _, _ = s.api.PostMessageContext(ctx, channel,
		slack.MsgOptionTS(ts),
		slack.MsgOptionText(body, false),
		slack.MsgOptionDisableLinkUnfurl())
}

// textDiff of the two files of a change; "" when either is not kept.
func textDiff(ctx context.Context, bodies Bodies, c watcher.Change) (string, error) {
	load := func(sha string) ([]byte, error) {
		if sha == "" {
			return nil, nil
		}
		var h watcher.Hash
		if n, err := hex.Decode(h[:], []byte(sha)); err != nil || n != len(h) {
			return nil, fmt.Errorf("%q is not a SHA-256", sha)
		}
		return bodies.Body(ctx, h)
	}
	before, err := load(c.BeforeSHA256)
	if err != nil {
		return "", err
	}
	after, err := load(c.AfterSHA256)
	if err != nil {
		return "", err
	}
	return diff.Unified(diff.Text(before, after), 3), nil
}

// slackError says what a failure means. Its text holds no address.
func slackError(err error) error {
	if err == nil {
		return nil
	}
	var limited *slack.RateLimitedError
	if errors.As(err, &limited) {
		return &SendError{Err: errors.New("slack: rate limited"), RetryAfter: max(limited.RetryAfter, minBackoff)}
	}
	var status slack.StatusCodeError
	if errors.As(err, &status) {
		return &SendError{Err: errors.New("slack answered " + statusText(status.Code)), Permanent: permanentStatus(status.Code)}
	}
	var refused slack.SlackErrorResponse
	if errors.As(err, &refused) {
		return &SendError{Err: errors.New("slack: " + refused.Err), Permanent: !passing[refused.Err]}
	}
	return &SendError{Err: fmt.Errorf("slack: %w", withoutURL(err))}
}

// passing are Slack's errors that another attempt may cure; all others
// (channel_not_found, invalid_auth, ...) are refusals for good.
var passing = map[string]bool{
	"ratelimited": true, "rate_limited": true, "message_limit_exceeded": true,
	"internal_error": true, "fatal_error": true, "service_unavailable": true,
	"request_timeout": true, "team_added_to_org": true, "accesslimited": true,
}
