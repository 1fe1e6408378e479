package web

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/watcher"
)

// announced is a change that somebody expects, so that it alerts nobody.
type announced struct {
	ID    int64     `json:"id"`
	Site  string    `json:"site"`
	Agent string    `json:"agent" doc:"Empty: any agent"`
	Until time.Time `json:"until"`
	Note  string    `json:"note"`
}

func showAnnounced(e watcher.Expectation) announced {
	return announced{ID: e.ID, Site: e.Site, Agent: e.Agent, Until: e.Until.UTC(), Note: e.Note}
}

// announcement is what a client asks for.
type announcement struct {
	Body struct {
		Site  string `json:"site" minLength:"1" maxLength:"300" doc:"Origin or host"`
		Agent string `json:"agent,omitempty" maxLength:"100" doc:"Only changes that touch this one alone; any agent without it"`
		Until moment `json:"until"`
		Note  string `json:"note,omitempty" maxLength:"1000" doc:"Why; shown with the change"`
	}
}

func (s *Server) apiExpectations(api huma.API) {
	token := []map[string][]string{{"token": {}}}
	operation(s, api, huma.Operation{
		OperationID: "list-expectations", Method: http.MethodGet, Path: "/expectations", Tags: []string{"expectations"},
		Summary: "Announced changes that have not run out",
	}, func(ctx context.Context, in *struct {
		Site string `query:"site" maxLength:"300" doc:"Only of this origin or host"`
	}) (*struct {
		Body struct {
			Data []announced `json:"data" nullable:"false"`
		}
	}, error) {
		origin := ""
		if in.Site != "" {
			site, err := s.findSite(ctx, in.Site, "")
			if err != nil {
				return nil, err
			}
			origin = site.Origin
		}
		list, err := s.deps.Store.Expectations(ctx, origin, s.deps.Now())
		if err != nil {
			return nil, err
		}
		out := new(struct {
			Body struct {
				Data []announced `json:"data" nullable:"false"`
			}
		})
		out.Body.Data = []announced{}
		for _, e := range list {
			out.Body.Data = append(out.Body.Data, showAnnounced(e))
		}
		return out, nil
	})
	operation(s, api, huma.Operation{
		OperationID: "announce", Method: http.MethodPost, Path: "/expectations", Tags: []string{"expectations"}, DefaultStatus: http.StatusCreated,
		Summary:     "Announce a change",
		Description: "Until then, changes of the site that touch only the agent are recorded and marked, and alert nobody. Needs the admin token where one is configured.",
		Security:    token,
	}, s.announce)
	operation(s, api, huma.Operation{
		OperationID: "withdraw", Method: http.MethodDelete, Path: "/expectations/{id}", Tags: []string{"expectations"}, DefaultStatus: http.StatusNoContent,
		Summary: "Take an announcement back", Description: "Needs the admin token where one is configured.", Security: token,
	}, func(ctx context.Context, in *struct {
		ID int64 `path:"id" minimum:"1"`
	}) (*struct{}, error) {
		if !isAdmin(ctx) {
			return nil, adminOnly()
		}
		return nil, s.deps.Store.DropExpectation(ctx, in.ID)
	})
}

func (s *Server) announce(ctx context.Context, in *announcement) (*struct{ Body announced }, error) {
	if !isAdmin(ctx) {
		return nil, adminOnly()
	}
	site, err := s.findSite(ctx, in.Body.Site, "")
	if err != nil {
		return nil, err
	}
	e := watcher.Expectation{Site: site.Origin, Until: in.Body.Until.Time, Note: in.Body.Note}
	if !e.Until.After(s.deps.Now()) {
		return nil, badRequest("until has to lie in the future.")
	}
	if in.Body.Agent != "" {
		token, err := agents.ParseToken(in.Body.Agent)
		if err != nil {
			return nil, badRequest(sentence(err))
		}
		if err := s.known(ctx, "", token); err != nil {
			return nil, err
		}
		e.Agent = s.agent(token).Token
	}
	if e.ID, err = s.deps.Store.Expect(ctx, e); err != nil {
		return nil, err
	}
	return &struct{ Body announced }{showAnnounced(e)}, nil
}
