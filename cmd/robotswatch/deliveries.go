package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/store"
)

func (a *app) deliveriesCommand() *cobra.Command {
	var q queryFlags
	var filter store.DeliveryFilter
	var dead, retry, drop bool
	cmd := &cobra.Command{
		Use:   "deliveries [ID...]",
		Short: "List deliveries that are pending or dead; retry or drop the dead ones",
		Long: `Lists what is still to be delivered and what was given up, oldest first. With
--retry or --drop, the dead ones among them are made pending again, with all
of max_age before them, or deleted; those named by ID also when they are not
dead.`,
		Example: "  robotswatch deliveries --dead\n  robotswatch deliveries --receiver policy --retry",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.check(); err != nil {
				return err
			}
			if retry && drop {
				return errors.New("--retry and --drop: only one of them")
			}
			filter.Statuses = []notify.Status{notify.StatusPending, notify.StatusDead}
			if dead || (retry || drop) && len(args) == 0 {
				filter.Statuses = []notify.Status{notify.StatusDead}
			}
			for _, arg := range args {
				id, err := strconv.ParseInt(arg, 10, 64)
				if err != nil {
					return fmt.Errorf("%q is not the number of a delivery", arg)
				}
				filter.IDs = append(filter.IDs, id)
			}
			if retry || drop {
				return a.settleDeliveries(cmd.Context(), filter, retry)
			}
			lib, err := a.openLibrary(cmd.Context())
			if err != nil {
				return err
			}
			defer lib.store.Close()
			return deliveryTable.write(a.stdout, q.format, limited(deliveryRows(cmd.Context(), lib.store, filter), q.limit))
		},
	}
	q.add(cmd)
	f := cmd.Flags()
	f.StringVar(&filter.Receiver, "receiver", "", "only those to this receiver")
	f.BoolVar(&dead, "dead", false, "only those that were given up")
	f.BoolVar(&retry, "retry", false, "try the dead ones again")
	f.BoolVar(&drop, "drop", false, "delete the dead ones")
	return cmd
}

func (a *app) settleDeliveries(ctx context.Context, filter store.DeliveryFilter, retry bool) error {
	s, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	did, settle := "dropped", s.DropDeliveries
	if retry {
		did, settle = "to be tried again", func(ctx context.Context, f store.DeliveryFilter) (int64, error) {
			return s.RetryDeliveries(ctx, f, time.Now())
		}
	}
	n, err := settle(ctx, filter)
	if err != nil {
		return err
	}
	what := "deliveries"
	if n == 1 {
		what = "delivery"
	}
	_, err = fmt.Fprintf(a.stdout, "%d %s %s\n", n, what, did)
	return err
}

// openStore opens the configured store for writing beside a daemon.
func (a *app) openStore(ctx context.Context) (*store.Store, error) {
	cfg, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, cfg.Store.URL.Reveal(), store.Options{})
}

// deliveryRow is a delivery as it is printed.
type deliveryRow struct {
	ID       int64         `json:"id"`
	Receiver string        `json:"receiver"`
	Status   notify.Status `json:"status"`
	Site     string        `json:"site"`
	Summary  string        `json:"summary"`
	Change   string        `json:"change_id"`
	Created  time.Time     `json:"created_at"`
	Attempts int           `json:"attempts"`
	Next     *time.Time    `json:"next_at"`
	Error    string        `json:"error"`
}

var deliveryTable = table[deliveryRow]{
	header: []string{"id", "receiver", "status", "site", "summary", "created_at", "attempts", "next_at", "error"},
	cells: func(r deliveryRow) []string {
		return []string{fmt.Sprint(r.ID), r.Receiver, string(r.Status), r.Site, r.Summary, moment(r.Created), fmt.Sprint(r.Attempts), when(r.Next), r.Error}
	},
}

// deliveryRows reads page by page.
func deliveryRows(ctx context.Context, s *store.Store, f store.DeliveryFilter) iter.Seq2[deliveryRow, error] {
	return func(yield func(deliveryRow, error) bool) {
		for f.Limit = 500; ; {
			page, err := s.ListDeliveries(ctx, f)
			if err != nil {
				yield(deliveryRow{}, err)
				return
			}
			for _, d := range page {
				row := deliveryRow{
					ID: d.ID, Receiver: d.Receiver, Status: d.Status, Site: d.Change.Site, Summary: d.Change.Summary, Change: d.Change.ID,
					Created: d.CreatedAt, Attempts: d.Attempts, Error: d.LastError,
				}
				if d.Status == notify.StatusPending {
					row.Next = optional(d.NextAt)
				}
				if !yield(row, nil) {
					return
				}
				f.After = d.ID
			}
			if len(page) < f.Limit {
				return
			}
		}
	}
}
