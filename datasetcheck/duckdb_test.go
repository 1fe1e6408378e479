package datasetcheck

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"
)

// types are the columns as DuckDB sees them.
var types = map[string]string{
	"observations": "schema VARCHAR, site VARCHAR, first_at TIMESTAMP WITH TIME ZONE, last_at TIMESTAMP WITH TIME ZONE, state VARCHAR, " +
		"reason VARCHAR, detail VARCHAR, status INTEGER, final_url VARCHAR, sha256 VARCHAR, bytes BIGINT, truncated BOOLEAN, backfilled BOOLEAN, " +
		"captures INTEGER, vendor VARCHAR, address VARCHAR, tls_subject VARCHAR, headers STRUCT(\"name\" VARCHAR, \"value\" VARCHAR)[], " +
		"catalogue VARCHAR, engine VARCHAR",
	"policies": "schema VARCHAR, site VARCHAR, agent VARCHAR, valid_from TIMESTAMP WITH TIME ZONE, valid_to TIMESTAMP WITH TIME ZONE, " +
		"access VARCHAR, source VARCHAR, state VARCHAR, rule VARCHAR, line INTEGER, sha256 VARCHAR, catalogue VARCHAR, engine VARCHAR",
	"changes": "schema VARCHAR, id VARCHAR, at TIMESTAMP WITH TIME ZONE, site VARCHAR, tags VARCHAR[], kind VARCHAR, severity VARCHAR, summary VARCHAR, ",
}

func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDatasets: ROBOTSWATCH_ROWS says how many sampled rows of each table are
// compared with the API (1,000), ROBOTSWATCH_HOSTS how many hosts there are.
func TestDatasets(t *testing.T) {
	rows := number(t, "ROBOTSWATCH_ROWS", 1000)
	w := newWorld(t, number(t, "ROBOTSWATCH_HOSTS", 30), 104)
	doc, err := os.ReadFile(filepath.Join("..", "docs", "datasets.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(w.dir) // the recipes name files without a directory
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("SET TimeZone = 'UTC'"); err != nil {
		t.Fatal(err)
	}
	c := check{t: t, w: w, db: db, rows: rows}
	for table, want := range types {
		if got := c.columns(table); !strings.HasPrefix(got, want) {
			t.Errorf("%s: columns\n%s\nwant\n%s", table, got, want)
		}
	}
	c.metadata()
	c.observations()
	c.policies()
	c.changes()
	c.recipes(string(doc))
}

type check struct {
	t    *testing.T
	w    *world
	db   *sql.DB
	rows int
}

func (c *check) columns(table string) string {
	var list []string
	c.each("SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM '"+table+".parquet')", func(scan func(...any) error) error {
		var name, kind string
		err := scan(&name, &kind)
		list = append(list, name+" "+kind)
		return err
	})
	return strings.Join(list, ", ")
}

// each runs a query and calls fn for each row.
func (c *check) each(query string, fn func(scan func(...any) error) error) {
	c.t.Helper()
	rows, err := c.db.Query(query)
	if err != nil {
		c.t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			c.t.Fatalf("%s: %v", query, err)
		}
	}
	if err := rows.Err(); err != nil {
		c.t.Fatalf("%s: %v", query, err)
	}
}

func (c *check) count(query string) (n int) {
	c.t.Helper()
	c.each(query, func(scan func(...any) error) error { return scan(&n) })
	return n
}

// metadata says with what the rows were derived.
func (c *check) metadata() {
	for table, schema := range map[string]string{"observations": "robotswatch.observations/v1", "policies": "robotswatch.policies/v1", "changes": "robotswatch.change/v1"} {
		got := map[string]string{}
		c.each("SELECT decode(key), decode(value) FROM parquet_kv_metadata('"+table+".parquet')", func(scan func(...any) error) error {
			var k, v string
			err := scan(&k, &v)
			got[k] = v
			return err
		})
		if got["schema"] != schema || got["catalogue"] == "" || got["engine"] == "" {
			c.t.Errorf("%s: metadata %v", table, got)
		}
	}
}

// sample is a query for some rows as JSON, times as the API writes them.
func (c *check) sample(columns, table, where string) (list []map[string]any) {
	c.t.Helper()
	query := fmt.Sprintf("SELECT to_json(r)::VARCHAR FROM (SELECT %s FROM '%s.parquet' WHERE %s USING SAMPLE reservoir(%d ROWS) REPEATABLE (1)) r",
		columns, table, where, c.rows)
	c.each(query, func(scan func(...any) error) error {
		var text string
		if err := scan(&text); err != nil {
			return err
		}
		row := map[string]any{}
		list = append(list, row)
		return json.Unmarshal([]byte(text), &row)
	})
	return list
}

// stamp makes a column a number of milliseconds.
func stamp(column string) string { return `epoch_ms("` + column + `") AS "` + column + `"` }

func millis(text string) float64 {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return -1
	}
	return float64(at.UnixMilli())
}

