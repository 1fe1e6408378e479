//go:build !race

// An upgrade is one process after the other: there is nothing to race, and
// it takes long under the detector.

package main

import (
	"path/filepath"
	"testing"
)

// TestUpgradeFromEachRelease brings the store of every schema that was ever
// released to this version, and lets its daemon go on with it.
func TestUpgradeFromEachRelease(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob(releasesDir + "/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no releases: %v", err)
	}
	cluster := postgresServer(t)
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			upgradeBoth(t, dir, cluster)
		})
	}
}

// TestUpgradeFromThisVersion makes a release of this version, as the next one
// will find it.
func TestUpgradeFromThisVersion(t *testing.T) {
	t.Parallel()
	cluster := postgresServer(t)
	dir := releaseDir(t)
	makeRelease(t, dir, cluster.Database(t))
	upgradeBoth(t, dir, cluster)
}
