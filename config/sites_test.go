package config

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/sizes"
)

// write makes a file next to the configuration of a test.
func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func sitesOf(t *testing.T, c *Config) []Site {
	t.Helper()
	var sites []Site
	for s, err := range c.Sites() {
		if err != nil {
			t.Fatal(err)
		}
		s.at = place{}
		sites = append(sites, s)
	}
	return sites
}

func TestSitesComeFromTheConfigurationAndItsFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "list.txt"), "\ufeff# a list\n\nexample.org\n  EXAMPLE.net:8443\tnews, eu,b  # with tags\r\nhttp://example.net\tb\n#last.example\nbücher.example")
	write(t, filepath.Join(dir, "list.CSV"), "# a list\nTags,Host,schedule,agents\n\"news;eu\",example.edu,@every 1h,\"GPTBot, @ai\"\n,https://example.edu:444/,,\n")
	c, err := Parse(filepath.Join(dir, "c.toml"), []byte(`
[[sites]]
url = "https://Example.com/"
tags = ["a"]
schedule = "@every 2h"
agents = ["CCBot"]
[[site_files]]
path = "list.txt"
tags = ["b"]
[[site_files]]
path = "list.CSV"
schedule = "@every 3h"
agents = ["ClaudeBot"]
`), options())
	if err != nil {
		t.Fatal(err)
	}
	want := []Site{
		{Origin: "https://example.com", Tags: []string{"a"}, Schedule: "@every 2h", Agents: []string{"CCBot"}},
		{Origin: "https://example.org", Tags: []string{"b"}},
		{Origin: "https://example.net:8443", Tags: []string{"b", "news", "eu"}},
		{Origin: "http://example.net", Tags: []string{"b"}},
		{Origin: "https://xn--bcher-kva.example", Tags: []string{"b"}},
		{Origin: "https://example.edu", Tags: []string{"news", "eu"}, Schedule: "@every 1h", Agents: []string{"GPTBot", "@ai"}},
		{Origin: "https://example.edu:444", Schedule: "@every 3h", Agents: []string{"ClaudeBot"}},
	}
	if got := sitesOf(t, c); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAFileThatWentBadEndsTheSitesWithItsPlace(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "list.txt")
	write(t, list, "example.com\nexample.org\n")
	c, err := Parse(filepath.Join(dir, "c.toml"), []byte("[[site_files]]\npath = \"list.txt\"\n"), options())
	if err != nil {
		t.Fatal(err)
	}
	end := func() (n int, last error) {
		for _, err := range c.Sites() {
			if n++; err != nil {
				last = err
			}
		}
		return n, last
	}
	write(t, list, "example.com\nexample.org/path\nexample.net\n")
	if n, err := end(); n != 2 || err == nil || !strings.HasPrefix(err.Error(), list+":2:1: site: ") {
		t.Errorf("%d sites, then %v", n, err)
	}
	if err := os.Remove(list); err != nil {
		t.Fatal(err)
	}
	if n, err := end(); n != 1 || err == nil {
		t.Errorf("%d sites, then %v", n, err)
	}
	for range c.Sites() {
		break // stopping early must be fine
	}
}

func TestManyWrongLinesAreCountedNotListed(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list.txt")
	config := fmt.Sprintf("[[site_files]]\npath = %q\n", list)
	write(t, list, strings.Repeat("a b\n", maxFileProblems))
	if got := strings.Count(problems(t, config), "\n") + 1; got != maxFileProblems {
		t.Errorf("%d lines for %d problems", got, maxFileProblems)
	}
	write(t, list, strings.Repeat("a b\n", maxFileProblems+7))
	if got := problems(t, config); !strings.HasPrefix(got, list+":1:1: site: and 7 more lines are wrong\n") && !strings.Contains(got, "and 7 more lines are wrong") {
		t.Errorf("got %s", got)
	}
	write(t, list, strings.Repeat("example.com\n", maxFileProblems+7))
	if got := problems(t, config); !strings.Contains(got, "and 6 more sites are there twice") {
		t.Errorf("got %s", got)
	}
}

func TestLongLines(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list.txt")
	config := fmt.Sprintf("[[site_files]]\npath = %q\n", list)
	comment := func(octets int) string { return "#" + strings.Repeat("x", octets-2) + "\n" }
	write(t, list, comment(maxLine)+"example.com\n")
	parse(t, config)
	write(t, list, comment(maxLine+1)+"example.com/a\n")
	want := fmt.Sprintf("%s:1:1: site: the line is longer than %d octets\n%s:2:1: site: \"example.com/a\" has a path", list, maxLine, list)
	if got := problems(t, config); !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
}

func TestTagsAtTheirLimit(t *testing.T) {
	for n, fine := range map[int]bool{maxTag: true, maxTag + 1: false, 0: false} {
		if err := checkTag(strings.Repeat("x", n)); (err == nil) != fine {
			t.Errorf("%d octets: %v", n, err)
		}
	}
}

// Sites by the ten thousand may stand in the configuration itself.
func TestManySitesInTheConfiguration(t *testing.T) {
	const n = 50_000
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[[sites]]\nurl = \"host-%d.example\"\ntags = [\"news\"]\nschedule = \"@every 1h\"\n", i)
	}
	start := time.Now()
	c := parse(t, b.String())
	if got := len(sitesOf(t, c)); got != n {
		t.Errorf("%d sites, want %d", got, n)
	}
	// Twenty times what it takes, and a hundredth of what a quadratic step
	// would.
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("reading %d sites took %v", n, took)
	}
}

// A million sites are what a daemon on a small machine is asked to hold, so
// reading them must cost seconds and a few octets each.
func TestAMillionSites(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "list.txt"))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	n := sizes.Pick(1_000_000, 50_000)
	for i := range n {
		fmt.Fprintf(w, "host-%d.example-%d.com\tbatch-%d\n", i, i%1000, i/1000)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	c, err := Parse(filepath.Join(dir, "c.toml"), []byte("[[site_files]]\npath = \"list.txt\"\ntags = [\"many\"]\n"), options())
	if err != nil {
		t.Fatal(err)
	}
	loaded := time.Since(start)
	got := 0
	for _, err := range c.Sites() {
		if err != nil {
			t.Fatal(err)
		}
		got++
	}
	listed := time.Since(start) - loaded
	runtime.GC()
	runtime.ReadMemStats(&after)
	if got != n {
		t.Errorf("%d sites, want %d", got, n)
	}
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 1<<20 {
		t.Errorf("%d octets are still held", kept)
	}
	t.Logf("loaded in %v, listed in %v, allocated %d octets a site", loaded, listed, (after.TotalAlloc-before.TotalAlloc)/uint64(n))
	runtime.KeepAlive(c)
}