// compare fails where rows differ in a column.
func (c *check) compare(what string, got, want map[string]any) {
	c.t.Helper()
	a, err := json.Marshal(got)
	if err != nil {
		c.t.Fatal(err)
	}
	b, err := json.Marshal(want)
	if err != nil {
		c.t.Fatal(err)
	}
	if string(a) != string(b) {
		c.t.Errorf("%s: Parquet has\n%s\nthe API\n%s", what, a, b)
	}
}

func (c *check) observations() {
	api := map[string]map[string]any{}
	for _, host := range c.w.hosts {
		for _, a := range list[map[string]any](c.t, c.w, "/sites/"+host+"/answers") {
			if a["backfilled"] == true { // what was exported, before the server looked
				a["at"], a["last_at"] = millis(a["at"].(string)), millis(a["last_at"].(string))
				api[fmt.Sprintf("https://%s %.0f", host, a["at"])] = a
			}
		}
	}
	if n := c.count("SELECT count(*)::INTEGER FROM 'observations.parquet'"); n != len(api) || n == 0 {
		c.t.Errorf("%d observations, the API has %d", n, len(api))
	}
	sampled := c.sample("site, epoch_ms(first_at) AS \"at\", "+stamp("last_at")+", state, reason, detail, status, final_url, sha256, bytes, truncated, vendor, headers, backfilled", "observations", "true")
	for _, row := range sampled {
		key := fmt.Sprintf("%s %.0f", row["site"], row["at"])
		delete(row, "site")
		c.compare(key, row, api[key])
	}
	c.t.Logf("%d observations, %d of them compared", len(api), len(sampled))
}

// policies are compared at the last moment of an interval: the gate of the API
// says what was known at a time, so at the beginning of an outage nothing yet.
func (c *check) policies() {
	sampled := c.sample("site, agent, epoch_ms(valid_to) - 1 AS until, access, source, state, rule, line", "policies",
		"access <> 'unknown' AND valid_to IS NOT NULL AND valid_to > valid_from")
	for len(sampled) > 0 {
		page := sampled[:min(len(sampled), 100)]
		sampled = sampled[len(page):]
		var ask struct {
			Questions []map[string]any `json:"questions"`
		}
		for _, row := range page {
			ask.Questions = append(ask.Questions, map[string]any{"site": row["site"], "agent": row["agent"], "path": "/some-ordinary/path~",
				"at": time.UnixMilli(int64(row["until"].(float64))).UTC().Format(time.RFC3339Nano)})
		}
		var replies struct {
			Data []map[string]any `json:"data"`
		}
		c.w.post(c.t, "/access", ask, &replies)
		for i, row := range page {
			got := map[string]any{}
			for _, k := range []string{"access", "source", "state", "rule", "line"} {
				got[k] = replies.Data[i][k]
			}
			what := fmt.Sprintf("%s %s %s", row["site"], row["agent"], ask.Questions[i]["at"])
			for _, k := range []string{"site", "agent", "until"} {
				delete(row, k)
			}
			c.compare(what, row, got)
		}
	}
	overlaps := c.count(`SELECT count(*)::INTEGER FROM (SELECT valid_from, lag(valid_to) OVER (PARTITION BY site, agent ORDER BY valid_from) AS was
		FROM 'policies.parquet') WHERE was IS DISTINCT FROM valid_from AND was IS NOT NULL`)
	if overlaps > 0 {
		c.t.Errorf("%d intervals overlap the one before, or leave a hole", overlaps)
	}
	c.t.Logf("%d policies", c.count("SELECT count(*)::INTEGER FROM 'policies.parquet'"))
}

