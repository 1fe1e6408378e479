package web

import (
	"context"
	"fmt"

	"github.com/robotswatch/robotswatch/watcher"
)

// latest gives the newest changes that a filter selects, of those that one
// page looks through.
func (s *Server) latest(ctx context.Context, f watcher.ChangeFilter) ([]watcher.Change, error) {
	page, err := s.deps.Store.ChangePage(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("changes: %w", err)
	}
	return page.Changes, nil
}
