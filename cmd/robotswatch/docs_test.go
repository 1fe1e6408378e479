package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// elsewhere are the commands of the documents that this test does not run,
// by their beginning, and why.
var elsewhere = []struct{ begins, why string }{
	{"sudo ", "changes the machine: make package-test runs it in a Debian of its own"},
	{"systemctl ", "needs systemd: make package-test does the same"},
	{"curl http://127.0.0.1:9090/", "needs Prometheus: make package-test runs it there too"},
	{"make ", "takes minutes; that there is such a target is looked at"},
	{"go test ", "takes minutes; that there is such a test is looked at"},
	{"git clone ", "needs the internet"},
}

// snippet is code in a document: lines of a block and where it begins.
type snippet struct {
	file  string
	line  int
	lang  string
	lines []string
}

// documents are read by people who do what they say.
func documents(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(list) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	return append([]string{"../../README.md", "../../CONTRIBUTING.md"}, list...)
}

// snippets are the fenced and the indented blocks of a document.
func snippets(t *testing.T, file string) (list []snippet) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var open *snippet
	fenced := false
	for i, line := range strings.Split(string(text), "\n") {
		mark, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && fenced:
			list, open, fenced = append(list, *open), nil, false
		case isFence:
			open, fenced = &snippet{file: filepath.Base(file), line: i + 2, lang: mark}, true
		case fenced:
			open.lines = append(open.lines, line)
		case strings.HasPrefix(line, "    ") && open == nil:
			open = &snippet{file: filepath.Base(file), line: i + 1}
			fallthrough
		case strings.HasPrefix(line, "    "):
			open.lines = append(open.lines, strings.TrimPrefix(line, "    "))
		case open != nil:
			list, open = append(list, *open), nil
		}
	}
	return list
}

// programs begin a command in a block that does not say that it is for a
// shell.
var programs = regexp.MustCompile(`^(robotswatch|curl|make|go|git|systemctl|journalctl|sudo|docker|kubectl|promtool|apt|npm) `)

// command is one to run, and what the document shows of its output.
type command struct{ line, shows string }

func (s snippet) commands() (list []command) {
	joined := regexp.MustCompile(`\\\n\s*`).ReplaceAllString(strings.Join(s.lines, "\n"), "")
	for line := range strings.SplitSeq(joined, "\n") {
		if typed, ok := strings.CutPrefix(line, "$ "); ok {
			list = append(list, command{line: typed})
			continue
		}
		line = strings.TrimSpace(line)
		if n := len(list); strings.Contains(joined, "$ ") && strings.HasPrefix(joined, "$ ") {
			if n > 0 {
				list[n-1].shows += line + "\n"
			}
			continue
		}
		if programs.MatchString(line) || s.lang == "sh" && line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, command{line: line})
		}
	}
	return list
}

// reader does what the documents say, in a directory with what they take for
// granted: a configuration, a daemon that runs, two files.
type reader struct {
	*stage
	path    string // $PATH, where robotswatch is the one under test
	address string // of the daemon
	site    string // a robots.txt that can be had: stands for https://example.com
}

