package notify_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/watcher"
)

func execConfig(command ...string) notify.ReceiverConfig {
	return notify.ReceiverConfig{Name: "exec", To: notify.ExecConfig{Command: command}}
}

func TestExecGetsTheEventOnStdin(t *testing.T) {
	w := newWorld(t, 1)
	out := filepath.Join(t.TempDir(), "event")
	d := w.dispatcher(execConfig("sh", "-c", `cat > "$0"`, out))
	want := w.record(blocks(0, "GPTBot"))[0]
	if err := d.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if got := decode[watcher.Change](t, raw); got.ID != want.ID || got.Site != want.Site {
		t.Errorf("the command got %s", raw)
	}
}

func TestExecFailures(t *testing.T) {
	err := sendTo(t, execConfig("sh", "-c", "echo 'no such queue' >&2; exit 3"))
	if err == nil || !strings.Contains(err.Error(), "exit status 3: no such queue") {
		t.Errorf("error %v", err)
	}
	if err := sendTo(t, execConfig("/nonexistent/command")); err == nil {
		t.Error("a command that is not there succeeds")
	}
	if err := sendTo(t, execConfig("true")); err != nil {
		t.Errorf("a command that reads nothing: %v", err)
	}
}

// A command that hangs is killed with its children.
func TestExecIsKilledInTime(t *testing.T) {
	targets, err := notify.Targets([]notify.ReceiverConfig{execConfig("sh", "-c", "sleep 60 & wait")}, notify.Means{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err = targets[0].Sender.Send(ctx, notify.TestMessage(start, notify.Links{}))
	if err == nil || !strings.Contains(err.Error(), "took too long") {
		t.Errorf("error %v", err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
