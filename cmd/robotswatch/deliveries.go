package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/config"
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
			s, cfg, err := a.openStore(cmd.Context(), store.Options{ReadOnly: !retry && !drop})
			if err != nil {
				return err
			}
			defer s.Close()
			if err := knownDeliveries(cmd.Context(), s, cfg, filter, retry || drop); err != nil {
				return err
			}
			if retry || drop {
				return a.settleDeliveries(cmd.Context(), s, filter, retry)
			}
			return deliveryTable.write(a.stdout, q.format, limited(a, &q, deliveryRows(cmd.Context(), s, filter)))
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

// knownDeliveries reports a receiver and numbers that there are not, and, when
// they are to be settled, those that were sent.
func knownDeliveries(ctx context.Context, s *store.Store, cfg *config.Config, f store.DeliveryFilter, settle bool) error {
	if f.Receiver != "" {
		if err := knownReceiver(ctx, s, cfg, f.Receiver); err != nil {
			return err
		}
	}
	if len(f.IDs) == 0 {
		return nil
	}
	found, err := s.ListDeliveries(ctx, store.DeliveryFilter{IDs: f.IDs, Receiver: f.Receiver})
	if err != nil {
		return err
	}
	for _, id := range f.IDs {
		switch i := slices.IndexFunc(found, func(d notify.Delivery) bool { return d.ID == id }); {
		case i < 0 && f.Receiver != "":
			return fmt.Errorf("there is no delivery %d to %s", id, f.Receiver)
		case i < 0:
			return fmt.Errorf("there is no delivery %d", id)
		case settle && found[i].Status == notify.StatusSent:
			return fmt.Errorf("delivery %d was sent: there is nothing to retry or drop", id)
		}
	}
	return nil
}

func (a *app) settleDeliveries(ctx context.Context, s *store.Store, filter store.DeliveryFilter, retry bool) error {
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

// openStore opens the configured store beside a daemon.
func (a *app) openStore(ctx context.Context, o store.Options) (*store.Store, *config.Config, error) {
	cfg, err := a.loadConfig()
	if err != nil {
		return nil, nil, err
	}
	s, err := store.Open(ctx, cfg.Store.URL.Reveal(), o)
	return s, cfg, err
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
