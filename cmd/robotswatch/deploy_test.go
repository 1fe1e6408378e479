package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/internal/needs"
)

const deployDir = "../../deploy/"

func TestUnitsAreHardenedAndRight(t *testing.T) {
	needs.Program(t, "systemd-analyze")
	dir := t.TempDir()
	for _, unit := range []string{"robotswatch.service", "robotswatch@.service", "robotswatch.socket"} {
		b, err := os.ReadFile(deployDir + "systemd/" + unit)
		if err != nil {
			t.Fatal(err)
		}
		// The program and its manual need not be installed for this.
		text := strings.NewReplacer("/usr/bin/robotswatch ", "/bin/true ", "Documentation=man:robotswatch(1)\n", "").Replace(string(b))
		if err := os.WriteFile(filepath.Join(dir, unit), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, unit := range []string{"robotswatch.service", "robotswatch@one.service"} {
		// 15 is 1.5 of the figure that it prints.
		out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=15", filepath.Join(dir, strings.Replace(unit, "@one", "@", 1))).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
		out, err = exec.Command("systemd-analyze", "verify", filepath.Join(dir, unit)).CombinedOutput()
		for line := range strings.Lines(string(out)) {
			// Releases before 253 do not know it, say so, and go on.
			if strings.Contains(line, "robotswatch") && !strings.Contains(line, "notify-reload") {
				t.Errorf("%s: %s", unit, line)
			}
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
}

// shown are the names of all commands that people see, as manual pages have
// them.
func shown(c *cobra.Command) []string {
	names := []string{strings.ReplaceAll(c.CommandPath(), " ", "-")}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, shown(sub)...)
		}
	}
	return names
}

func TestEachCommandHasAManualPage(t *testing.T) {
	dir := t.TempDir()
	if code, _, stderr := runApp(t, "", "man", dir); code != exitOK {
		t.Fatal(stderr)
	}
	pages, err := filepath.Glob(dir + "/*.1")
	if err != nil {
		t.Fatal(err)
	}
	want := shown((&app{}).root())
	if len(pages) != len(want) {
		t.Errorf("%d pages for %d commands", len(pages), len(want))
	}
	for _, name := range want {
		b, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(b), ".SH SYNOPSIS") {
			t.Errorf("%s has no synopsis", name)
		}
	}
}

func TestBillOfMaterialsNamesEveryModule(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	code, out, stderr := runApp(t, "", "sbom", self)
	if code != exitOK {
		t.Fatal(stderr)
	}
	var bom struct {
		BOMFormat  string
		Components []component
	}
	if err := json.Unmarshal([]byte(out), &bom); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range bom.Components {
		names[c.Name] = true
		if c.Version == "" || !strings.HasPrefix(c.PURL, "pkg:golang/") {
			t.Errorf("%+v", c)
		}
	}
	for _, name := range []string{"std", "modernc.org/sqlite", "github.com/spf13/cobra"} {
		if !names[name] {
			t.Errorf("%s is missing", name)
		}
	}
}
