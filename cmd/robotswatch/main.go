// Command robotswatch watches the robots.txt of many sites and says when the
// effective access of a crawler changes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules and quiet hours name zones, and an empty container has none

	"github.com/coreos/go-systemd/v22/journal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	a := &app{
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		getenv:  os.Getenv,
		journal: journal.Send,
	}
	os.Exit(a.main(ctx, os.Args[1:]))
}
