package diff

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/internal/realdata"
	"github.com/robotswatch/robotswatch/robots"
)

// realPair is a file before and after an edit that somebody really made.
type realPair struct {
	name, class   string
	before, after *Input
}

func realPairs(t *testing.T) (pairs []realPair, reading [][]string) {
	t.Helper()
	files := realdata.Archive(t, "pairs.tar.xz")
	for _, row := range table(files["pairs/index.tsv"]) {
		pairs = append(pairs, realPair{row[0], row[1],
			NewInput(files["pairs/"+row[0]+"/before.txt"]), NewInput(files["pairs/"+row[0]+"/after.txt"])})
	}
	return pairs, table(files["pairs/google_reading.tsv"])
}

// table gives the rows of a tab-separated file without its header.
func table(text []byte) (rows [][]string) {
	for line := range strings.Lines(string(text)) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows[1:]
}

// Edits that are known to change no rule change no access, for anybody.
func TestPairsWithoutChange(t *testing.T) {
	quiet := []string{"comment_only", "whitespace_eol_only", "reorder_only", "sitemap_only", "crawl_delay_only"}
	pairs, _ := realPairs(t)
	looked := 0
	for _, p := range pairs {
		if !slices.Contains(quiet, p.class) {
			continue
		}
		looked++
		agents := []Agent{{Token: "GPTBot"}, {Token: "Googlebot"}, {Token: "FooBot"}}
		report := Files(p.before, p.after, append(agents, Named(p.before, p.after, agents)...))
		for _, c := range report.Agents {
			if c.Direction != Same || !c.Proven {
				t.Errorf("%s (%s): %s %s, %v %v", p.name, p.class, c.Agent, c.Direction, c.NewlyDisallowed, c.NewlyAllowed)
			}
		}
	}
	if looked < 50 {
		t.Errorf("only %d pairs", looked)
	}
}

// Every flip that the best-known parser sees is in the report, read as that
// parser does and read as RFC 9309 says: on no example the readings differ.
func TestPairsAgainstGoogle(t *testing.T) {
	pairs, rows := realPairs(t)
	byName := make(map[string]realPair)
	for _, p := range pairs {
		byName[p.name] = p
	}
	flips := 0
	for _, row := range rows {
		toBlock, _ := strconv.Atoi(row[5])
		toAllow, _ := strconv.Atoi(row[6])
		if toBlock+toAllow == 0 {
			continue
		}
		flips++
		p := byName[row[0]]
		path := strings.TrimPrefix(row[7], "https://e.com")
		for _, reading := range []robots.Reading{robots.ReadingGoogle, robots.ReadingRFC9309} {
			agent := Agent{Token: row[1], Reading: reading}
			before, after := p.before.Rules(agent), p.after.Rules(agent)
			if before.Decide(path).Allowed == after.Decide(path).Allowed {
				t.Errorf("%s %s, read as %s: %s is no flip", row[0], row[1], reading, path)
			}
			c := Compare(before, after)
			if toBlock > 0 && len(c.NewlyDisallowed) == 0 || toAllow > 0 && len(c.NewlyAllowed) == 0 {
				t.Errorf("%s %s, read as %s: report says %q", row[0], row[1], reading, c.Direction)
			}
		}
	}
	if flips < 1000 {
		t.Errorf("only %d flips", flips)
	}
}
