package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/robotswatch/robotswatch/internal/simweb"
	"github.com/robotswatch/robotswatch/store/pgtest"
)

// reshaped are columns that a migration changes on purpose, and why.
var reshaped = map[string]string{
	"changes.id":           "schema 7: octets of the ULID",
	"changes.at":           "schema 7: the id tells it",
	"changes.data":         "schema 7: what the row does not tell",
	"changes.agents_id":    "schema 7: in the event's order and spelling",
	"deliveries.change_id": "schema 7: octets of the ULID",
	"observations.state":   "schema 8: a letter",
	"observations.reason":  "schema 8: what the status does not tell",
	"observations.detail":  "schema 8: what the status does not tell",
	"observations.link":    "schema 8: of archives the end of the chain alone",
}

func postgresServer(t *testing.T) *pgtest.Cluster {
	t.Helper()
	cluster, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	return cluster
}

func upgradeBoth(t *testing.T, dir string, cluster *pgtest.Cluster) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		keepFile(t, filepath.Join(s.dir, "store.db"), unpack(t, filepath.Join(dir, releaseSQLite)))
		upgrade(t, s, dir, "sqlite:store.db", openRaw(t, "sqlite", filepath.Join(s.dir, "store.db")))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := cluster.Database(t)
		restore(t, url, unpack(t, filepath.Join(dir, releasePostgres)))
		upgrade(t, newStage(t), dir, url, openRaw(t, "pgx", url))
	})
}

