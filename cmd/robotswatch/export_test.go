package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExport(t *testing.T) {
	cfg := storeConfig(t, "")
	if code, _, stderr := runApp(t, captures, "--config", cfg, "backfill", "jsonl", "-"); code != exitOK {
		t.Fatal(stderr)
	}
	out := t.TempDir()
	for table, rows := range map[string]int{"observations": 3, "policies": 2, "changes": 1} {
		path := filepath.Join(out, table+".csv")
		if code, _, stderr := runApp(t, "", "--config", cfg, "export", table, "--out", path, "--agent", "GPTBot"); code != exitOK {
			t.Fatal(stderr)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil || len(got) != rows+1 {
			t.Errorf("%s: %d rows, want %d; %v\n%s", table, len(got)-1, rows, err, text)
		}
	}
	days := filepath.Join(out, "days")
	if code, _, stderr := runApp(t, "", "--config", cfg, "export", "observations", "--out", days, "--partition", "--format", "parquet", "--since", "2024-05-08"); code != exitOK {
		t.Fatal(stderr)
	}
	if found, err := filepath.Glob(filepath.Join(days, "*", "*")); err != nil || len(found) != 2 ||
		found[0] != filepath.Join(days, "day=2024-05-08", "observations.parquet") {
		t.Errorf("files: %v, %v", found, err)
	}
	for args, want := range map[string]string{
		"export everything":                       "allowed are observations, policies, changes",
		"export changes --format xlsx":            "allowed are csv, jsonl and parquet",
		"export changes --partition":              "needs --out",
		"export policies --agent @nobody":         "not a group",
		"export changes --since soon":             "want a date",
		"export changes --out /no/such/dir/x.csv": "no such file",
	} {
		code, _, stderr := runApp(t, "", append([]string{"--config", cfg}, strings.Fields(args)...)...)
		if code != exitTrouble || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %q, want %q", args, code, stderr, want)
		}
	}
}
