package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// permissive are words of the licences that ask for no more than to be
// carried along: MIT, ISC, BSD, Apache 2.0, public domain.
var permissive = []string{
	"permission is hereby granted, free of charge", "permission to use, copy, modify, and",
	"redistribution and use in source and binary forms", "apache license", "released into the public domain",
}

func TestLicencesOfAllThatIsLinkedArePermissive(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		path, dir, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || seen[path] {
			continue
		}
		seen[path] = true
		if !carriesPermissiveLicence(dir) {
			t.Errorf("%s: no licence that is known to be permissive", path)
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d modules were looked at", len(seen))
	}
}

// carriesPermissiveLicence looks at the licences in a module's folder.
func carriesPermissiveLicence(dir string) bool {
	for _, pattern := range []string{"LICEN[SC]E*", "COPYING*", "UNLICENSE*", "License*", "license*"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				continue
			}
			text := strings.ToLower(strings.Join(strings.Fields(string(b)), " "))
			for _, words := range permissive {
				if strings.Contains(text, words) {
					return true
				}
			}
		}
	}
	return false
}
