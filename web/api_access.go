package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// verdict is the answer of the gate.
type verdict struct {
	Site       string        `json:"site"`
	Agent      string        `json:"agent"`
	Path       string        `json:"path"`
	At         *time.Time    `json:"at" doc:"The moment asked about; null is now"`
	Allowed    bool          `json:"allowed" doc:"False while nothing is known"`
	Access     diff.Level    `json:"access" enum:"allowed,partial,restricted,blocked,unknown"`
	State      fetch.State   `json:"state" enum:"policy,absent,denied,unreachable,not_robots,pending"`
	Source     robots.Source `json:"source" enum:"named,wildcard,default,status"`
	Rule       *string       `json:"rule" doc:"That decided; null when none did"`
	Line       *int          `json:"line"`
	ObservedAt *time.Time    `json:"observed_at" doc:"When the answer that decides was last seen"`
	Stale      bool          `json:"stale" doc:"That is more than 24 hours before the moment asked about"`
	Watched    bool          `json:"watched" doc:"False: the site left the configuration and is looked at no more; the answer is how it stood when it was"`
}

// accessRow is the access of one agent on one site.
type accessRow struct {
	Site string `json:"site"`
	AgentAccess
	State      fetch.State `json:"state" enum:"policy,absent,denied,unreachable,not_robots,pending"`
	Since      *time.Time  `json:"since" doc:"How long access has been so; null unless an agent is asked for"`
	ObservedAt *time.Time  `json:"observed_at"`
	Stale      bool        `json:"stale"`
}

func (accessRow) csvHeader() []string {
	return []string{"site", "agent", "access", "source", "state", "since", "observed_at", "stale"}
}

func (a accessRow) csvCells() []string {
	return []string{a.Site, a.Agent, string(a.Access), string(a.Source), string(a.State), csvTime(a.Since), csvTime(a.ObservedAt), strconv.FormatBool(a.Stale)}
}

type accessInput struct {
	Paging
	Site   string        `query:"site" maxLength:"300" doc:"Origin or host"`
	Agent  string        `query:"agent" maxLength:"100" doc:"Product token"`
	Path   string        `query:"path" maxLength:"8192" doc:"Path with query; without it / is meant"`
	At     moment        `query:"at" doc:"As things stood at that moment"`
	Tag    string        `query:"tag" maxLength:"100"`
	Access diff.Level    `query:"access" enum:"allowed,partial,restricted,blocked,unknown"`
	Source robots.Source `query:"source" enum:"named,wildcard,default,status"`
}

// question is one of many.
type question struct {
	Site  string  `json:"site" maxLength:"300" doc:"Origin or host"`
	Agent string  `json:"agent" minLength:"1" maxLength:"100"`
	Path  string  `json:"path,omitempty" maxLength:"8192"`
	At    *moment `json:"at,omitempty"`
}

// reply is a verdict, or why there is none.
type reply struct {
	verdict *verdict
	err     *apiError
}

// MarshalJSON writes whichever of both there is.
func (r reply) MarshalJSON() ([]byte, error) {
	if r.err != nil {
		return json.Marshal(errorBody{errorDetail{r.err.Code, r.err.Message}})
	}
	return json.Marshal(r.verdict)
}

// Schema describes both.
func (reply) Schema(reg huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		reg.Schema(reflect.TypeFor[verdict](), true, "Verdict"), reg.Schema(reflect.TypeFor[errorBody](), true, "ErrorBody"),
	}}
}

type repliesOutput struct {
	Body struct {
		Data []reply `json:"data" nullable:"false"`
	}
}

