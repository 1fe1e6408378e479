package main

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/simweb"
	"github.com/robotswatch/robotswatch/watcher"
)

// TestAnAgentThatIsAddedGetsItsPast: what a site told before anybody watched
// the agent is known of it after a reload, and nobody is told.
func TestAnAgentThatIsAddedGetsItsPast(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	box := newEvents(t, 0)
	s.configure(s.sites("a.example"), hook("box", box.URL), "[agents]\nwatch = [\"GPTBot\"]\n")
	p := start(t, s.dir).ready()
	eventually(t, "a.example is known", func() bool { return s.web.Stats("a.example").Requests > 1 })
	s.web.Set("a.example", simweb.Text("User-agent: *\nDisallow: /\n"))
	eventually(t, "the change is told", func() bool { return len(box.of("http://a.example")) == 1 })

	s.configure(s.sites("a.example"), hook("box", box.URL), "[agents]\nwatch = [\"GPTBot\", \"NewBot\"]\n")
	if status, body := p.ask("POST", "/-/reload"); status != http.StatusOK {
		t.Fatalf("reload: %d %s", status, body)
	}
	p.says("the past of new agents is known", "newbot")
	status, body := p.ask("GET", "/api/v1/changes?agent=NewBot")
	var page struct{ Data []watcher.Change }
	if err := json.Unmarshal([]byte(body), &page); status != http.StatusOK || err != nil || len(page.Data) != 1 {
		t.Fatalf("%d %s", status, body)
	}
	c := page.Data[0]
	if c.ID != box.of("http://a.example")[0].ID || strings.Join(c.BackfilledAgents, " ") != "NewBot" || c.Backfilled || len(c.Agents) != 2 {
		t.Errorf("%+v", c)
	}
	seen := s.web.Stats("a.example").Requests
	eventually(t, "it is looked at again", func() bool { return s.web.Stats("a.example").Requests > seen+2 })
	if n := len(box.of("http://a.example")); n != 1 {
		t.Errorf("%d changes were sent, want the one", n)
	}
	// Beside the daemon, everything would be told again as it is.
	out, err := program(t, s.dir, nil, "--config", "config.toml", "replay", "--write").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "Nothing differs: 1 change is as it would be told today") {
		t.Errorf("replay: %v\n%s", err, out)
	}
	p.stop()
}

// TestThePastOfANewAgentGoesOnAfterAKill: a daemon that was killed while it
// computed it does not wait for itself after its restart.
func TestThePastOfANewAgentGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.configure(s.sites("a.example"), "[agents]\nwatch = [\"GPTBot\"]\n")
	p := start(t, s.dir).ready()
	eventually(t, "a.example is known", func() bool { return s.web.Stats("a.example").Requests > 1 })
	p.signal(syscall.SIGKILL)
	p.end()
	db, err := sql.Open("sqlite", filepath.Join(s.dir, "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Now()
	if _, err := db.Exec("UPDATE jobs SET lease_until = ? WHERE name = 'past of agents'", now.Add(time.Minute).UnixMilli()); err != nil {
		t.Fatal(err)
	}
	s.configure(s.sites("a.example"), "[agents]\nwatch = [\"GPTBot\", \"NewBot\"]\n")
	p = start(t, s.dir).ready()
	p.says("the past of new agents is known", "newbot")
	if took := time.Since(now); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	p.stop()
}
