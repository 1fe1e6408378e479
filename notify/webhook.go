package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/internal/secret"
)

// Secrets of Standard Webhooks: 24 to 64 octets in base64 behind a prefix.
const (
	webhookSecretPrefix = "whsec_"
	minWebhookSecret    = 24
	maxWebhookSecret    = 64
	maxWebhookSecrets   = 2
)

type webhookSender struct {
	url    string
	keys   [][]byte
	client *http.Client
}

// NewWebhook makes the sender of a webhook receiver: a POST of the change
// event as JSON for each change, signed after the Standard Webhooks
// specification when secrets are given. The id header is the event's id, the
// same for each attempt; timestamp and signature are of the attempt.
func NewWebhook(cfg WebhookConfig, client *http.Client) (Sender, error) {
	if !cfg.URL.IsSet() {
		return nil, errors.New("give url")
	}
	if len(cfg.Secrets) > maxWebhookSecrets {
		return nil, fmt.Errorf("%d secrets given; two are allowed, for rotation", len(cfg.Secrets))
	}
	s := &webhookSender{url: cfg.URL.Reveal(), client: client}
	for _, c := range cfg.Secrets {
		key, err := ParseWebhookSecret(c)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, key)
	}
	return s, nil
}

// ParseWebhookSecret reads "whsec_" and base64. Its errors do not quote it.
func ParseWebhookSecret(s secret.Value) ([]byte, error) {
	enc, ok := strings.CutPrefix(s.Reveal(), webhookSecretPrefix)
	if !ok {
		return nil, errors.New("secret: must begin with whsec_")
	}
	key, err := base64.StdEncoding.DecodeString(enc)
	if err != nil {
		return nil, errors.New("secret: what follows whsec_ is not base64")
	}
	if len(key) < minWebhookSecret || len(key) > maxWebhookSecret {
		return nil, fmt.Errorf("secret: %d octets; must be %d to %d", len(key), minWebhookSecret, maxWebhookSecret)
	}
	return key, nil
}

func (s *webhookSender) Send(ctx context.Context, m Message) (string, error) {
	body, err := eventJSON(m)
	if err != nil {
		return "", &SendError{Err: err, Permanent: true}
	}
	req, err := newPost(ctx, s.url, body)
	if err != nil {
		return "", err
	}
	s.sign(req.Header, m.ID, time.Now(), body)
	return "", post(s.client, req)
}

// sign sets the three headers of the specification; without a secret there
// is no signature.
func (s *webhookSender) sign(h http.Header, id string, at time.Time, body []byte) {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", timestamp)
	var signatures []string
	for _, key := range s.keys {
		mac := hmac.New(sha256.New, key)
		io.WriteString(mac, id+"."+timestamp+".")
		mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if len(signatures) > 0 {
		h.Set("webhook-signature", strings.Join(signatures, " "))
	}
}

// newPost is a request with a JSON body.
func newPost(ctx context.Context, url string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, &SendError{Err: errors.New("url is not valid"), Permanent: true}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "robotswatch")
	return req, nil
}

// post sends a request whose answer's body does not matter.
func post(client *http.Client, req *http.Request) error {
	resp, err := client.Do(req)
	if err != nil {
		return &SendError{Err: withoutURL(err)}
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return refusedStatus(resp, time.Now())
	}
	return nil
}

// eventJSON is what programs get: the change event; for a digest or notice an
// object of its own schema.
func eventJSON(m Message) ([]byte, error) {
	if len(m.Changes) > 0 {
		return marshal(m.Changes[0])
	}
	return marshal(struct {
		Schema  string    `json:"schema"`
		ID      string    `json:"id"`
		At      time.Time `json:"at"`
		Summary string    `json:"summary"`
		Changes int       `json:"changes"`
		Sites   int       `json:"sites"`
		Text    string    `json:"text"`
		Groups  []Alike   `json:"groups,omitempty"`
	}{"robotswatch." + string(m.Kind) + "/v1", m.ID, m.At.UTC(), m.Text.Title, m.Totals.Deliveries, m.Totals.Sites, m.Text.Plain(), m.Groups})
}

// marshal leaves <, > and & as they are: the body is no HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
