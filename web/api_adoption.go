package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/robotswatch/robotswatch/agents"
)

// adoptionDefault is how far back adoption goes unless asked otherwise.
const adoptionDefault = 90 * 24 * time.Hour

// adoptionRow is how sites stood to one agent, or to a group of agents, at
// the end of a day. A site counts for a group once, by the strictest access
// among the group's watched agents.
type adoptionRow struct {
	Day   string `json:"day" format:"date"`
	Agent string `json:"agent" doc:"Token, or a group such as @training"`
	LevelCounts
	Explicit  LevelCounts `json:"explicit" doc:"Decided by a group that names the agent"`
	Inherited LevelCounts `json:"inherited" doc:"Decided by the * group, or because no group applies"`
	Status    LevelCounts `json:"status" doc:"Decided by the HTTP answer"`
	Sites     int         `json:"sites" doc:"Denominator: all sites"`
	Answered  int         `json:"answered" doc:"Denominator: sites that answered"`
	WithFile  int         `json:"with_robots" doc:"Denominator: sites with a robots.txt"`
}

func (adoptionRow) csvHeader() []string {
	h := []string{"day", "agent"}
	for _, p := range []string{"", "explicit_", "inherited_", "status_"} {
		for _, l := range levels() {
			h = append(h, p+string(l))
		}
	}
	return append(h, "sites", "answered", "with_robots")
}

func (a adoptionRow) csvCells() []string {
	c := []string{a.Day, a.Agent}
	for _, l := range []LevelCounts{a.LevelCounts, a.Explicit, a.Inherited, a.Status} {
		c = append(c, l.cells()...)
	}
	return append(c, itoa(a.Sites), itoa(a.Answered), itoa(a.WithFile))
}

func adoptionOf(d dayTally, agent string) adoptionRow {
	c := d.of(agent)
	return adoptionRow{Day: d.Day.Format(time.DateOnly), Agent: agent, LevelCounts: c.by(-1),
		Explicit: c.by(iNamed), Inherited: c.by(iInherited), Status: c.by(iStatus),
		Sites: d.Sites, Answered: d.answered(), WithFile: d.withFile()}
}

type adoptionInput struct {
	Paging
	Agent    []string `query:"agent" maxItems:"100" doc:"Tokens, comma-separated; without agent and category every watched agent"`
	Category []string `query:"category" enum:"ai,training,search,assistant,all" doc:"Groups of the catalogue, comma-separated"`
	Tag      string   `query:"tag" maxLength:"100" doc:"Only sites with this tag"`
	Since    moment   `query:"since" doc:"First day; 90 days before until without it"`
	Until    moment   `query:"until" doc:"Last day; today without it"`
}

func (s *Server) apiAdoption(api huma.API) {
	operation(s, api, huma.Operation{
		OperationID: "adoption", Method: http.MethodGet, Path: "/adoption", Tags: []string{"adoption"},
		Summary: "How many sites allow what to whom, day by day",
	}, func(ctx context.Context, in *adoptionInput) (*listOutput[adoptionRow], error) {
		who, err := s.adoptionSubjects(in)
		if err != nil {
			return nil, err
		}
		if err := s.known(ctx, in.Tag, ""); err != nil {
			return nil, err
		}
		for _, agent := range in.Agent {
			if err := s.known(ctx, "", agent); err != nil {
				return nil, err
			}
		}
		days, err := s.allDays(ctx, in.Tag)
		if err != nil {
			return nil, err
		}
		since, until := s.span(in.Since, in.Until)
		// The cursor is the last row: its day and its agent.
		cursorDay, cursorAgent, err := dayCursor(in.Cursor)
		if err != nil {
			return nil, err
		}
		rows := make([]adoptionRow, 0, in.Limit+1)
		for _, d := range days {
			if d.Day.Before(since) || d.Day.After(until) || d.Day.Before(cursorDay) {
				continue
			}
			skip := 0
			if d.Day.Equal(cursorDay) {
				skip = slices.Index(who, cursorAgent) + 1
			}
			for _, agent := range who[skip:] {
				if rows = append(rows, adoptionOf(d, agent)); len(rows) > in.Limit {
					break
				}
			}
			if len(rows) > in.Limit {
				break
			}
		}
		return listOf(rows, in.Limit, func(a adoptionRow) string { return a.Day + " " + a.Agent }, func(a adoptionRow) adoptionRow { return a }), nil
	})
}

// adoptionSubjects lists whom the rows of a day are about.
func (s *Server) adoptionSubjects(in *adoptionInput) ([]string, error) {
	var who []string
	for _, c := range in.Category {
		who = append(who, "@"+c)
	}
	for _, a := range in.Agent {
		if err := agents.CheckToken(a); err != nil {
			return nil, badRequest("agent: " + err.Error() + ".")
		}
		who = append(who, s.agent(a).Token)
	}
	if len(who) > 0 {
		return who, nil
	}
	return s.watched()
}
