package notify

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

// MessageKind says what a message is about.
type MessageKind string

const (
	MessageChange MessageKind = "change" // one change, or many that say the same
	MessageHeld   MessageKind = "held"   // what came up in quiet hours
	MessageDigest MessageKind = "digest"
	MessageLimit  MessageKind = "limit"  // how many wait because of the hourly limit
	MessageAlerts MessageKind = "alerts" // nothing new: alerts that go on
	MessageTest   MessageKind = "test"
)

// Message is one thing to be told to one receiver.
type Message struct {
	Kind     MessageKind
	ID       string // stable over retries: that of its first change, or of the notice
	At       time.Time
	Severity watcher.Severity
	Changes  []watcher.Change // the first few of those it tells; links filled
	Totals   Totals           // all that it tells
	Groups   []Alike          // of a digest and of what was held: the gravest first
	Text     Text
	// Ends is the change of state that this message ends, EndsReceipt what the
	// receiver gave back when it was told of that.
	Ends        *watcher.Change
	EndsReceipt string
	// Alerts are those that begin, go on or end, for receivers that show what
	// is the case.
	Alerts []Alert
}

// Alike are changes that say the same, as programs are told of them.
type Alike struct {
	Changes int            `json:"changes"` // how many
	Example watcher.Change `json:"example"` // one of them
}

// toldReceipt stands for the receipt of a message about an outage where the
// receiver gives none, so that the end of the outage can refer to it.
const toldReceipt = "told"

// outage reports whether the message says that a site became unreadable.
func (m *Message) outage() bool {
	return m.Kind == MessageChange && m.Changes[0].Kind == watcher.KindState && !m.Changes[0].State.After.Readable()
}

// end makes the message tell of the end of an outage that began before.
func (m *Message) end(began watcher.Change, receipt string) {
	m.Ends, m.EndsReceipt = &began, receipt
	lasted := Line{plain("It lasted " + duration(m.At.Sub(began.At)) + ", since " + clock(began.At) + ".")}
	m.Text.Sections = append(m.Text.Sections, Section{Lines: []Line{lasted}})
}

// Links makes the addresses that messages carry. The zero value makes none.
type Links struct {
	External string // external_url of the dashboard
}

func (l Links) base() string { return strings.TrimRight(l.External, "/") }

// Change is the page of a change, "" without a dashboard.
func (l Links) Change(id string) string {
	if l.External == "" {
		return ""
	}
	return l.base() + "/changes/" + url.PathEscape(id)
}

// Changes is the page of the changes of a kind in a span of time.
func (l Links) Changes(kind watcher.Kind, since, until time.Time) string {
	if l.External == "" {
		return ""
	}
	q := url.Values{}
	if kind != "" {
		q.Set("kind", string(kind))
	}
	if !since.IsZero() {
		q.Set("since", since.UTC().Format(time.RFC3339))
	}
	if !until.IsZero() {
		// Shown times are cut to seconds; the page's bound is exclusive.
		q.Set("until", until.UTC().Add(time.Second).Format(time.RFC3339))
	}
	return l.base() + "/changes?" + q.Encode()
}

// Site is the page of a site on the dashboard, else its robots.txt.
func (l Links) Site(origin string) string {
	if l.External == "" {
		return origin + "/robots.txt"
	}
	scheme, host, _ := strings.Cut(origin, "://")
	u := l.base() + "/sites/" + url.PathEscape(host)
	if scheme == "http" {
		u += "?scheme=http"
	}
	return u
}

// AgentTotal counts the sites on which an agent has an access now.
type AgentTotal = watcher.Tally

// TotalsSource gives the totals that digests tell.
type TotalsSource interface {
	// AgentTotals counts sites for each watched agent, access and source.
	AgentTotals(ctx context.Context) ([]AgentTotal, error)
}

// TestMessage is what "notify test" sends.
func TestMessage(now time.Time, l Links) Message {
	t := Text{
		Title: "robotswatch can reach you",
		Sections: []Section{{Lines: []Line{
			{plain("This is a test. Changes of what crawlers may fetch will arrive here.")},
		}}},
		Footer: Line{plain("sent " + clock(now))},
	}
	if l.External != "" {
		t.Footer = append(t.Footer, plain(" · "), link(l.base()+"/", "dashboard"))
	}
	return Message{Kind: MessageTest, ID: "test", At: now, Severity: watcher.Info, Text: t}
}
