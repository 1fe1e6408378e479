package main

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
)

// Who asks the journal for errors, or for one site, gets those; and who just
// reads it sees all that there is to a line.
func TestJournalHasFieldsAndWords(t *testing.T) {
	var message string
	var level journal.Priority
	var fields map[string]string
	var lines bytes.Buffer
	full := false
	var threshold slog.LevelVar
	log := slog.New(&journalHandler{
		level: &threshold,
		send: func(m string, p journal.Priority, f map[string]string) error {
			if full {
				return errors.New("no room")
			}
			message, level, fields = m, p, f
			return nil
		},
		otherwise: slog.NewJSONHandler(&lines, nil),
	})

	log.With("site", "https://a.example").WithGroup("look").Error("cannot record results",
		"error", errors.New("disk full\nPRIORITY=7"), "took", 1500*time.Millisecond, slog.Group("next", "at-once", true), "_MACHINE_ID", "x")
	if want := `cannot record results site=https://a.example look.error="disk full\nPRIORITY=7" look.took=1.5s look.next.at-once=true look._MACHINE_ID=x`; message != want {
		t.Errorf("the message is %s\nwant           %s", message, want)
	}
	if level != journal.PriErr {
		t.Errorf("the priority is %d", level)
	}
	if want := map[string]string{"SYSLOG_IDENTIFIER": "robotswatch", "SITE": "https://a.example", "LOOK_ERROR": `disk full\x0aPRIORITY=7`,
		"LOOK_TOOK": "1.5s", "LOOK_NEXT_AT_ONCE": "true", "LOOK__MACHINE_ID": "x"}; !maps.Equal(fields, want) {
		t.Errorf("the fields are %v\nwant           %v", fields, want)
	}

	message = ""
	if log.Debug("quiet"); message != "" {
		t.Errorf("below the level: %s", message)
	}
	threshold.Set(slog.LevelDebug)
	for say, want := range map[string]journal.Priority{"debug": journal.PriDebug, "info": journal.PriInfo, "warn": journal.PriWarning} {
		var l slog.Level
		if err := l.UnmarshalText([]byte(say)); err != nil {
			t.Fatal(err)
		}
		if log.Log(t.Context(), l, say); level != want || message != say {
			t.Errorf("%s has the priority %d: %s", say, level, message)
		}
	}

	full = true
	if log.Warn("heard all the same", "site", "b.example"); !strings.Contains(lines.String(), `"msg":"heard all the same","site":"b.example"`) {
		t.Errorf("without a journal: %s", lines.String())
	}
}

// Why a daemon does not start is an error in the journal, where stderr would be
// information, and is said on stderr where there is no journal.
func TestAStartInVainIsAnErrorInTheJournal(t *testing.T) {
	for _, c := range []struct {
		format string
		none   bool
		want   string // in the journal, else on stderr
	}{{"journal", false, "journal"}, {"journal", true, "stderr"}, {"text", false, "stderr"}} {
		told := map[string]string{}
		var errs bytes.Buffer
		a := &app{stderr: &errs, getenv: func(string) string { return "" }, journal: func(m string, p journal.Priority, _ map[string]string) error {
			if c.none {
				return errors.New("no such socket")
			}
			if p == journal.PriErr {
				told["journal"] += m
			}
			return nil
		}}
		if code := a.main(t.Context(), []string{"--log-format", c.format, "--config", "none.toml", "run"}); code != exitTrouble {
			t.Errorf("exit %d", code)
		}
		if told["stderr"] = errs.String(); !strings.HasPrefix(told[c.want], "robotswatch: ") || !strings.Contains(told[c.want], "none.toml") || len(told["journal"])*len(told["stderr"]) > 0 {
			t.Errorf("%+v: %q", c, told)
		}
	}
}
