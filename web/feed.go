package web

import (
	"encoding/xml"
	"net/http"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

const (
	feedEntries = 100 // changes in a feed
	feedAgents  = 10  // crawlers told of each
	feedProofs  = 2   // paths told of each crawler and direction
)

type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID         string         `xml:"id"`
	Title      string         `xml:"title"`
	Updated    string         `xml:"updated"`
	Published  string         `xml:"published"`
	Links      []atomLink     `xml:"link"`
	Categories []atomCategory `xml:"category"`
	Content    atomText       `xml:"content"`
}

type atomCategory struct {
	Term string `xml:"term,attr"`
}

type atomText struct {
	Type string `xml:"type,attr"`
	Text string `xml:",chardata"`
}

// feed answers the changes that the filters of the query select as Atom.
// Texts of strangers are plain text in it, never markup.
func (s *Server) feed(w http.ResponseWriter, r *http.Request) {
	f, err := s.changeFilter(r)
	if err == nil {
		err = s.known(r.Context(), f.Tag, f.Agent)
	}
	if err == nil {
		f.Limit = feedEntries
		var page watcher.ChangePage
		if page, err = s.deps.Store.ChangePage(r.Context(), f); err == nil {
			s.writeFeed(w, r, page.Changes)
			return
		}
	}
	e, ours := asAPIError(err)
	if ours {
		s.deps.Log.Error("feed failed", "err", err)
	}
	http.Error(w, e.Message, e.status)
}

func (s *Server) writeFeed(w http.ResponseWriter, r *http.Request, changes []watcher.Change) {
	feed := atomFeed{
		ID: "urn:robotswatch:changes", Title: feedTitle(r), Author: "robotswatch",
		Links: []atomLink{{Href: s.link("/changes")}, {Rel: "self", Href: s.link("/feed.atom" + query(r))}},
	}
	if q := query(r); q != "" {
		feed.ID += ":" + q[1:]
	}
	updated := time.Unix(0, 0) // of an empty feed
	for _, c := range changes {
		if c.At.After(updated) {
			updated = c.At
		}
		at := c.At.UTC().Format(time.RFC3339)
		e := atomEntry{
			ID: "urn:robotswatch:change:" + c.ID, Title: shown(displayHost(c.Site) + ": " + c.Summary),
			Updated: at, Published: at, Links: []atomLink{{Href: s.link("/changes/" + c.ID)}},
			Categories: []atomCategory{{string(c.Kind)}, {string(c.Severity)}},
			Content:    atomText{"text", changeText(c)},
		}
		for _, t := range c.Tags {
			e.Categories = append(e.Categories, atomCategory{shown(t)})
		}
		feed.Entries = append(feed.Entries, e)
	}
	feed.Updated = updated.UTC().Format(time.RFC3339)
	b, err := xml.MarshalIndent(feed, "", " ")
	if err != nil {
		s.deps.Log.Error("feed not rendered", "err", err)
		http.Error(w, "The feed could not be rendered; the log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/atom+xml; charset=utf-8")
	_, _ = w.Write(append([]byte(xml.Header), b...)) // the client may be gone
}

// link is external where an external URL is configured, else what a reader
// resolves against the address of the feed.
func (s *Server) link(path string) string {
	if full := s.external(path); full != "" {
		return full
	}
	return s.prefix + path
}

func query(r *http.Request) string {
	if r.URL.RawQuery == "" {
		return ""
	}
	return "?" + r.URL.Query().Encode()
}

func feedTitle(r *http.Request) string {
	var parts []string
	for _, k := range []string{"site", "agent", "tag", "kind"} {
		if v := r.URL.Query().Get(k); v != "" {
			parts = append(parts, k+" "+shown(v))
		}
	}
	if len(parts) == 0 {
		return "robotswatch: changes"
	}
	return "robotswatch: changes of " + strings.Join(parts, ", ")
}

// changeText words a change for readers without markup.
func changeText(c watcher.Change) string {
	var b strings.Builder
	b.WriteString(shown(c.Summary))
	for i, a := range c.Agents {
		if i == feedAgents {
			b.WriteString("\nand " + itoa(len(c.Agents)-i) + " more crawlers")
			break
		}
		b.WriteString("\n" + shown(a.Agent) + ": " + string(a.Before.Level) + " → " + string(a.After.Level))
		for _, e := range a.NewlyDisallowed[:min(len(a.NewlyDisallowed), feedProofs)] {
			b.WriteString("\n  no longer: " + shown(e.Example) + ruleText(e.Rule, e.Line))
		}
		for _, e := range a.NewlyAllowed[:min(len(a.NewlyAllowed), feedProofs)] {
			b.WriteString("\n  now allowed: " + shown(e.Example) + ruleText(e.Rule, e.Line))
		}
	}
	for _, g := range c.Signals {
		b.WriteString("\n" + shown(g.Name) + ": " + shown(g.Before) + " → " + shown(g.After))
	}
	return b.String()
}

func ruleText(rule *string, line *int) string {
	if rule == nil {
		return ""
	}
	t := " (" + shown(*rule)
	if line != nil {
		t += ", line " + itoa(*line)
	}
	return t + ")"
}
