package robots

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/internal/realdata"
)

// corpusBetween gives the real files of a size, smallest name first, web
// pages left out.
func corpusBetween(b *testing.B, from, to int) [][]byte {
	files := realdata.Archive(b, "robots-2024.tar.xz")
	var names []string
	for name, body := range files {
		if from <= len(body) && len(body) <= to && !bytes.Contains(bytes.ToLower(body[:min(len(body), 2000)]), []byte("<html")) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out [][]byte
	for _, n := range names {
		out = append(out, files[n])
	}
	if len(out) == 0 {
		b.Fatal("no such file in the corpus")
	}
	return out
}

func total(files [][]byte) (n int64) {
	for _, f := range files {
		n += int64(len(f))
	}
	return n
}

// BenchmarkParse reads all corpus files of a size class each time.
func BenchmarkParse(b *testing.B) {
	for _, class := range []struct {
		name     string
		from, to int
	}{{"1-10kB", 1000, 10_000}, {"10-500kB", 10_000, 500_000}} {
		b.Run(class.name, func(b *testing.B) {
			files := corpusBetween(b, class.from, class.to)
			rules := 0
			for _, f := range files {
				for _, g := range Parse(f, Options{}).Groups {
					rules += len(g.Rules)
				}
			}
			b.SetBytes(total(files))
			b.ReportAllocs()
			for b.Loop() {
				for _, f := range files {
					Parse(f, Options{})
				}
			}
			b.ReportMetric(testing.AllocsPerRun(1, func() {
				for _, f := range files {
					Parse(f, Options{})
				}
			})/float64(rules), "allocs/rule")
			b.ReportMetric(float64(len(files)), "files")
		})
	}
}

// BenchmarkParseSkipped reads lines that are kept as records or not at all.
func BenchmarkParseSkipped(b *testing.B) {
	for name, line := range map[string]string{"comment": "# a comment of some length\n", "blank": "\n", "unknown": "some-key: some value or other\n", "text": "<p>no key at all</p>\n"} {
		b.Run(name, func(b *testing.B) {
			body := []byte(strings.Repeat(line, 100_000/len(line)))
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				Parse(body, Options{})
			}
		})
	}
}

// BenchmarkDecide asks parsed files of about 10 kB for a path that one of
// their rules matches and for one that is ordinary.
func BenchmarkDecide(b *testing.B) {
	type question struct {
		rules *Rules
		path  string
	}
	var questions []question
	for _, body := range corpusBetween(b, 8_000, 12_000) {
		r := Parse(body, Options{}).Rules("Googlebot")
		questions = append(questions, question{r, "/some/ordinary-path/of-a-site/page-12345.html?utm_source=x"})
		if n := len(r.Rules); n > 0 {
			path := NormalizePath(strings.NewReplacer("*", "abc", "$", "").Replace(r.Rules[n/2].Pattern) + "abc/index.html")
			questions = append(questions, question{r, path})
		}
	}
	for _, q := range questions {
		q.rules.Decide(q.path)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for _, q := range questions {
			q.rules.Decide(q.path)
		}
		n += len(questions)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/decision")
	b.ReportMetric(float64(len(questions)), "questions")
}

// BenchmarkRules asks a file of about 10 kB for 80 agents, once fresh.
func BenchmarkRules(b *testing.B) {
	files := corpusBetween(b, 8_000, 12_000)
	var agents []string
	for i := range 80 {
		agents = append(agents, fmt.Sprintf("agent%d", i))
	}
	n := 0
	for b.Loop() {
		b.StopTimer()
		var parsed []*File
		for _, f := range files {
			parsed = append(parsed, Parse(f, Options{}))
		}
		b.StartTimer()
		for _, f := range parsed {
			for _, a := range agents {
				f.Rules(a)
			}
			n += len(agents)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/agent")
}

// hostile inputs, each named for what it attacks. decide asks one path.
var hostile = map[string]struct{ body, path string }{
	"stars in one pattern":    {"User-agent: *\nDisallow: /" + strings.Repeat("*a", 500) + "b\n", "/" + strings.Repeat("a", 8000)},
	"empty stars":             {"User-agent: *\nDisallow: /" + strings.Repeat("*", 400_000) + "x\n", "/" + strings.Repeat("a", 8000)},
	"many starred patterns":   {"User-agent: *\n" + strings.Repeat("Disallow: /*a*b*c*d*e\n", 40_000), "/" + strings.Repeat("abcd", 2000)},
	"near misses of a piece":  {"User-agent: *\nDisallow: /*" + strings.Repeat("a", 4000) + "b\n", "/" + strings.Repeat("a", 8000)},
	"nested prefixes":         {nestedPrefixes(1400), "/" + strings.Repeat("a", 8000)},
	"one long line":           {"User-agent: *\nDisallow: /" + strings.Repeat("a", 500_000) + "\n", "/" + strings.Repeat("a", 500_000)},
	"bare CRs":                {strings.Repeat("\r", 1_000_000), "/"},
	"bare LFs":                {strings.Repeat("\n", 1_000_000), "/"},
	"lines of one octet":      {strings.Repeat("a\n", 500_000), "/"},
	"rules before a group":    {strings.Repeat("Disallow:/\n", 90_000), "/"},
	"many tokens in a run":    {numbered("User-agent: agent%d\n", 40_000) + "Disallow: /\n", "/"},
	"many groups of a token":  {strings.Repeat("User-agent: *\nDisallow: /x\n", 35_000), "/x"},
	"stray percent signs":     {"User-agent: *\nDisallow: /" + strings.Repeat("%", 900_000) + "\n", "/" + strings.Repeat("%", 8000)},
	"octets outside ASCII":    {"User-agent: *\nDisallow: /" + strings.Repeat("\xe9", 900_000) + "\n", "/" + strings.Repeat("\xe9", 8000)},
	"signals times tokens":    {numbered("User-agent: agent%d\n", 10_000) + strings.Repeat("Content-Signal: ai-train=no\n", 20_000), "/"},
	"keys that nearly fit":    {strings.Repeat("disalllowwed: /\n", 60_000), "/"},
	"white space":             {"User-agent: *\nDisallow:" + strings.Repeat(" ", 900_000) + "/x\n", "/x"},
	"hashes":                  {strings.Repeat("#", 1_000_000), "/"},
	"colons":                  {strings.Repeat(":", 1_000_000), "/"},
	"commas in a signal":      {"User-agent: *\nContent-Signal: " + numbered("a%d,", 120_000) + "\n", "/"},
	"digits of a crawl delay": {"User-agent: *\nCrawl-delay: " + strings.Repeat("9", 900_000) + "\n", "/"},
	"shared and own groups":   {sharedAndOwn(12_000), "/"},
}

func nestedPrefixes(n int) string {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range n {
		b.WriteString("Disallow: /" + strings.Repeat("a", i) + "\n")
	}
	return b.String()
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// sharedAndOwn names each agent in one group of many rules and in a group of
// its own: merging all would copy the many rules for each.
func sharedAndOwn(n int) string {
	return numbered("User-agent: a%d\n", n) + numbered("Disallow: /%d\n", n) + numbered("User-agent: a%d\nAllow: /%[1]d/x\n", n)
}

// BenchmarkHostile parses and decides once for an agent of the * group.
func BenchmarkHostile(b *testing.B) {
	for name, h := range hostile {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(h.body) + len(h.path)))
			for b.Loop() {
				Parse([]byte(h.body), Options{}).Rules("x").Decide(h.path)
			}
		})
	}
}
