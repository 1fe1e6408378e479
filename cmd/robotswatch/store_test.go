package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStoreCommands(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("config.toml"), []byte("[store]\nurl = \"sqlite:"+file("a.db")+"\"\n[[sites]]\nurl = \"https://example.com\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args string
		code int
		says string
	}{
		{"store check", exitTrouble, "no store yet"},
		{"store backup " + file("b.db"), exitTrouble, "no store yet"},
		{"store migrate --backup " + file("b.db"), exitOK, "schema version"},
		{"store migrate --backup " + file("b.db"), exitOK, file("b.db") + " written"},
		{"store check", exitOK, "the store is sound"},
		{"store backup " + file("b.db"), exitTrouble, "is there already"},
		{"store copy --to sqlite:" + file("a.db"), exitTrouble, "name the same store"},
		{"store copy --to sqlite:" + file("c.db"), exitOK, "counts and checksums are equal"},
		{"store copy", exitTrouble, `required flag(s) "to" not set`},
		{"store copy --from oracle:x --to sqlite:" + file("d.db"), exitTrouble, "want sqlite:PATH or postgres://"},
	} {
		var out, errs strings.Builder
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: func(string) string { return "" }}
		code := a.main(t.Context(), append([]string{"--config", file("config.toml")}, strings.Fields(step.args)...))
		if all := out.String() + errs.String(); code != step.code || !strings.Contains(all, step.says) {
			t.Errorf("%s: exit code %d and %q, want %d and %q", step.args, code, all, step.code, step.says)
		}
	}
}
