package store

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

func TestMemoryComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hash := rapid.SampledFrom([]watcher.Hash{{}, {1}, {2}})
		answer := rapid.Custom(func(t *rapid.T) watcher.Answer {
			return watcher.Answer{
				State:    rapid.SampledFrom([]fetch.State{"", fetch.Policy, fetch.Absent, fetch.Unreachable}).Draw(t, "state"),
				Reason:   fetch.Reason(rapid.SampledFrom([]string{"", "http_404"}).Draw(t, "reason")),
				Status:   rapid.SampledFrom([]int{0, 200, 404}).Draw(t, "status"),
				FinalURL: rapid.SampledFrom([]string{"", "https://a.example/robots.txt", "https://b.example/"}).Draw(t, "url"),
				Body:     hash.Draw(t, "body"),
			}
		})
		want := watcher.Site{Origin: "https://a.example", Body: hash.Draw(t, "site body")}
		want.Memory = watcher.Memory{
			ETag: rapid.String().Draw(t, "etag"), Modified: rapid.SampledFrom([]string{"", "Mon, 30 Nov 2026 09:00:00 GMT", "yesterday", "Mon, 31 Nov 2026 09:00:00 GMT"}).Draw(t, "modified"),
			Last: answer.Draw(t, "last"), Good: answer.Draw(t, "good"), Tentative: rapid.Bool().Draw(t, "tentative"),
		}
		if rapid.Bool().Draw(t, "flapping") {
			want.Memory.Flap.Since, want.Memory.Flap.Looks = t0, 3
			want.Memory.FullGetAt = t0.Add(time.Millisecond)
			want.Memory.Flap.Outages = []time.Time{t0}
			want.Memory.Doubt = &watcher.Doubt{State: fetch.Unreachable, Since: t0, Count: 1, Total: 2}
		}
		packed, err := packMemory(&want)
		if err != nil {
			t.Fatal(err)
		}
		got := watcher.Site{Origin: want.Origin, Body: want.Body}
		if _, err := unpackMemory(packed, &got); err != nil {
			t.Fatalf("%q: %v", packed, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
}
