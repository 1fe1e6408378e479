package config

import (
	"net/url"
	"strings"

	"github.com/robotswatch/robotswatch/internal/secret"
)

// Secret is a setting that must not be seen, and where it came from.
type Secret struct {
	secret.Value
	from string // "", "file" or "credential"
	name string // of that file or credential, as configured
}

func newSecret(value string) Secret { return Secret{Value: secret.New(value)} }

func newMasked(value, mask string) Secret { return Secret{Value: secret.Masked(value, mask)} }

// newSecretURL hides all of a URL that can be a key: what is left says where
// it leads. A value that is no URL is hidden whole.
func newSecretURL(value string) Secret {
	if u, err := url.Parse(value); err == nil && u.Scheme != "" && u.Host != "" {
		return newMasked(value, u.Scheme+"://"+u.Host+"/"+secret.Mask)
	}
	return newSecret(value)
}

// newLocator hides only the passwords of a URL.
func newLocator(value string) Secret {
	u, err := url.Parse(value)
	if err != nil {
		return newSecret(value)
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), secret.Mask)
	}
	query := u.Query()
	for name := range query {
		if strings.Contains(strings.ToLower(name), "password") {
			query.Set(name, secret.Mask)
			u.RawQuery = query.Encode()
		}
	}
	return newMasked(value, strings.ReplaceAll(u.String(), "%2A", "*"))
}