func newReader(t *testing.T) *reader {
	t.Helper()
	s := newStage(t)
	plain, _ := s.web.Ports()
	r := &reader{stage: s, site: fmt.Sprintf("http://127.0.0.1:%d", plain)}
	s.play("127.0.0.1", keepOut.For(0))
	s.play("example.com", keepOut.For(0))
	s.write("old.txt", keepOut.Body)
	s.write("new.txt", noBots.Body)
	s.write("robots.txt", "User-agent: GPTBot\nDisalow: /\n")
	s.write("captures.jsonl", fmt.Sprintf(`{"site":"https://example.com","time":"2026-04-01T00:00:00Z","status":200,"body_base64":%q}`+"\n",
		base64.StdEncoding.EncodeToString([]byte(noBots.Body))))
	s.configure("[[sites]]\nurl = \"https://example.com\"\n[[receivers]]\nname = \"policy\"\ntype = \"log\"\n")
	s.output("store", "migrate")
	s.output("backfill", "jsonl", "captures.jsonl")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.write("robotswatch", "#!/bin/sh\nexec env "+asProgram+"=1 "+self+" \"$@\"\n")
	if err := os.Chmod(filepath.Join(s.dir, "robotswatch"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.path = s.dir + ":" + os.Getenv("PATH")
	r.address = start(t, s.dir).ready().address
	return r
}

// do runs a command. The answer "differs" or "disallowed" is no failure.
func (r *reader) do(line string) (string, error) {
	line = regexp.MustCompile(`(127\.0\.0\.1|localhost):9309`).ReplaceAllString(line, r.address)
	// What looks at a site by hand finds one here.
	if regexp.MustCompile(`^robotswatch (check|explain|diff|lint) .*example\.com`).MatchString(line) {
		line = regexp.MustCompile(`(https://)?example\.com`).ReplaceAllString(line, r.site)
		line = regexp.MustCompile(`^robotswatch \w+`).ReplaceAllString(line, "$0 --allow-private-networks")
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "PATH="+r.path, "ROBOTSWATCH_CONFIG=config.toml")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() == exitAnswer {
		err = nil
	}
	if strings.HasPrefix(line, "curl ") && strings.Contains(string(out), `"error":{`) {
		err = fmt.Errorf("the API refuses it")
	}
	return string(out), err
}

// TestCommandsOfTheDocuments runs every command that README and docs/ show.
func TestCommandsOfTheDocuments(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	ran := 0
	for _, file := range documents(t) {
		for _, s := range snippets(t, file) {
			for _, c := range s.commands() {
				where := fmt.Sprintf("%s:%d: %s", s.file, s.line, c.line)
				if begins := runElsewhere(c.line); begins != "" {
					r.lookAt(t, where, c.line)
					continue
				}
				ran++
				out, err := r.do(c.line)
				if err != nil {
					t.Errorf("%s: %v\n%s", where, err, out)
				}
				if c.shows != "" && squeeze(out) != squeeze(c.shows) {
					t.Errorf("%s prints\n%s\nnot\n%s", where, out, c.shows)
				}
			}
			if s.lang == "toml" {
				r.checksConfig(t, s)
			}
		}
	}
	if ran < 15 {
		t.Errorf("only %d commands were found", ran)
	}
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func runElsewhere(line string) string {
	for _, e := range elsewhere {
		if strings.HasPrefix(line, e.begins) {
			return e.begins
		}
	}
	return ""
}

// lookAt makes sure of a command that is not run that what it names is there.
func (r *reader) lookAt(t *testing.T, where, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " # ")
	if target, ok := strings.CutPrefix(line, "make "); ok {
		cmd := exec.Command("make", append([]string{"--dry-run", "--silent"}, strings.Fields(target)...)...)
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", where, err, out)
		}
	}
	parts := regexp.MustCompile(`^go test (?:-\S+ \w+ )*\./(\S+) .*?(?:-bench|-run) ?(\w+)`).FindStringSubmatch(strings.ReplaceAll(line, "-run xxx", ""))
	if parts == nil {
		return
	}
	files, err := filepath.Glob("../../" + parts[1] + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`func (Test|Benchmark)\w*` + strings.TrimPrefix(parts[2], "Test")).Match(b) {
			return
		}
	}
	t.Errorf("%s: there is no such test", where)
}

// checksConfig lets the program read a configuration; what it names as a file
// is there.
func (r *reader) checksConfig(t *testing.T, s snippet) {
	t.Helper()
	text := strings.ReplaceAll(strings.Join(s.lines, "\n"), "/etc/robotswatch/", r.dir+"/")
	r.write("sites.txt", "example.org\n")
	r.write("slack-webhook", "https://hooks.slack.com/services/T/B/x\n")
	r.write("shown.toml", text)
	cmd := program(t, r.dir, nil, "config", "check", "shown.toml")
	cmd.Env = append(cmd.Env, "CREDENTIALS_DIRECTORY="+r.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s:%d: %v\n%s", s.file, s.line, err, out)
	}
}

// TestCommandsInSentences looks at what the documents mention in passing: the
// command and its flags exist.
func TestCommandsInSentences(t *testing.T) {
	mention := regexp.MustCompile("`robotswatch ([^`]+)`")
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mention.FindAllStringSubmatch(string(text), -1) {
			args := strings.Fields(regexp.MustCompile(`\|\w+`).ReplaceAllString(m[1], ""))
			root := (&app{}).root()
			cmd, rest, err := root.Find(args)
			if err == nil && cmd == root {
				err = fmt.Errorf("there is no such command")
			}
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(file), m[0], err)
			}
		}
	}
}
