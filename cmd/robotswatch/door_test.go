package main

import (
	"io"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotswatch/robotswatch/internal/pipes"
)

// A client that asks and then does not read holds a connection and an answer
// for two minutes, not for ever.
func TestAnAnswerThatNobodyReadsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		d, l := &door{}, make(pipes.Listener)
		d.listener = l
		failed := make(chan error, 1)
		d.open(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write(make([]byte, 1<<20))
			ended <- err
		}), slog.New(slog.DiscardHandler), failed)
		defer d.close()
		client := l.Dial()
		defer client.Close()
		if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(client, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(writeTimeout - time.Second)
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("it was given up early: %v", err)
		default:
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		select {
		case err := <-ended:
			if err == nil {
				t.Error("all of it was sent")
			}
		default:
			t.Fatal("it is still held")
		}
		if _, err := io.Copy(io.Discard, client); err != nil {
			t.Errorf("the connection is not closed: %v", err)
		}
	})
}
