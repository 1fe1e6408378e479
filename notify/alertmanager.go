package notify

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// Times of alerts in an Alertmanager.
const (
	// alertRefresh is how often alerts that go on are sent again: an
	// Alertmanager that was restarted has forgotten them.
	alertRefresh = time.Minute
	// alertExpiry is how long after the last refresh an alert ends by itself.
	alertExpiry = time.Hour
	// alertsPerPost bounds one request.
	alertsPerPost = 200
)

type alertmanagerSender struct {
	url    string
	client *http.Client
}

// NewAlertmanager makes the sender of an alertmanager receiver, which speaks
// the v2 API.
func NewAlertmanager(cfg AlertmanagerConfig, client *http.Client) (Sender, error) {
	if !cfg.URL.IsSet() {
		return nil, errors.New("give url")
	}
	return &alertmanagerSender{strings.TrimRight(cfg.URL.Reveal(), "/") + "/api/v2/alerts", client}, nil
}

// postedAlert is an alert as the v2 API takes it.
type postedAlert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// Send posts the alerts of a message: those that end with their end, those
// that go on until alertExpiry from now.
func (s *alertmanagerSender) Send(ctx context.Context, m Message) (string, error) {
	now := time.Now()
	posted := make([]postedAlert, len(m.Alerts))
	for i, a := range m.Alerts {
		end := a.Until
		if end.IsZero() {
			end = now.Add(alertExpiry)
		}
		posted[i] = postedAlert{Labels: a.Labels, Annotations: a.Annotations, StartsAt: a.Since.UTC(), EndsAt: end.UTC(), GeneratorURL: a.URL}
	}
	if m.Kind == MessageTest {
		posted = []postedAlert{{
			Labels:      map[string]string{"alertname": "RobotswatchTest", "severity": "info"},
			Annotations: map[string]string{"summary": m.Text.Title, "description": m.Text.Plain()},
			StartsAt:    now.UTC(), EndsAt: now.Add(time.Minute).UTC(),
		}}
	}
	if len(posted) == 0 {
		return "", nil
	}
	body, err := marshal(posted)
	if err != nil {
		return "", &SendError{Err: err, Permanent: true}
	}
	req, err := newPost(ctx, s.url, body)
	if err != nil {
		return "", err
	}
	return "", post(s.client, req)
}
