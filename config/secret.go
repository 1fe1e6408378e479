package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
)

const mask = "********"

// Secret is a setting that must not be seen. However it is printed, logged or
// encoded, on its own or inside other values, only its mask comes out.
type Secret struct {
	// The value is behind a pointer, since fmt prints unexported fields
	// without asking their methods; it does not follow one to a string.
	value *string
	mask  string
	from  string // "", "file" or "credential"
	name  string // of that file or credential, as configured
}

// NewSecret hides a value.
func NewSecret(value string) Secret { return Secret{value: &value, mask: mask} }

// newSecretURL hides all of a URL that can be a key: what is left says where
// it leads. A value that is no URL is hidden whole.
func newSecretURL(value string) Secret {
	s := NewSecret(value)
	if u, err := url.Parse(value); err == nil && u.Scheme != "" && u.Host != "" {
		s.mask = u.Scheme + "://" + u.Host + "/" + mask
	}
	return s
}

// newLocator hides only the passwords of a URL.
func newLocator(value string) Secret {
	s := NewSecret(value)
	u, err := url.Parse(value)
	if err != nil {
		return s
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), mask)
	}
	query := u.Query()
	for name := range query {
		if strings.Contains(strings.ToLower(name), "password") {
			query.Set(name, mask)
			u.RawQuery = query.Encode()
		}
	}
	s.mask = strings.ReplaceAll(u.String(), "%2A", "*")
	return s
}

// Reveal gives the value, "" when none was set.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsSet reports whether there is a value.
func (s Secret) IsSet() bool { return s.Reveal() != "" }

// String is the mask, "" when no secret is set.
func (s Secret) String() string {
	if !s.IsSet() {
		return ""
	}
	return s.mask
}

// GoString is for %#v.
func (s Secret) GoString() string { return "config.Secret(" + s.String() + ")" }

// Format prints the mask, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// MarshalText gives the mask.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON gives the mask.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// LogValue gives the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
