package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/internal/needs"
)

func TestRulesAreRightAndHaveARunbook(t *testing.T) {
	needs.Program(t, "promtool")
	for _, line := range []string{"promtool check rules rules.yml", "promtool test rules rules_test.yml",
		"promtool check config --syntax-only prometheus.yml", "amtool check-config alertmanager.yml"} {
		args := strings.Fields(line)
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = deployDir + "prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	runbook, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alertNames(t) {
		if !strings.Contains(string(runbook), "\n### "+a+"\n") {
			t.Errorf("%s has no entry in docs/operations.md", a)
		}
	}
}

// alertNames lists every alert that we ship.
func alertNames(t *testing.T) (names []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(readDeployed(t, "prometheus/rules.yml"), -1) {
		names = append(names, m[1])
	}
	if len(names) < 10 {
		t.Fatalf("%d alerts", len(names))
	}
	return names
}
