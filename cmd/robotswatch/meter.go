package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/robotswatch/robotswatch/history"
)

const (
	meterBar  = 200 * time.Millisecond // between two drawings of the bar
	meterLine = 10 * time.Second       // between two log lines
	barWidth  = 30
)

// meter shows how far something has come: a bar on a terminal, log lines
// otherwise.
type meter struct {
	out      io.Writer // nil: no terminal
	log      *slog.Logger
	phase    history.Phase
	began    time.Time // of the phase
	from     int64     // where it began
	last     time.Time // shown
	drawn    bool
	captures int64
}

func newMeter(stderr io.Writer, log *slog.Logger) *meter {
	m := &meter{log: log}
	if isTerminal(stderr) {
		m.out = stderr
	}
	return m
}

func (m *meter) progress(p history.Progress) {
	now := time.Now()
	if p.Phase != m.phase {
		m.phase, m.began, m.last, m.from, m.captures = p.Phase, now, now, p.Done, p.Captures
		return
	}
	every := meterLine
	if m.out != nil {
		every = meterBar
	}
	if now.Sub(m.last) < every {
		return
	}
	m.last = now
	took := now.Sub(m.began).Seconds()
	rate := float64(p.Captures-m.captures) / took
	if p.Phase == history.Judging {
		rate = float64(p.Done-m.from) / took
	}
	share, left := 0.0, time.Duration(0)
	if p.Total > 0 && p.Done > m.from {
		share = min(float64(p.Done)/float64(p.Total), 1)
		left = time.Duration(float64(p.Total-p.Done) / float64(p.Done-m.from) * took * float64(time.Second)).Round(time.Second)
	}
	if m.out == nil {
		if p.Total == 0 {
			m.log.Info(string(p.Phase), "captures", p.Captures, "per_second", int64(rate))
		} else {
			m.log.Info(string(p.Phase), "percent", int(share*100), "captures", p.Captures, "per_second", int64(rate), "left", left.String())
		}
		return
	}
	m.drawn = true
	full := int(share * barWidth)
	bar := strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
	if p.Total == 0 { // a pipe: nobody knows how much there is
		fmt.Fprintf(m.out, "\r\x1b[K%s  %s captures  %s/s", p.Phase, humanize.Comma(p.Captures), humanize.Comma(int64(rate)))
		return
	}
	fmt.Fprintf(m.out, "\r\x1b[K%s %s %3.0f %%  %s captures  %s/s  %s left", p.Phase, bar, share*100,
		humanize.Comma(p.Captures), humanize.Comma(int64(rate)), left)
}

// say shows a line beside the bar, or in the log.
func (m *meter) say(line string) {
	m.clear()
	if m.out == nil {
		m.log.Warn(line)
		return
	}
	fmt.Fprintln(m.out, line)
}

// clear makes room for other output.
func (m *meter) clear() {
	if m.drawn {
		fmt.Fprint(m.out, "\r\x1b[K")
		m.drawn = false
	}
}
