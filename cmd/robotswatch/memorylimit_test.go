package main

import (
	"runtime/debug"
	"testing"

	"github.com/robotswatch/robotswatch/config"
)

func TestMemoryFollowsTheConfiguration(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	follow := func(text string) int64 {
		t.Helper()
		cfg, err := config.Parse("config.toml", []byte(text), config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		limitMemory(cfg)
		return debug.SetMemoryLimit(-1)
	}
	t.Setenv("GOMEMLIMIT", "")
	want := int64(memoryBase + 8*memoryPerLook + 2*memoryPerSite)
	if got := follow("[fetch]\nconcurrency = 8\n[[sites]]\nurl = \"a.example\"\n[[sites]]\nurl = \"b.example\"\n"); got != want {
		t.Errorf("limited to %d octets, want %d", got, want)
	}
	t.Setenv("GOMEMLIMIT", "1GiB")
	if got := follow("[fetch]\nconcurrency = 512\n"); got != want {
		t.Errorf("GOMEMLIMIT was set, and the limit became %d octets", got)
	}
}
