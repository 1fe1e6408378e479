package notify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nicholas-fedor/shoutrrr"
	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/netpolicy"
)

// service is one service URL of shoutrrr.
type service struct {
	scheme string
	host   string // to be checked against the policy; "" for services of fixed address
	sender *router.ServiceRouter
	secret []string // what must not show in errors
}

type shoutrrrSender struct {
	services []service
	policy   netpolicy.Policy
	// What the last message has reached already: it is not sent there again
	// when another service failed.
	last string
	done map[int]bool
}

// NewShoutrrr makes the sender of a shoutrrr receiver. The library makes its
// own connections, so the policy is checked before a message, on what the
// host of the URL resolves to, and not on the connection itself.
func NewShoutrrr(cfg ShoutrrrConfig, policy netpolicy.Policy) (Sender, error) {
	if len(cfg.URLs) == 0 {
		return nil, errors.New("give urls")
	}
	s := &shoutrrrSender{policy: policy}
	for i, u := range cfg.URLs {
		sv, err := newService(u.Reveal())
		if err != nil {
			return nil, fmt.Errorf("urls: the %s: %w", ordinal(i+1), err)
		}
		s.services = append(s.services, sv)
	}
	return s, nil
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		suffix = map[int]string{1: "st", 2: "nd", 3: "rd"}[n%10]
		if suffix == "" {
			suffix = "th"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// ownHosts are the services whose URL names a host of the user's choice.
var ownHosts = map[string]bool{
	"bark": true, "generic": true, "gotify": true, "matrix": true, "mattermost": true, "ntfy": true,
	"rocketchat": true, "signal": true, "smtp": true, "zulip": true,
}

// CheckService reports what is wrong with a service URL; its error holds no
// secrets. Nothing is sent.
func CheckService(raw string) error {
	_, err := newService(raw)
	return err
}

func newService(raw string) (service, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return service{}, errors.New("not a valid URL")
	}
	scheme, _, _ := strings.Cut(u.Scheme, "+")
	if known := (&router.ServiceRouter{}).ListServices(); !slices.Contains(known, scheme) {
		slices.Sort(known)
		return service{}, fmt.Errorf("%q is not a service; there are %s", scheme, strings.Join(known, ", "))
	}
	s := service{scheme: scheme, secret: secretsOf(u, raw)}
	if ownHosts[scheme] {
		s.host = u.Hostname()
	}
	if s.sender, err = shoutrrr.CreateSender(raw); err != nil {
		return service{}, errors.New(s.scrub(err.Error()))
	}
	return s, nil
}

// minSecret is the shortest piece of a URL that is taken for a secret.
const minSecret = 4

// secretsOf lists every piece of a service URL that may be one, the longest
// first, so that pieces of pieces are covered.
func secretsOf(u *url.URL, raw string) []string {
	list := []string{raw, u.String(), u.RawQuery, u.EscapedPath(), u.Path, u.Host, u.Hostname(), u.Fragment}
	if u.User != nil {
		password, _ := u.User.Password()
		list = append(list, u.User.String(), u.User.Username(), password)
	}
	list = append(list, strings.Split(u.Path, "/")...)
	for _, values := range u.Query() {
		list = append(list, values...)
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

func (s service) scrub(text string) string {
	for _, secret := range s.secret {
		if len(secret) >= minSecret {
			text = strings.ReplaceAll(text, secret, "********")
			text = strings.ReplaceAll(text, url.QueryEscape(secret), "********")
		}
	}
	return visible.Short(text, 300)
}

func (s *shoutrrrSender) Send(ctx context.Context, m Message) (string, error) {
	if s.last != m.ID || m.ID == "" {
		s.last, s.done = m.ID, map[int]bool{}
	}
	var errs []error
	for i, sv := range s.services {
		if s.done[i] {
			continue
		}
		if err := sv.send(ctx, m, s.policy); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", sv.scheme, err))
			continue
		}
		s.done[i] = true
	}
	if len(errs) > 0 {
		return "", &SendError{Err: errors.Join(errs...)}
	}
	return "", nil
}

func (s service) send(ctx context.Context, m Message, policy netpolicy.Policy) error {
	if err := s.check(ctx, policy); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok {
		s.sender.Timeout = max(time.Until(deadline), time.Millisecond)
	}
	var text []string
	for _, err := range s.sender.Send(s.render(m.Text), &types.Params{"title": fit(m.Text.Title, 250)}) {
		if err != nil {
			text = append(text, s.scrub(err.Error()))
		}
	}
	if text != nil {
		return errors.New(strings.Join(text, "; "))
	}
	return nil
}

// check refuses hosts that the policy does.
func (s service) check(ctx context.Context, policy netpolicy.Policy) error {
	if s.host == "" {
		return nil
	}
	addresses, err := resolve(ctx, s.host)
	if err != nil {
		return errors.New(s.scrub(err.Error()))
	}
	for _, a := range addresses {
		if err := policy.Check(a); err != nil {
			return err
		}
	}
	return nil
}

func resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// render writes a message in the service's language, within its limit.
func (s service) render(t Text) string {
	switch s.scheme {
	case "discord", "mattermost", "rocketchat", "matrix", "zulip", "teams", "googlechat":
		return whole(t.Markdown(), 1900)
	case "slack":
		return slackFallback(t)
	case "pushover", "join", "ifttt", "pushbullet":
		return whole(t.Plain(), 1000)
	case "smtp":
		return t.Plain()
	}
	return whole(t.Plain(), 3500)
}

// whole cuts text to n characters between lines.
func whole(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	var b strings.Builder
	used := 0
	for line := range strings.Lines(s) {
		if used += utf8.RuneCountInString(line); used > n-2 {
			break
		}
		b.WriteString(line)
	}
	return b.String() + "…"
}
