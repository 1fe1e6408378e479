package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/robotswatch/robotswatch/internal/visible"
)

// execGrace is how long a command that is being ended has for its output.
const execGrace = time.Second

// maxExecOutput is how much of a command's standard error is kept, in octets.
const maxExecOutput = 4096

type execSender struct{ command []string }

// NewExec makes the sender of an exec receiver: it runs a command for each
// change, without a shell, with the event as JSON on standard input. Exit
// code 0 is success; any other has the change tried again. A command that
// takes too long is killed with everything that it has started.
func NewExec(cfg ExecConfig) (Sender, error) {
	if len(cfg.Command) == 0 {
		return nil, errors.New("give command")
	}
	return &execSender{cfg.Command}, nil
}

func (s *execSender) Send(ctx context.Context, m Message) (string, error) {
	event, err := eventJSON(m)
	if err != nil {
		return "", &SendError{Err: err, Permanent: true}
	}
	cmd := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
	cmd.Stdin = bytes.NewReader(event)
	output := &head{limit: maxExecOutput}
	cmd.Stderr = output
	cmd.WaitDelay = execGrace
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	switch err := cmd.Run(); {
	case ctx.Err() != nil:
		return "", &SendError{Err: errors.New("the command took too long")}
	case err != nil:
		text, _, _ := strings.Cut(strings.TrimSpace(output.String()), "\n")
		if text != "" {
			text = ": " + visible.Short(text, 200)
		}
		return "", &SendError{Err: fmt.Errorf("command: %w%s", err, text)}
	}
	return "", nil
}

// head keeps the beginning of what is written.
type head struct {
	bytes.Buffer
	limit int
}

func (h *head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:max(0, min(len(p), h.limit-h.Len()))])
	return len(p), nil
}
