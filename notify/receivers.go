package notify

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/robotswatch/robotswatch/netpolicy"
)

// Means are what senders are made of.
type Means struct {
	Policy netpolicy.Policy // which addresses receivers may have
	Bodies Bodies           // nil: no text diffs
	Log    *slog.Logger     // where log receivers write
	Links  Links
	// Listen gets to hear each HTTP exchange with a receiver; nil: nobody does.
	Listen func(http.RoundTripper) http.RoundTripper
}

// Targets makes the senders of all receivers. No error quotes a secret.
func Targets(receivers []ReceiverConfig, m Means) ([]Target, error) {
	var targets []Target
	for _, c := range receivers {
		s, err := newSender(c, m)
		if err != nil {
			return nil, fmt.Errorf("receiver %q: %w", c.Name, err)
		}
		targets = append(targets, Target{Config: c, Sender: s})
	}
	return targets, nil
}

func newSender(c ReceiverConfig, m Means) (Sender, error) {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	policy := m.Policy
	policy.AllowPrivate = policy.AllowPrivate || c.AllowPrivate
	client := netpolicy.Client(policy, timeout)
	if m.Listen != nil {
		client.Transport = m.Listen(client.Transport)
	}
	switch to := c.To.(type) {
	case SlackConfig:
		return NewSlack(to, client, m.Bodies, m.Links)
	case WebhookConfig:
		return NewWebhook(to, client)
	case ShoutrrrConfig:
		return NewShoutrrr(to, policy)
	case ExecConfig:
		return NewExec(to)
	case AlertmanagerConfig:
		if c.Mode == Digest {
			return nil, errors.New("an alertmanager shows what is the case: mode digest is not for it")
		}
		return NewAlertmanager(to, client)
	case LogConfig:
		return NewLog(m.Log.With("receiver", c.Name)), nil
	}
	return nil, fmt.Errorf("nothing says how it is reached (%T)", c.To)
}
