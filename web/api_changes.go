package web

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/robotswatch/robotswatch/watcher"
)

// changeRow is a change event as webhooks carry it.
type changeRow struct{ watcher.Change }

func (changeRow) csvHeader() []string {
	return []string{"id", "at", "site", "kind", "severity", "summary", "agents", "state_before", "state_after", "cause", "before_sha256", "after_sha256", "backfilled", "link"}
}

func (c changeRow) csvCells() []string {
	tokens := make([]string, len(c.Agents))
	for i, a := range c.Agents {
		tokens[i] = a.Agent
	}
	backfilled := "false"
	if c.Backfilled {
		backfilled = "true"
	}
	return []string{c.ID, c.At.UTC().Format(time.RFC3339), c.Site, string(c.Kind), string(c.Severity), c.Summary,
		strings.Join(tokens, " "), string(c.State.Before), string(c.State.After), string(c.Cause),
		c.BeforeSHA256, c.AfterSHA256, backfilled, c.Link}
}

type changesInput struct {
	Paging
	Site     string           `query:"site" maxLength:"300" doc:"Origin or host"`
	Agent    string           `query:"agent" maxLength:"100" doc:"Touches this agent"`
	Tag      string           `query:"tag" maxLength:"100"`
	Kind     []watcher.Kind   `query:"kind" enum:"access,state,signal,crawl_delay,sitemap,cosmetic" doc:"Comma-separated; without it every kind"`
	Severity watcher.Severity `query:"severity" enum:"info,warning,critical" doc:"At least"`
	Since    moment           `query:"since"`
	Until    moment           `query:"until" doc:"Exclusive"`
}

// linked completes a stored change with what only the server knows.
func (s *Server) linked(c watcher.Change) watcher.Change {
	c.Link = s.external("/changes/" + c.ID)
	return c
}

func (s *Server) apiChanges(api huma.API) {
	operation(s, api, huma.Operation{
		OperationID: "list-changes", Method: http.MethodGet, Path: "/changes", Tags: []string{"changes"},
		Summary: "Changes, newest first",
	}, func(ctx context.Context, in *changesInput) (*listOutput[changeRow], error) {
		f := watcher.ChangeFilter{Agent: in.Agent, Tag: in.Tag, Kinds: in.Kind, Cosmetic: true, Severity: in.Severity,
			Since: in.Since.Time, Until: in.Until.Time, Before: in.Cursor, Limit: in.Limit}
		if err := changeCursor(in.Cursor); err != nil {
			return nil, err
		}
		if err := s.known(ctx, in.Tag, in.Agent); err != nil {
			return nil, err
		}
		if in.Site != "" {
			site, err := s.findSite(ctx, in.Site, "")
			if err != nil {
				return nil, err
			}
			f.Site = site.Origin
		}
		page, err := s.deps.Store.ChangePage(ctx, f)
		if err != nil {
			return nil, err
		}
		out := &listOutput[changeRow]{Body: list[changeRow]{Data: make([]changeRow, len(page.Changes)), NextCursor: page.Next}}
		for i, c := range page.Changes {
			out.Body.Data[i] = changeRow{s.linked(c)}
		}
		return out, nil
	})
	operation(s, api, huma.Operation{
		OperationID: "get-change", Method: http.MethodGet, Path: "/changes/{id}", Tags: []string{"changes"},
		Summary: "One change with its proof",
	}, func(ctx context.Context, in *struct {
		ID string `path:"id" maxLength:"64"`
	}) (*struct{ Body changeRow }, error) {
		c, err := s.deps.Store.ChangeByID(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return &struct{ Body changeRow }{changeRow{s.linked(c)}}, nil
	})
}
