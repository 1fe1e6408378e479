package notify

import (
	"context"
	"log/slog"

	"github.com/robotswatch/robotswatch/watcher"
)

type logSender struct{ log *slog.Logger }

// NewLog makes the sender of a log receiver: one line a message.
func NewLog(log *slog.Logger) Sender { return &logSender{log} }

func (s *logSender) Send(ctx context.Context, m Message) (string, error) {
	level := slog.LevelInfo
	if m.Severity == watcher.Critical || m.Severity == watcher.Warning {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{slog.String("kind", string(m.Kind)), slog.String("severity", string(m.Severity))}
	if m.ID != "" {
		attrs = append(attrs, slog.String("id", m.ID))
	}
	if len(m.Changes) > 0 {
		c := m.Changes[0]
		attrs = append(attrs, slog.String("change", string(c.Kind)), slog.String("site", c.Site))
		if c.Link != "" {
			attrs = append(attrs, slog.String("link", c.Link))
		}
	}
	if m.Totals.Sites > 1 {
		attrs = append(attrs, slog.Int("sites", m.Totals.Sites), slog.Int("changes", m.Totals.Deliveries))
	}
	s.log.LogAttrs(ctx, level, m.Text.Title, attrs...)
	return "", nil
}