func (s *Server) apiAccess(api huma.API) {
	schemas := api.OpenAPI().Components.Schemas
	either := &huma.Schema{OneOf: []*huma.Schema{
		schemas.Schema(reflect.TypeFor[verdict](), true, "Verdict"),
		schemas.Schema(reflect.TypeFor[list[accessRow]](), true, "ListAccessRow"),
	}}
	operation(s, api, huma.Operation{
		OperationID: "access", Method: http.MethodGet, Path: "/access", Tags: []string{"access"},
		Summary:     "May an agent fetch a path of a site?",
		Description: "With site and agent: the verdict on one path. Otherwise a list of what holds for each watched agent, by site.",
		Responses: map[string]*huma.Response{"200": {Description: "A verdict, or a list",
			Content: map[string]*huma.MediaType{"application/json": {Schema: either}, "text/csv": {Schema: &huma.Schema{Type: huma.TypeString}}}}},
	}, func(ctx context.Context, in *accessInput) (*struct{ Body any }, error) {
		if in.Site != "" && in.Agent != "" {
			v, err := newGate(s).verdict(ctx, question{Site: in.Site, Agent: in.Agent, Path: in.Path, At: &in.At})
			if err != nil {
				return nil, err
			}
			return &struct{ Body any }{v}, nil
		}
		if in.Path != "" || !in.At.IsZero() {
			return nil, badRequest("A verdict on a path or a date needs site and agent.")
		}
		rows, err := s.accessRows(ctx, in)
		return &struct{ Body any }{rows}, err
	})
	operation(s, api, huma.Operation{
		OperationID: "access-many", Method: http.MethodPost, Path: "/access", Tags: []string{"access"},
		Summary: "The same for up to 10,000 questions", Description: "Answers come in the order of the questions; one that cannot be answered carries an error instead.",
		MaxBodyBytes: 8 << 20,
	}, func(ctx context.Context, in *struct {
		Body struct {
			Questions []question `json:"questions" minItems:"1" maxItems:"10000" nullable:"false"`
		}
	}) (*repliesOutput, error) {
		out := &repliesOutput{}
		out.Body.Data = make([]reply, len(in.Body.Questions))
		gate := newGate(s)
		for i, q := range in.Body.Questions {
			v, err := gate.verdict(ctx, q)
			if err == nil {
				out.Body.Data[i].verdict = v
				continue
			}
			e, ours := asAPIError(err)
			if ours {
				return nil, err
			}
			out.Body.Data[i].err = e
		}
		return out, nil
	})
}

// accessRows lists what holds, by site and then in the order in which agents
// are watched. The cursor is the last row: its origin and its agent.
func (s *Server) accessRows(ctx context.Context, in *accessInput) (list[accessRow], error) {
	rows := list[accessRow]{Data: []accessRow{}}
	if in.Agent != "" {
		token, err := agents.ParseToken(in.Agent)
		if err != nil {
			return rows, badRequest(sentence(err))
		}
		in.Agent = token
	}
	if err := s.known(ctx, in.Tag, in.Agent); err != nil {
		return rows, err
	}
	origin, after, err := rowCursor(in.Cursor)
	if err != nil {
		return rows, err
	}
	sites, next, err := s.accessSites(ctx, in, origin, after)
	if err != nil {
		return rows, err
	}
	since := func(watcher.Site, diff.Access) (t time.Time, first bool) { return }
	if in.Agent != "" {
		if since, err = s.since(ctx, sites, in.Agent); err != nil {
			return rows, err
		}
	}
	for _, site := range sites {
		access, err := s.effective(site)
		if err != nil {
			return rows, err
		}
		if site.Origin == origin {
			if i := slices.IndexFunc(access, func(a watcher.AgentAccess) bool { return a.Agent == after }); i >= 0 {
				access = access[i+1:]
			}
		}
		for _, a := range access {
			if in.Agent != "" && !strings.EqualFold(a.Agent, in.Agent) ||
				in.Access != "" && a.Level != in.Access || in.Source != "" && a.Source != in.Source {
				continue
			}
			if len(rows.Data) == in.Limit {
				last := rows.Data[in.Limit-1]
				rows.NextCursor = last.Site + " " + last.Agent
				return rows, nil
			}
			at, _ := since(site, a.Access)
			seen, stale := site.Seen(a.Source, s.deps.Now())
			rows.Data = append(rows.Data, accessRow{Site: site.Origin, AgentAccess: AgentAccess{a.Agent, a.Level, a.Source},
				State: site.State, Since: never(at), ObservedAt: never(seen), Stale: stale})
		}
	}
	if next != "" {
		rows.NextCursor = next + " " // with no agent: all of that site's were given
	}
	return rows, nil
}

// accessSites gives the sites whose rows come next: the one the cursor stands
// in, and those after it. next: behind which there are others, "" for none.
func (s *Server) accessSites(ctx context.Context, in *accessInput, origin, agent string) (sites []watcher.Site, next string, err error) {
	if in.Site != "" {
		site, err := s.findSite(ctx, in.Site, "")
		return []watcher.Site{site}, "", err
	}
	n := in.Limit/8 + 1 // most sites have more than eight rows
	if in.Agent != "" {
		n = in.Limit
	}
	f, err := s.siteFilter(SiteFilters{Tag: in.Tag, Agent: in.Agent, Access: in.Access, Source: in.Source}, origin, n)
	if err != nil {
		return nil, "", err
	}
	page, err := s.deps.Store.SitePage(ctx, f)
	if err != nil || agent == "" {
		return page.Sites, page.Next, err
	}
	begun, err := s.deps.Store.SiteByOrigin(ctx, origin)
	if errors.Is(err, watcher.ErrNotFound) { // it was never there
		return page.Sites, page.Next, nil
	}
	return append([]watcher.Site{begun}, page.Sites...), page.Next, err
}
