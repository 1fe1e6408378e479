package web

import (
	"net/http"

	"github.com/robotswatch/robotswatch/notify"
)

type deliveriesPart struct {
	ID, Heading, Empty string
	Rows               []notify.Delivery
}

// deliveries shows what receivers are owed, for whoever runs the daemon.
func (s *Server) deliveries(r *http.Request) (view, error) {
	parts := []deliveriesPart{
		{ID: "dead", Heading: "Given up", Empty: "Every alert arrived in time."},
		{ID: "pending", Heading: "Still trying", Empty: "Nothing waits."},
	}
	for i, status := range []notify.Status{notify.StatusDead, notify.StatusPending} {
		var err error
		if parts[i].Rows, err = s.deps.Store.Owed(r.Context(), status, pageEntries); err != nil {
			return view{}, err
		}
	}
	return view{Name: "deliveries", Title: "Deliveries", Section: "/deliveries", Data: struct{ Parts []deliveriesPart }{parts}}, nil
}
