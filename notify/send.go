package notify

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/robotswatch/robotswatch/internal/visible"
)

// Sender brings one message to one receiver. It may be called again with the
// same message when it failed, or when the process died before its success
// was recorded. It must honour the context's deadline.
type Sender interface {
	// Send gives back a receipt to be kept with the delivery, "" for none. An
	// error that is not a *SendError is taken as passing.
	Send(ctx context.Context, m Message) (receipt string, err error)
}

// SendError says what a failed attempt means for the next one. Its text is
// shown to people and holds no secrets.
type SendError struct {
	Err        error
	Permanent  bool          // trying again cannot help
	RetryAfter time.Duration // asked for by the receiver; 0 none
}

// maxErrorText bounds what is kept and shown of a receiver's words, in
// characters.
const maxErrorText = 300

// Error has no control characters, whatever the receiver said.
func (e *SendError) Error() string { return visible.Short(e.Err.Error(), maxErrorText) }
func (e *SendError) Unwrap() error { return e.Err }

// refusedStatus makes an error of an HTTP answer that is not a success: 4xx
// other than 408 and 429 are permanent.
func refusedStatus(resp *http.Response, now time.Time) *SendError {
	return &SendError{
		Err:        errors.New("answered " + statusText(resp.StatusCode)),
		Permanent:  permanentStatus(resp.StatusCode),
		RetryAfter: retryAfter(resp.Header.Get("Retry-After"), now),
	}
}

func statusText(code int) string {
	s := strconv.Itoa(code)
	if t := http.StatusText(code); t != "" {
		s += " " + t
	}
	return s
}

func permanentStatus(code int) bool {
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests
}

// retryAfter reads the header: seconds or a date (RFC 9110, 10.2.3).
func retryAfter(v string, now time.Time) time.Duration {
	if v == "" {
		return 0
	}
	if n, err := strconv.ParseInt(v, 10, 64); err == nil && n >= 0 {
		if n > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}

// withoutURL takes the address out of a client's error: the addresses of
// receivers are secrets.
func withoutURL(err error) error {
	var u *url.Error
	if !errors.As(err, &u) {
		return err
	}
	inner := u.Err
	var n *net.OpError
	if errors.As(inner, &n) {
		return n // names the address connected to, never path or query
	}
	if u.Timeout() {
		return errors.New("no answer in time")
	}
	return inner
}
