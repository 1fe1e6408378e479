package main

import (
	"os"
	"runtime/debug"

	"github.com/robotswatch/robotswatch/config"
)

// What the daemon's memory is for: a base, looks in flight, and what is kept
// for each site (its place while a configuration is loaded, its certificate
// chain). SQLite's caches, some 40 MiB, are not in it.
const (
	memoryBase    = 88 << 20
	memoryPerLook = 64 << 10
	memoryPerSite = 48
)

// memoryLimit is from how much memory on garbage is collected more often than
// usual.
func memoryLimit(concurrency, sites int) int64 {
	return memoryBase + int64(concurrency)*memoryPerLook + int64(sites)*memoryPerSite
}

// limitMemory keeps the daemon as small as its configuration allows. Whoever
// sets GOMEMLIMIT knows better.
func limitMemory(cfg *config.Config) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit(cfg.Fetch.Concurrency, cfg.SiteCount()))
	}
}
