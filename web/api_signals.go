package web

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/robotswatch/robotswatch/watcher"
)

type signalsInput struct {
	Paging
	Name   string `query:"name" maxLength:"100" doc:"Only lines of this name, such as content-signal, content-usage or license"`
	Signal string `query:"signal" maxLength:"200" doc:"Only this statement"`
	Scope  string `query:"scope" maxLength:"100" doc:"Only statements for this agent; * for everyone"`
	Tag    string `query:"tag" maxLength:"100" doc:"Only sites with this tag"`
	Since  moment `query:"since" doc:"First day; 90 days before until without it"`
	Until  moment `query:"until" doc:"Last day; today without it"`
}

func (s *Server) apiSignals(api huma.API) {
	operation(s, api, huma.Operation{
		OperationID: "signals", Method: http.MethodGet, Path: "/signals", Tags: []string{"signals"},
		Summary: "How many sites state what about use, day by day",
	}, func(ctx context.Context, in *signalsInput) (*listOutput[signalDay], error) {
		if _, ok := watcher.ParseStatement(in.Signal); in.Signal != "" && !ok {
			return nil, noSuchSignal()
		}
		if err := s.known(ctx, in.Tag, ""); err != nil {
			return nil, err
		}
		since, until := s.span(in.Since, in.Until)
		cursorDay, cursorSignal, err := dayCursor(in.Cursor)
		if err != nil {
			return nil, err
		}
		if cursorDay.After(since) {
			since = cursorDay
		}
		rows, err := s.signalDays(ctx, in.Tag, since, until, func(st watcher.Statement) bool {
			return (in.Name == "" || st.Name == lower(in.Name)) && (in.Scope == "" || st.Scope == lower(in.Scope)) &&
				(in.Signal == "" || st.String() == in.Signal)
		})
		if err != nil {
			return nil, err
		}
		for i, r := range rows {
			if r.Signal == cursorSignal && r.Day == cursorDay.Format(time.DateOnly) {
				rows = rows[i+1:]
				break
			}
		}
		return listOf(rows[:min(len(rows), in.Limit+1)], in.Limit, func(d signalDay) string { return d.Day + " " + d.Signal },
			func(d signalDay) signalDay { return d }), nil
	})
}

func noSuchSignal() *apiError {
	return badRequest("A signal is written like content-signal ai-train=no for *, as /api/v1/signals lists them.")
}

// span gives the days that a list by day covers.
func (s *Server) span(from, to moment) (since, until time.Time) {
	until = dayOf(s.deps.Now())
	if !to.IsZero() {
		until = dayOf(to.Time)
	}
	since = until.Add(-adoptionDefault)
	if !from.IsZero() {
		since = dayOf(from.Time)
	}
	return since, until
}
