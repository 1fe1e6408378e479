package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/dataset"
	"github.com/robotswatch/robotswatch/evidence"
	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/store"
)

func (a *app) evidenceCommand() *cobra.Command {
	var at, out string
	cmd := &cobra.Command{
		Use:   "evidence SITE",
		Short: "Write a bundle that proves to others what a site answered",
		Long: `Writes a bundle about what a site answered at a time: body, headers, the place
of the record in the chain of all that was seen of the site, and what it means
for each agent. Somebody else verifies it with "robotswatch evidence verify",
without network or store. docs/evidence.md says what that proves and what not.`,
		Example: "  robotswatch evidence example.com --at 2026-05-01 -o example.evidence\n  robotswatch evidence verify example.evidence",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := config.NormalizeOrigin(args[0]); err != nil {
				return fmt.Errorf("%q: %w", args[0], err)
			}
			moment, err := parsePast("at", at, time.Now())
			if err != nil {
				return err
			}
			lib, err := a.openLibrary(cmd.Context())
			if err != nil {
				return err
			}
			defer lib.store.Close()
			origin, err := lib.origin(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			data, err := (&notary{lib.store, lib.judge}).bundle(cmd.Context(), origin, moment)
			if err != nil {
				return err
			}
			return a.deliver(out, func(w io.Writer) error { _, err := w.Write(data); return err })
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "as of this `time`: 2026-05-01, 2026-05-01T12:00:00Z, or a duration ago such as 7d (default: now)")
	cmd.Flags().StringVarP(&out, "output", "o", "-", "`file` to write, - for standard output")
	cmd.AddCommand(a.evidenceVerifyCommand(), a.evidenceHeadsCommand())
	return cmd
}

// deliver writes to a file, whole or not at all, or to standard output.
func (a *app) deliver(path string, write func(io.Writer) error) error {
	if path == "-" {
		return write(a.stdout)
	}
	return dataset.File(path, write)
}

// maxEvidenceFile bounds what is read of a bundle, in octets: several times
// the largest body. A list of heads has about 100 octets a site.
const (
	maxEvidenceFile = 32 << 20
	maxHeadsFile    = 1 << 30
)

// readLimited reads a whole file, or standard input, of at most max octets.
func (a *app) readLimited(path string, max int64) ([]byte, error) {
	in := a.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, max+1))
	if err == nil && int64(len(data)) > max {
		err = fmt.Errorf("more than %d octets", max)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

func (a *app) evidenceVerifyCommand() *cobra.Command {
	var headsFile string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Verify a bundle, offline",
		Long: `Verifies a bundle by itself: that it is whole, that its body is the one of its
record, that the record is in the chain that the bundle names, and that the
body reads as the bundle says. With --heads also that the record was in the
chain when those heads were published. Exit code 1 when something is wrong.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := a.readLimited(args[0], maxEvidenceFile)
			if err != nil {
				return err
			}
			var heads *evidence.Heads
			if headsFile != "" {
				text, err := a.readLimited(headsFile, maxHeadsFile)
				if err != nil {
					return err
				}
				h, err := evidence.ParseHeads(text)
				if err != nil {
					return fmt.Errorf("%s: %w", headsFile, err)
				}
				heads = &h
			}
			return a.verifyBundle(args[0], data, heads)
		},
	}
	cmd.Flags().StringVar(&headsFile, "heads", "", "compare with this `file` of published heads")
	return cmd
}

func (a *app) verifyBundle(name string, data []byte, heads *evidence.Heads) error {
	b, err := evidence.Decode(data)
	if errors.Is(err, evidence.ErrBroken) {
		fmt.Fprintf(a.stdout, "wrong: %v\n", visible.Text(err.Error()))
		return errAnswer
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	record, found := b.Verify(buildVersion())
	if heads != nil {
		found = append(found, b.Against(*heads))
	}
	ok := evidence.OK(found)
	if ok {
		fmt.Fprintf(a.stdout, "sound: %s\n", name)
	} else {
		fmt.Fprintf(a.stdout, "NOT sound: %s\n", name)
	}
	a.describeBundle(b, record)
	for _, f := range found {
		word := "note"
		if f.Wrong {
			word = "wrong"
		}
		fmt.Fprintf(a.stdout, "%s: %s\n", word, visible.Text(f.What))
	}
	if !ok {
		return errAnswer
	}
	return nil
}

// describeBundle says in words what a bundle claims.
func (a *app) describeBundle(b *evidence.Bundle, r evidence.Record) {
	line := func(format string, args ...any) { fmt.Fprintf(a.stdout, "  "+format+"\n", args...) }
	line("%s answered %d, state %s, from %s to %s", visible.Text(b.Site), r.Status, visible.Text(string(r.State)), moment(r.At.Time), moment(b.LastAt.Time))
	if r.FinalURL != "" || r.Address != "" {
		line("%s %s %s", visible.Text(r.FinalURL), visible.Text(r.Address), visible.Text(r.TLSSubject))
	}
	if !r.SHA256.IsZero() {
		line("body of %d octets, SHA-256 %s", r.Bytes, r.SHA256)
	}
	if p := b.Chain; p != nil {
		line("record %d of the %s chain; its head then, record %d, is %s", p.At.Position, visible.Text(p.Kind), p.Head.Position, p.Head.Link)
	}
	line("read by robotswatch %s with catalogue %s, at %s:", visible.Text(b.Reading.Engine), visible.Text(b.Reading.Catalogue), moment(b.MadeAt))
	for _, g := range b.Reading.Agents {
		by := ""
		if g.Rule != nil && g.Line != nil {
			by = fmt.Sprintf(", line %d: %s", *g.Line, visible.Short(*g.Rule, maxCell))
		}
		line("  %s %s (%s%s)", visible.Text(g.Agent), visible.Text(string(g.Access)), visible.Text(string(g.Source)), by)
	}
}

func (a *app) evidenceHeadsCommand() *cobra.Command {
	var at, out string
	cmd := &cobra.Command{
		Use:   "heads",
		Short: "List where the chains of all sites stood, to be published",
		Long: `Lists where the chain of what was seen of each site stood at a time. The same
store gives the same list for the same time, so it is enough to publish its
SHA-256, which the daemon logs each day: whoever has it can tell later whether
what was seen before was written anew.`,
		Example: "  robotswatch evidence heads --at 2026-05-01 | sha256sum",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := time.Now()
			moment, err := parseMoment("at", at, now)
			if err != nil {
				return err
			}
			if moment.IsZero() {
				moment = now.UTC().Truncate(24 * time.Hour)
			}
			url, err := a.storeURL()
			if err != nil {
				return err
			}
			s, err := store.Open(cmd.Context(), url, store.Options{ReadOnly: true})
			if err != nil {
				return err
			}
			defer s.Close()
			return a.deliver(out, func(w io.Writer) error {
				_, err := writeHeads(cmd.Context(), s, moment, w)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "as of this `time` (default: the last midnight, UTC)")
	cmd.Flags().StringVarP(&out, "output", "o", "-", "`file` to write, - for standard output")
	return cmd
}

// writeHeads writes the heads of a time and tells of how many sites.
func writeHeads(ctx context.Context, s *store.Store, at time.Time, w io.Writer) (sites int, err error) {
	out, err := evidence.NewHeadsWriter(w, at)
	if err != nil {
		return 0, err
	}
	for head, err := range s.Heads(ctx, at) {
		if err == nil {
			err = out.Site(head)
		}
		if err != nil {
			return sites, err
		}
		sites++
	}
	return sites, nil
}