func (c *check) changes() {
	api := map[string]map[string]any{}
	for _, x := range list[map[string]any](c.t, c.w, "/changes?kind=access,state,signal,crawl_delay,sitemap,cosmetic") {
		if x["backfilled"] == true {
			api[x["id"].(string)] = x
		}
	}
	if n := c.count("SELECT count(*)::INTEGER FROM 'changes.parquet'"); n != len(api) || n == 0 {
		c.t.Errorf("%d changes, the API has %d", n, len(api))
	}
	sampled := c.sample("id, "+stamp("at")+", site, tags, kind, severity, summary, state_before, state_after, cause, before_sha256, after_sha256, backfilled, agents", "changes", "true")
	for _, row := range sampled {
		want := api[row["id"].(string)]
		if want == nil {
			c.t.Errorf("the API does not have change %s", row["id"])
			continue
		}
		state := want["state"].(map[string]any)
		flat := map[string]any{"at": millis(want["at"].(string)), "state_before": state["before"], "state_after": state["after"], "agents": flatAgents(want["agents"].([]any))}
		for _, k := range []string{"id", "site", "tags", "kind", "severity", "summary", "cause", "before_sha256", "after_sha256", "backfilled"} {
			flat[k] = want[k]
		}
		c.compare("change "+row["id"].(string), row, flat)
	}
	c.t.Logf("%d changes, %d of them compared", len(api), len(sampled))
}

// flatAgents are the agents of an event in the columns that Parquet has.
func flatAgents(agents []any) []any {
	out := []any{}
	for _, x := range agents {
		a := x.(map[string]any)
		before, after := a["before"].(map[string]any), a["after"].(map[string]any)
		row := map[string]any{"agent": a["agent"], "direction": a["direction"], "proven": a["proven"], "access_before": before["access"],
			"source_before": before["source"], "access_after": after["access"], "source_after": after["source"]}
		for _, k := range []string{"newly_disallowed", "newly_allowed"} {
			entries := []any{}
			for _, e := range a[k].([]any) {
				e := e.(map[string]any)
				entries = append(entries, map[string]any{"example": e["example"], "rule": e["rule"], "line": e["line"]})
			}
			row[k] = entries
		}
		out = append(out, row)
	}
	return out
}

var sqlBlock = regexp.MustCompile("(?s)```sql\n(.*?)```")

// recipes runs the SQL of the documentation as it stands there.
func (c *check) recipes(doc string) {
	blocks := sqlBlock.FindAllStringSubmatch(doc, -1)
	if len(blocks) == 0 {
		c.t.Error("the documentation has no SQL")
	}
	for _, b := range blocks {
		rows, err := c.db.Query(b[1])
		if err != nil {
			c.t.Errorf("%s\n%v", b[1], err)
			continue
		}
		n := 0
		for rows.Next() {
			n++
		}
		if err := rows.Err(); err != nil || n == 0 {
			c.t.Errorf("%s\n%d rows, %v", b[1], n, err)
		}
		rows.Close()
	}
	c.t.Logf("%d recipes", len(blocks))
}
