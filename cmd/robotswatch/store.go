package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/store"
)

func (a *app) storeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Migrate, back up, copy or check the store",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	cmd.AddCommand(a.storeMigrateCommand(), a.storeBackupCommand(), a.storeCopyCommand(), a.storeCheckCommand())
	return cmd
}

// storeURL is the configured one.
func (a *app) storeURL() (string, error) {
	cfg, err := a.loadConfig()
	if err != nil {
		return "", err
	}
	return cfg.Store.URL.Reveal(), nil
}

func (a *app) storeMigrateCommand() *cobra.Command {
	var backup string
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the store to the schema of this version, or create it",
		Long: `Brings the store to the schema of this version, or creates it. The daemon does
the same when it starts; this is for doing it at a time of one's own choice.
With --backup what is there is first written to FILE.`,
		Example: "  robotswatch store migrate --backup before.db",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := a.storeURL()
			if err != nil {
				return err
			}
			return a.migrateStore(cmd.Context(), url, backup)
		},
	}
	cmd.Flags().StringVar(&backup, "backup", "", "first write what is there to this new `FILE`")
	return cmd
}

func (a *app) migrateStore(ctx context.Context, url, backup string) error {
	was, err := store.Open(ctx, url, store.Options{ReadOnly: true, AnySchema: true})
	switch {
	case errors.Is(err, store.ErrNoStore):
	case err != nil:
		return err
	default:
		err := a.backupStore(ctx, was, backup)
		if err := errors.Join(err, was.Close()); err != nil {
			return err
		}
	}
	s, err := store.Open(ctx, url, store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = fmt.Fprintf(a.stdout, "%s has schema version %d\n", store.Redact(url), s.Schema())
	return err
}

// backupStore writes a backup and says so; to "" it writes none.
func (a *app) backupStore(ctx context.Context, s *store.Store, path string) error {
	if path == "" {
		return nil
	}
	if err := s.Backup(ctx, path, a.copyProgress()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "%s written\n", path)
	return err
}

// copyProgress tells how far a copy is, on a terminal only.
func (a *app) copyProgress() store.Progress {
	if !isTerminal(a.stderr) {
		return nil
	}
	var last time.Time
	return func(table string, rows int64) {
		if time.Since(last) > time.Second/5 {
			last = time.Now()
			fmt.Fprintf(a.stderr, "\r\x1b[K%s: %d rows\r", table, rows)
		}
	}
}

func (a *app) storeBackupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write the store as it is at this moment to a new SQLite file",
		Long: `Writes the store as it is at this moment to a new SQLite file, whole or not at
all, while the daemon works. The file is a store itself: use it by
store.url = "sqlite:FILE", or bring it into PostgreSQL with store copy.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			url, err := a.storeURL()
			if err != nil {
				return err
			}
			s, err := store.Open(cmd.Context(), url, store.Options{ReadOnly: true})
			if err != nil {
				return err
			}
			return errors.Join(a.backupStore(cmd.Context(), s, args[0]), s.Close())
		},
	}
}

func (a *app) storeCopyCommand() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "copy --from URL --to URL",
		Short: "Copy a store into an empty one, of the other kind or not",
		Long: `Copies everything into an empty store, of the other kind or not, and compares
counts and checksums at the end. Daemons must be stopped. A copy that was
interrupted goes on where it stopped when it is run again; until it is
finished no daemon starts on the target.`,
		Example: "  robotswatch store copy --from sqlite:robotswatch.db --to postgres://robotswatch@db/robotswatch",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.copyStore(cmd.Context(), from, to)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "`URL` of the store to copy (default: the configured one)")
	cmd.Flags().StringVar(&to, "to", "", "`URL` of the empty store")
	_ = cmd.MarkFlagRequired("to")
	return cmd
}

func (a *app) copyStore(ctx context.Context, from, to string) (err error) {
	if from == "" {
		if from, err = a.storeURL(); err != nil {
			return err
		}
	}
	if from == to {
		return errors.New("--from and --to name the same store")
	}
	source, err := store.Open(ctx, from, store.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := store.Open(ctx, to, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if err := store.Copy(ctx, source, target, a.copyProgress()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s copied to %s, counts and checksums are equal\n", store.Redact(from), store.Redact(to))
	return err
}

func (a *app) storeCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Read everything in the store and say what does not fit together",
		Long: `Reads everything in the store: the database's own integrity, bodies against
their hashes, what was seen against its chain, references, events, counts
against a recount. Exit code 1 when something does not fit. It may run beside the daemon.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := a.storeURL()
			if err != nil {
				return err
			}
			s, err := store.Open(cmd.Context(), url, store.Options{ReadOnly: true})
			if err != nil {
				return err
			}
			problems := 0
			err = s.Check(cmd.Context(), func(p store.Problem) {
				problems++
				fmt.Fprintln(a.stdout, p)
			})
			switch err := errors.Join(err, s.Close()); {
			case err != nil:
				return err
			case problems > 0:
				return errAnswer
			}
			_, err = fmt.Fprintln(a.stdout, "the store is sound")
			return err
		},
	}
}
