// Package rooms keeps the arrows of docs/architecture.md: who may import whom.
package rooms

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/robotswatch/robotswatch/"

// allowed is the table of docs/architecture.md; a test keeps the two equal.
func allowed(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rooms := map[string]string{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		cells := strings.Split(sc.Text(), "|")
		if len(cells) == 5 && strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			rooms[strings.Trim(strings.TrimSpace(cells[1]), "`")] = strings.NewReplacer("`", "", " ", "").Replace(cells[3])
		}
	}
	if len(rooms) < 10 {
		t.Fatalf("docs/architecture.md: only %d rooms found in its table", len(rooms))
	}
	return rooms
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "../../...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// room of an import path: the longest name of the table that it lies in.
func room(rooms map[string]string, path string) string {
	path = strings.TrimPrefix(path, module)
	best := ""
	for name := range rooms {
		if (path == name || strings.HasPrefix(path, name+"/")) && len(name) > len(best) {
			best = name
		}
	}
	return best
}

func TestImportsFollowTheArrows(t *testing.T) {
	rooms := allowed(t)
	for _, p := range packages(t) {
		from := room(rooms, p.ImportPath)
		if from == "" && !strings.HasPrefix(p.ImportPath, module+"internal/") {
			t.Errorf("%s stands in no room of docs/architecture.md", p.ImportPath)
		}
		for _, imp := range p.Imports {
			checkImport(t, rooms, from, p.ImportPath, imp)
		}
	}
}

func checkImport(t *testing.T, rooms map[string]string, from, path, imp string) {
	t.Helper()
	if !strings.HasPrefix(imp, module) {
		if (from == "robots") && strings.Contains(strings.Split(imp, "/")[0], ".") {
			t.Errorf("%s imports %s: robots takes the standard library only", path, imp)
		}
		if strings.HasPrefix(imp, "modernc.org/sqlite") || strings.HasPrefix(imp, "github.com/jackc/pgx") {
			if from != "store" {
				t.Errorf("%s imports %s: SQL drivers stand in store only", path, imp)
			}
		}
		if imp == "html/template" && from != "web" {
			t.Errorf("%s imports %s: HTML stands in web only", path, imp)
		}
		if strings.HasPrefix(imp, "github.com/pelletier/go-toml") && from != "config" {
			t.Errorf("%s imports %s: TOML stands in config only", path, imp)
		}
		return
	}
	to := room(rooms, imp)
	if to == from || rooms[from] == "everything" {
		return
	}
	for name := range strings.SplitSeq(rooms[from], ",") {
		if name == to {
			return
		}
	}
	t.Errorf("%s imports %s: %s may import %s of ours", path, imp, from, rooms[from])
}

func TestPureRoomsHaveNoClockLoggerOrIO(t *testing.T) {
	rooms := allowed(t)
	impure := map[string]bool{"context": true, "time": true, "log": true, "log/slog": true, "os": true, "net": true, "net/http": true, "io": true, "database/sql": true}
	for _, p := range packages(t) {
		if r := room(rooms, p.ImportPath); r != "robots" && r != "diff" {
			continue
		}
		for _, imp := range p.Imports {
			if impure[imp] {
				t.Errorf("%s imports %s: the room is pure", p.ImportPath, imp)
			}
		}
	}
}
