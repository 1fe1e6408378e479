package main

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/journal"

	"github.com/robotswatch/robotswatch/internal/visible"
)

// journalSender puts one entry into systemd's journal.
type journalSender func(message string, p journal.Priority, fields map[string]string) error

// journalHandler logs into systemd's journal: the level is the priority and
// each attribute a field of its own, so that journalctl can select by them.
// The message has them all too, since that is what journalctl shows.
type journalHandler struct {
	level     slog.Leveler
	attrs     []slog.Attr // flat, with the groups in their keys
	group     string
	send      journalSender
	otherwise slog.Handler // where the journal takes nothing
}

func (h *journalHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

func (h *journalHandler) Handle(ctx context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = flat(attrs, h.group, a)
		return true
	})
	message, err := inWords(ctx, r.Message, attrs)
	if err != nil {
		return err
	}
	fields := map[string]string{"SYSLOG_IDENTIFIER": "robotswatch"}
	for _, a := range attrs {
		if name := fieldName(a.Key); name != "" {
			fields[name] = visible.Text(a.Value.String())
		}
	}
	if err := h.send(message, priority(r.Level), fields); err != nil {
		return h.otherwise.Handle(ctx, r)
	}
	return nil
}

func (h *journalHandler) WithAttrs(list []slog.Attr) slog.Handler {
	next := *h
	next.attrs = slices.Clone(h.attrs)
	for _, a := range list {
		next.attrs = flat(next.attrs, h.group, a)
	}
	next.otherwise = h.otherwise.WithAttrs(list)
	return &next
}

func (h *journalHandler) WithGroup(name string) slog.Handler {
	next := *h
	next.group += name + "."
	next.otherwise = h.otherwise.WithGroup(name)
	return &next
}

// flat appends an attribute, and what it holds if it is a group.
func flat(list []slog.Attr, group string, a slog.Attr) []slog.Attr {
	a.Value = a.Value.Resolve()
	if a.Value.Kind() != slog.KindGroup {
		a.Key = group + a.Key
		return append(list, a)
	}
	if a.Key != "" {
		group += a.Key + "."
	}
	for _, inner := range a.Value.Group() {
		list = flat(list, group, inner)
	}
	return list
}

// inWords is one line: the message and its attributes as text logs have them.
func inWords(ctx context.Context, message string, attrs []slog.Attr) (string, error) {
	var line bytes.Buffer
	text := slog.NewTextHandler(&line, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{} // a priority, and before the rest
		}
		return a
	}})
	var bare slog.Record // without a time, which the journal has
	bare.AddAttrs(attrs...)
	err := text.Handle(ctx, bare)
	return strings.TrimSpace(message + " " + line.String()), err
}

// fieldName is what the journal accepts: upper case letters, digits and
// underscores, not first.
func fieldName(key string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, key)
	return strings.TrimLeft(name, "_")
}

func priority(l slog.Level) journal.Priority {
	switch {
	case l >= slog.LevelError:
		return journal.PriErr
	case l >= slog.LevelWarn:
		return journal.PriWarning
	case l >= slog.LevelInfo:
		return journal.PriInfo
	}
	return journal.PriDebug
}
