package store

import (
	"slices"
	"testing"
)

// A name is known while something still bears it, also where that is watched
// or configured no more.
func TestNamesAreKnownWhileSomethingBearsThem(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := outboxOf(t, url, 3, "hook", "gone")
		list := siteConfigs(3)
		list[0].Tags, list[1].Tags = []string{"news", "eu"}, []string{"sport"}
		list[0].Agents = []string{"@search", "OwnBot"}
		resync(t, s, list)
		if _, err := s.Newcomers(t.Context(), []string{"WatchedBot"}, t0); err != nil {
			t.Fatal(err)
		}
		tell(t, s, t0, told{0, "A", []string{"hook", "gone"}})
		resync(t, s, list[:1])

		if got, err := s.Tags(t.Context()); err != nil || !slices.Equal(got, []string{"eu", "news"}) {
			t.Errorf("tags of watched sites are %v, %v", got, err)
		}
		for tag, want := range map[string]bool{"news": true, "eu": true, "sport": true, "New": false, "ew": false, "news,": false} {
			if got, err := s.HasTag(t.Context(), tag); err != nil || got != want {
				t.Errorf("tag %s: %v, %v", tag, got, err)
			}
		}
		for agent, want := range map[string]bool{"OWNBOT": true, "watchedbot": true, "GPTBot": true, "WatchedBo": false, "news": false, "sport": false} {
			if got, err := s.HasAgent(t.Context(), agent); err != nil || got != want {
				t.Errorf("agent %s: %v, %v", agent, got, err)
			}
		}
		if got, err := s.OwedReceivers(t.Context()); err != nil || !slices.Equal(got, []string{"gone", "hook"}) {
			t.Errorf("owed receivers are %v, %v", got, err)
		}
	})
}
