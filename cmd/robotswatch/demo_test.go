//go:build !race

// The program of these tests is built without the race detector.

package main

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// demoLimit is how long the whole plot may take.
const demoLimit = 60 * time.Second

func TestDemoTellsEachPartOfThePlotOnce(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	cmd := program(t, t.TempDir(), nil, "demo")
	cmd.Env = append(cmd.Env, "TMPDIR="+temp)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	giveUp := time.AfterFunc(demoLimit, func() { cmd.Process.Kill() })

	var text strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		line := lines.Text()
		text.WriteString(line + "\n")
		if strings.HasPrefix(line, "That was the whole plot.") {
			lookAtDashboard(t, text.String())
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}
	}
	err = cmd.Wait()
	if !giveUp.Stop() {
		t.Fatalf("the plot did not end within %v:\n%s%s", demoLimit, text.String(), stderr.String())
	}
	if err != nil || stderr.String() != "" {
		t.Errorf("it ended with %v and said %q", err, stderr.String())
	}

	told := text.String()
	for _, line := range []string{
		"news.example: GPTBot now blocked",
		"museum.example: ClaudeBot no longer blocked",
		"shop.example: Google-Extended, PerplexityBot, CCBot now blocked",
		"weather.example: nothing to announce",
		"harbour.example: robots.txt unreachable (HTTP 503)",
		"harbour.example: robots.txt readable again, unchanged",
		"archive.example: GPTBot and 4 more now allowed on /private/: robots.txt is gone (HTTP 404)",
		"library.example: nothing to announce",
		"radio.example: nothing to announce",
		`"Disallow: /" (line 5) forbids it, for example on /`,
		`"Disallow: /" (line 5) forbids it no more, for example on /`,
	} {
		if n := strings.Count(told, line); n != 1 {
			t.Errorf("%d times: %s", n, line)
		}
	}
	if strings.Contains(told, "not in the plot") {
		t.Errorf("something unexpected was announced:\n%s", told)
	}
	if left, _ := filepath.Glob(temp + "/*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// lookAtDashboard expects the pages that the demo points to.
func lookAtDashboard(t *testing.T, told string) {
	t.Helper()
	urls := regexp.MustCompile(`http://127\.0\.0\.1:\d+/\S*`).FindAllString(told, -1)
	if len(urls) < 7 {
		t.Errorf("only %d addresses were told", len(urls))
	}
	for _, url := range urls {
		res, err := http.Get(url)
		if err != nil {
			t.Error(err)
			continue
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", url, res.Status)
		}
	}
}