// restore runs the statements of a dump; lines with a backslash are for psql
// alone.
func restore(t *testing.T, url string, dump []byte) {
	t.Helper()
	var statements bytes.Buffer
	for line := range bytes.Lines(dump) {
		if !bytes.HasPrefix(line, []byte(`\`)) {
			statements.Write(line)
		}
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.PgConn().Exec(t.Context(), statements.String()).ReadAll(); err != nil {
		t.Fatalf("restore: %v", err)
	}
}

func openRaw(t *testing.T, driver, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(0) // what a connection knows of a table is gone after a migration
	t.Cleanup(func() { db.Close() })
	return db
}

func upgrade(t *testing.T, s *stage, dir, url string, raw *sql.DB) {
	a := newAudience(t)
	s.configure(patientConfirm, releaseConfig(url, a.receivers("down"), "left.example"))
	before := content(t, raw)
	s.migrate(t, url, before)
	compareContent(t, before, content(t, raw))
	for name, args := range tellings {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		compareTelling(t, name, want, s.output(args...))
	}
	s.goesOn(t, a, url)
	refusesNewer(t, s, raw)
}

// migrate brings the store forward, with a backup of what was there.
func (s *stage) migrate(t *testing.T, url string, before map[string][]string) {
	t.Helper()
	cmd := program(t, s.dir, nil, "--config", "config.toml", "store", "migrate", "--backup", "before.db")
	out, err := cmd.CombinedOutput()
	if err != nil {
		// Of an older schema only PostgreSQL's own tools make a copy.
		if !strings.HasPrefix(url, "postgres") || !strings.Contains(string(out), "pg_dump") {
			t.Fatalf("migrate: %v\n%s", err, out)
		}
		s.output("store", "migrate")
		return
	}
	kept := content(t, openRaw(t, "sqlite", filepath.Join(s.dir, "before.db")))
	if strings.HasPrefix(url, "sqlite") && !reflect.DeepEqual(kept, before) {
		t.Error("the backup is not what was there before")
	}
}

// goesOn lets the daemon look at each site again, which all say what they said
// last. It must say nothing again, and deliver what it still owed.
func (s *stage) goesOn(t *testing.T, a *audience, url string) {
	t.Helper()
	ids := func() (list []string) {
		for _, c := range rows(t, s.output(tellings["changes.jsonl"]...)) {
			list = append(list, fmt.Sprint(c["id"]))
		}
		return list
	}
	known := ids()
	var owed []string
	retry := []string{"deliveries", "--retry"}
	for _, d := range rows(t, s.output(tellings["deliveries.jsonl"]...)) {
		if d["receiver"] == "down" {
			owed = append(owed, fmt.Sprint(d["change_id"]))
			retry = append(retry, fmt.Sprint(d["id"]))
		}
	}
	for _, r := range storyOfARelease() {
		last := r.scenes[len(r.scenes)-1]
		if r.host == "announced.example" {
			last = noBots.For(0)
		}
		s.play(r.host, last)
	}
	s.configure(releaseConfig(url, a.receivers("up"), "left.example"))
	s.output(retry...) // they need not wait for their turn
	p := start(t, s.dir).ready()
	for _, r := range storyOfARelease() {
		if r.host == "left.example" {
			continue
		}
		eventually(t, r.host+" is looked at until anything would be confirmed", func() bool { return s.web.Stats(r.host).Requests > 4 })
	}
	eventually(t, "what was owed is delivered", func() bool { return len(a.of("up")) >= len(owed) })
	if got := ids(); !slices.Equal(got, known) {
		t.Errorf("changes were %v, and are %v", known, got)
	}
	// Then the first change of the new version.
	s.play("still.example", simweb.Text("User-agent: *\nDisallow: /\n").For(0))
	eventually(t, "a new change is told", func() bool { return len(a.of("good")) > 0 && len(a.of("up")) > len(owed) })
	p.stop()
	got := a.of("up")
	fresh := got[len(owed):]
	slices.Sort(owed)
	if slices.Sort(got[:len(owed)]); !slices.Equal(got[:len(owed)], owed) {
		t.Errorf("owed %v, delivered %v", owed, got[:len(owed)])
	}
	if !slices.Equal(a.of("good"), fresh) || len(fresh) != 1 || slices.Contains(known, fresh[0]) {
		t.Errorf("told %v and %v: want one new change", a.of("good"), fresh)
	}
}

func refusesNewer(t *testing.T, s *stage, raw *sql.DB) {
	t.Helper()
	if _, err := raw.ExecContext(t.Context(), "UPDATE goose_db_version SET version_id = 9999 WHERE version_id = (SELECT max(version_id) FROM goose_db_version)"); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"run", "sites", "store migrate"} {
		cmd := program(t, s.dir, nil, append([]string{"--config", "config.toml"}, strings.Fields(command)...)...)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != exitTrouble || !containsAll(string(out), []string{"newer robotswatch", "9999"}) {
			t.Errorf("%s on a newer store: %v\n%s", command, err, out)
		}
	}
}

// content is every cell of every table: "column=value", by table.
func content(t *testing.T, db *sql.DB) map[string][]string {
	t.Helper()
	names := query(t, db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
		"SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
	all := map[string][]string{}
	for _, name := range names {
		if name == "goose_db_version" {
			continue
		}
		result, err := db.QueryContext(t.Context(), "SELECT * FROM "+name)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := result.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range columns {
			all[name+"."+c] = nil
		}
		for result.Next() {
			row, dest := make([]any, len(columns)), make([]any, len(columns))
			for i := range row {
				dest[i] = &row[i]
			}
			if err := result.Scan(dest...); err != nil {
				t.Fatal(err)
			}
			for i, c := range columns {
				if octets, ok := row[i].([]byte); ok {
					row[i] = string(octets)
				}
				all[name+"."+c] = append(all[name+"."+c], fmt.Sprintf("%v", row[i]))
			}
		}
		if err := result.Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, cells := range all {
		sort.Strings(cells)
	}
	return all
}

// query gives a column of text, by the first statement that the database
// understands.
func query(t *testing.T, db *sql.DB, statements ...string) (list []string) {
	t.Helper()
	var result *sql.Rows
	var err error
	for _, statement := range statements {
		if result, err = db.QueryContext(t.Context(), statement); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	for result.Next() {
		var s string
		if err := result.Scan(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if err := result.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func compareContent(t *testing.T, before, after map[string][]string) {
	t.Helper()
	if len(before["sites.origin"]) == 0 || len(before["deliveries.id"]) == 0 || len(before["alerts.data"]) == 0 {
		t.Fatal("the store of the release is empty")
	}
	for column, cells := range before {
		if reshaped[column] != "" {
			continue
		}
		if got, ok := after[column]; !ok || !contains(got, cells) {
			t.Errorf("%s: of %d cells, some are lost among the %d of now", column, len(cells), len(got))
		}
	}
}

// contains reports whether a sorted list holds all of another one; rows may
// have been added.
func contains(list, part []string) bool {
	for _, s := range part {
		i, found := slices.BinarySearch(list, s)
		if !found {
			return false
		}
		list = list[i+1:]
	}
	return true
}

// compareTelling wants everything that was told then to be told now; there may
// be more of it.
func compareTelling(t *testing.T, name string, want, got []byte) {
	t.Helper()
	if !strings.HasSuffix(name, ".jsonl") {
		if !bytes.Equal(want, got) {
			t.Errorf("%s was\n%sand is\n%s", name, want, got)
		}
		return
	}
	then, now := rows(t, want), rows(t, got)
	if len(then) != len(now) || len(then) == 0 {
		t.Errorf("%s: %d rows became %d", name, len(then), len(now))
		return
	}
	for i, row := range then {
		for field, value := range row {
			switch field {
			case "stale", "engine", "catalogue", "link": // of the moment, of the version, of the configuration
				continue
			case "observed_at": // was that of the page in place of the policy that decides
				if row["state"] == "not_robots" {
					continue
				}
			}
			if !reflect.DeepEqual(value, now[i][field]) {
				t.Errorf("%s, row %d: %s was %v, and is %v", name, i+1, field, value, now[i][field])
			}
		}
	}
}
