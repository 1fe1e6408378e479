package web_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotswatch/robotswatch/internal/pipes"
	"github.com/robotswatch/robotswatch/watcher"
	"github.com/robotswatch/robotswatch/web"
)

// slowly asks a server whose answers take five minutes at a listener that
// gives each two.
func slowly(t *testing.T, request string, then func(client net.Conn)) {
	w := newWorld(t, web.Settings{}, []watcher.SiteConfig{{Origin: "https://a.example"}}, today)
	synctest.Test(t, func(t *testing.T) {
		wait := func(context.Context) error { time.Sleep(5 * time.Minute); return nil }
		s, err := web.New(web.Settings{}, web.Deps{Store: w.store, Judge: w.judge, Now: func() time.Time { return today },
			Reload: wait,
			Metrics: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = wait(r.Context())
				io.WriteString(w, strings.Repeat("# a comment\n", 10_000)+"end")
			}),
			Heads: func(ctx context.Context, _ time.Time, w io.Writer) error {
				for range 3 {
					if _, err := io.WriteString(w, strings.Repeat("head\n", 10_000)); err != nil {
						return err
					}
					_ = wait(ctx)
				}
				_, err := io.WriteString(w, "end")
				return err
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		l := make(pipes.Listener)
		server := http.Server{Handler: s, WriteTimeout: 2 * time.Minute}
		go server.Serve(l)
		defer server.Close()
		client := l.Dial()
		defer client.Close()
		if _, err := io.WriteString(client, request+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		then(client)
	})
}

func TestWhatMayTakeLongIsAnsweredWhole(t *testing.T) {
	for request, last := range map[string]string{"GET /metrics": "end", "GET /api/v1/heads": "end", "POST /-/reload": "The configuration was reloaded.\n"} {
		slowly(t, request, func(client net.Conn) {
			answer, err := http.ReadResponse(bufio.NewReader(client), nil)
			if err != nil {
				t.Errorf("%s: %v", request, err)
				return
			}
			if body, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != 200 || !strings.HasSuffix(string(body), last) {
				t.Errorf("%s: %d, %v after %d octets", request, answer.StatusCode, err, len(body))
			}
		})
	}
}

// Also what may take long is not held for ever for a client that stops
// reading.
func TestWhoStopsReadingIsLetGo(t *testing.T) {
	for _, request := range []string{"GET /metrics", "GET /api/v1/heads"} {
		slowly(t, request, func(client net.Conn) {
			if _, err := io.ReadFull(client, make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2*time.Minute + time.Second)
			synctest.Wait()
			if rest, err := io.ReadAll(client); err != nil || strings.HasSuffix(string(rest), "end") || len(rest) > 64<<10 {
				t.Errorf("%s: another %d octets, %v", request, len(rest), err)
			}
		})
	}
}
