package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// storeConfig is a configuration with a store of its own.
func storeConfig(t *testing.T, rest string) string {
	t.Helper()
	return writeFile(t, "[store]\nurl = \"sqlite:"+filepath.Join(t.TempDir(), "test.db")+"\"\n"+rest)
}

const captures = `{"site":"https://example.com","time":"2024-05-01T12:00:00Z","status":200,"body_base64":"VXNlci1hZ2VudDogKgpBbGxvdzogLwo="}
{"site":"https://example.com","time":"2024-05-08T12:00:00Z","status":200,"body_base64":"VXNlci1hZ2VudDogR1BUQm90CkRpc2FsbG93OiAvCg=="}
{"site":"https://example.com","time":"2024-05-09T12:00:00Z","status":0,"error":"request_error"}
{"site":"https://example.org","time":"yesterday","status":200}
`

func TestBackfillThenAskThePast(t *testing.T) {
	cfg := storeConfig(t, "[[sites]]\nurl = \"example.org\"\n")
	code, out, stderr := runApp(t, captures, "--config", cfg, "backfill", "jsonl", "-")
	if code != exitOK || !strings.Contains(out, "3  captures read") || !strings.Contains(out, "1  records could not be used") ||
		!strings.Contains(out, "access --site SITE --at TIME tell of them") {
		t.Fatalf("exit code %d\n%s%s", code, out, stderr)
	}
	if !strings.Contains(stderr, "standard input:4") {
		t.Errorf("the bad line is not named: %s", stderr)
	}
	bad := filepath.Join(t.TempDir(), "bad.txt")
	code, out, stderr = runApp(t, captures, "--config", cfg, "backfill", "jsonl", "--bad", bad, "-")
	if list, err := os.ReadFile(bad); code != exitOK || !strings.HasPrefix(out, "Nothing new.\n") || err != nil || !strings.HasPrefix(string(list), "standard input:4: ") ||
		strings.Contains(stderr, "standard input:4") {
		t.Errorf("again, bad ones to a file: exit code %d, %v\n%s%s%s", code, err, out, stderr, list)
	}
	code, out, stderr = runApp(t, "", "--config", cfg, "changes", "--format", "json")
	if code != exitOK || strings.Count(out, "\n") != 1 || !strings.Contains(out, `"backfilled":true`) || !strings.Contains(out, "GPTBot now blocked") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	for at, want := range map[string]string{"2024-04-01": "unknown", "2024-05-02": "allowed", "2024-05-08T13:00:00Z": "blocked", "2024-06-01": "blocked"} {
		code, out, stderr = runApp(t, "", "--config", cfg, "access", "--site", "example.com", "--agent", "GPTBot", "--at", at, "--format", "json")
		if code != exitOK || !strings.Contains(out, `"access":"`+want+`"`) {
			t.Errorf("at %s: exit code %d, want %s\n%s%s", at, code, want, out, stderr)
		}
	}
	if code, out, stderr = runApp(t, "", "--config", cfg, "sites", "--format", "csv"); code != exitOK || strings.Contains(out, "example.com") || !strings.Contains(out, "example.org") {
		t.Errorf("exit code %d, want the configured site only\n%s%s", code, out, stderr)
	}
}

// What is recorded is recorded, also where the file cannot be put in order: for
// want of room, or, as here, because of a damaged page.
func TestBackfillIsDoneAlsoWhereTheStoreStaysUntidy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	cfg := writeFile(t, "[store]\nurl = \"sqlite:"+path+"\"\n")
	if code, out, stderr := runApp(t, "", "--config", cfg, "store", "migrate"); code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, out, stderr)
	}
	raw := openRaw(t, "sqlite", path)
	if _, err := raw.ExecContext(t.Context(), "CREATE TABLE notes (x); INSERT INTO notes VALUES ('a note'); PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	file[bytes.Index(file, []byte("a note"))/page*page] = 0xff
	keepFile(t, path, file)
	code, out, stderr := runApp(t, captures, "--config", cfg, "backfill", "jsonl", "-")
	if code != exitOK || !strings.Contains(out, "3  captures read") {
		t.Fatalf("exit code %d\n%s%s", code, out, stderr)
	}
	if !containsAll(stderr, []string{"everything is recorded", "could not be put in order", "malformed"}) {
		t.Errorf("the reason is not told: %s", stderr)
	}
	if code, out, stderr = runApp(t, "", "--config", cfg, "changes"); code != exitOK || !strings.Contains(out, "GPTBot now blocked") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
}
