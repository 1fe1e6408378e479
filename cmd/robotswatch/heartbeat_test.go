package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotswatch/robotswatch/netpolicy"
)

func TestHeartBeatsOnlyWhileThereIsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		var pings []time.Duration
		h := heart{
			interval: time.Minute,
			alive: func(context.Context) error {
				if since := time.Since(start); since >= 2*time.Minute && since < 4*time.Minute {
					return errors.New("stuck")
				}
				return nil
			},
			ping: func(context.Context) error { pings = append(pings, time.Since(start)); return errors.New("ignored") },
			log:  slog.New(slog.DiscardHandler),
		}
		go h.beat(ctx)
		time.Sleep(5*time.Minute + time.Second) // virtual
		cancel()
		synctest.Wait()
		want := []time.Duration{0, time.Minute, 4 * time.Minute, 5 * time.Minute}
		if len(pings) != len(want) {
			t.Fatalf("pings at %v, want %v", pings, want)
		}
		for i := range want {
			if pings[i] != want[i] {
				t.Errorf("pings at %v, want %v", pings, want)
			}
		}
	})
}

func TestPingSaysWhatWentWrongWithoutTheURL(t *testing.T) {
	status := http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.UserAgent(); got != "robotswatch" {
			t.Errorf("asked for by %q", got)
		}
		w.WriteHeader(status)
	}))
	defer srv.Close()
	ping := pinger(srv.URL+"/s3cret", netpolicy.Policy{AllowPrivate: true})
	if err := ping(t.Context()); err != nil {
		t.Errorf("a good ping: %v", err)
	}
	status = http.StatusNotFound
	if err := ping(t.Context()); err == nil || !strings.Contains(err.Error(), "HTTP 404") {
		t.Errorf("404: %v", err)
	}
	err := pinger(srv.URL+"/s3cret", netpolicy.Policy{})(t.Context())
	if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("loopback: %v", err)
	}
}
