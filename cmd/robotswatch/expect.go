package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

func (a *app) expectCommand() *cobra.Command {
	var tokens []string
	var until, note string
	var list, drop bool
	cmd := &cobra.Command{
		Use:   "expect SITE",
		Short: "Announce a change, so that it is recorded but does not alert",
		Long: `Announces a change of a site: until the time given, changes that touch only the
agents named (any agent, without --agent) are recorded and marked with the
note, and alert nobody.

Without --until, --list shows what is announced, and --drop takes back the
announcement whose number is given in place of the site.`,
		Example: "  robotswatch expect example.com --agent GPTBot --until 2d --note \"new policy, ticket 4711\"\n  robotswatch expect --list",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			site := ""
			if len(args) == 1 {
				site = args[0]
			}
			switch {
			case list && drop:
				return errors.New("--list and --drop: only one of them")
			case list:
				return a.listExpected(cmd.Context(), site)
			case site == "":
				return errors.New("name a SITE, or ask for --list")
			case drop:
				return a.dropExpected(cmd.Context(), site)
			}
			return a.expect(cmd.Context(), site, tokens, until, note)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&tokens, "agent", nil, "only changes for this product `token`; repeatable")
	f.StringVar(&until, "until", "", "until this `time`: 2026-12-24, 2026-12-24T12:00:00Z, or a duration from now such as 2d")
	f.StringVar(&note, "note", "", "why; shown with the change")
	f.BoolVar(&list, "list", false, "show what is announced")
	f.BoolVar(&drop, "drop", false, "take an announcement back, by its number")
	return cmd
}

func (a *app) expect(ctx context.Context, site string, tokens []string, until, note string) error {
	now := time.Now()
	end, err := parseEnd(until, now)
	if err != nil {
		return err
	}
	catalogue, err := agents.Load()
	if err != nil {
		return err
	}
	s, cfg, err := a.openStore(ctx, store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	judge, err := watcher.NewJudge(judgeSettings(cfg, catalogue))
	if err != nil {
		return err
	}
	origin, err := (&library{store: s, judge: judge}).knownSite(ctx, site, true)
	if err != nil {
		return err
	}
	for i, t := range tokens {
		if t, err = agents.ParseToken(t); err != nil {
			return fmt.Errorf("--agent: %w", err)
		}
		if err := knownAgent(ctx, s, judge, t); err != nil {
			return err
		}
		tokens[i] = watcher.AgentNamed(catalogue, t).Token
	}
	if len(tokens) == 0 {
		tokens = []string{""}
	}
	for _, t := range tokens {
		id, err := s.Expect(ctx, watcher.Expectation{Site: origin, Agent: t, Until: end, Note: note})
		if err != nil {
			return err
		}
		who := "any agent"
		if t != "" {
			who = t
		}
		if _, err := fmt.Fprintf(a.stdout, "%d: changes of %s for %s alert nobody until %s\n", id, origin, who, moment(end)); err != nil {
			return err
		}
	}
	return nil
}

// parseEnd reads a time to come.
func parseEnd(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, errors.New("--until is needed: for how long the change is expected")
	}
	if d, err := config.ParseDuration(s); err == nil {
		if d <= 0 {
			return time.Time{}, fmt.Errorf("--until %q: is not in the future", s)
		}
		return now.Add(d), nil
	}
	end, err := parseMoment("until", s, now)
	if err != nil {
		return time.Time{}, err
	}
	if !end.After(now) {
		return time.Time{}, fmt.Errorf("--until %q: is not in the future", s)
	}
	return end, nil
}

func (a *app) listExpected(ctx context.Context, site string) error {
	lib, err := a.openLibrary(ctx)
	if err != nil {
		return err
	}
	defer lib.store.Close()
	if site != "" {
		if site, err = lib.knownSite(ctx, site, false); err != nil {
			return err
		}
	}
	list, err := lib.store.Expectations(ctx, site, time.Now())
	if err != nil {
		return err
	}
	return expectTable.write(a.stdout, "table", func(yield func(watcher.Expectation, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	})
}

var expectTable = table[watcher.Expectation]{
	header: []string{"id", "site", "agent", "until", "note"},
	cells: func(e watcher.Expectation) []string {
		return []string{fmt.Sprint(e.ID), e.Site, e.Agent, moment(e.Until), e.Note}
	},
}

func (a *app) dropExpected(ctx context.Context, number string) error {
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return fmt.Errorf("--drop %q: want the number of an announcement, see --list", number)
	}
	s, _, err := a.openStore(ctx, store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	err = s.DropExpectation(ctx, id)
	if errors.Is(err, watcher.ErrNotFound) {
		return fmt.Errorf("there is no announcement %d", id)
	}
	return err
}
