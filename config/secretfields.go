package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxSecretBytes is how large a file with a secret may be.
const maxSecretBytes = 64 << 10

// Octets of a key that signs webhooks (Standard Webhooks, "Signature scheme").
const (
	minSigningKey = 24
	maxSigningKey = 64
)

// hide makes a Secret of a value that check accepts.
type hide func(in *input, value string) (Secret, error)

// hidden is a value of which nothing may be seen.
func hidden(_ *input, value string) (Secret, error) { return newSecret(value), nil }

// hiddenURL is a URL that is a key by itself.
func hiddenURL(schemes ...string) hide {
	return func(_ *input, value string) (Secret, error) {
		_, err := checkURL(value, schemes...)
		return newSecretURL(value), err
	}
}

// signingKey is a secret of the Standard Webhooks specification. The error
// does not quote it.
func signingKey(_ *input, value string) (Secret, error) {
	encoded, ok := strings.CutPrefix(value, "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < minSigningKey || len(key) > maxSigningKey {
		return Secret{}, fmt.Errorf("not a secret of Standard Webhooks; write whsec_ and %d to %d octets in base64", minSigningKey, maxSigningKey)
	}
	return newSecret(value), nil
}

// secretKeys gives the three keys that a secret can be set with: inline, by file
// and by systemd credential.
func secretKeys[T any](name, kind, doc string, h hide, ref func(*T) *Secret) []field[T] {
	type from func(in *input, ref string) (string, error)
	one := func(suffix, kind, doc string, source from) field[T] {
		origin := strings.TrimPrefix(suffix, "_")
		return field[T]{
			name: name + suffix, kind: kind, doc: doc, alternative: name,
			read: func(in *input, n *node, to *T) {
				v, ok := text(kind, func(in *input, s string) (Secret, error) {
					if s == "" {
						return Secret{}, nil
					}
					value, err := source(in, s)
					if err != nil {
						return Secret{}, err
					}
					v, err := h(in, value)
					if suffix != "" {
						v.from, v.name = origin, s
					}
					return v, err
				}, nil).read(in, n)
				if ok && v.IsSet() {
					*ref(to) = v
				}
			},
			show: func(t *T) string {
				s := *ref(t)
				switch {
				case !s.IsSet() || s.from != origin:
					return ""
				case origin == "":
					return quote(s.String())
				}
				return quote(s.name)
			},
		}
	}
	inline := func(_ *input, value string) (string, error) { return value, nil }
	return []field[T]{
		one("", kind, doc, inline),
		one("_file", "path", "The same, read from a file.", readSecretFile),
		one("_credential", "name", "The same, by the name of a systemd credential.", readCredential),
	}
}

func readSecretFile(in *input, path string) (string, error) { return readSecret(in.resolve(path)) }

func readCredential(in *input, name string) (string, error) {
	if in.options.CredentialsDir == "" {
		return "", errors.New("there is no $CREDENTIALS_DIRECTORY; systemd sets it for units with LoadCredential=, by hand set it to the directory that holds the secret")
	}
	if name != filepath.Base(name) {
		return "", fmt.Errorf("%q is not the name of a credential; write what stands before the colon in LoadCredential=", name)
	}
	return readSecret(filepath.Join(in.options.CredentialsDir, name))
}

func readSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecretBytes+1))
	switch value := strings.TrimRight(string(b), "\r\n"); {
	case err != nil:
		return "", err
	case len(b) > maxSecretBytes:
		return "", fmt.Errorf("%s is larger than %s; a secret is not", path, formatSize(maxSecretBytes))
	case value == "":
		return "", fmt.Errorf("%s is empty", path)
	default:
		return value, nil
	}
}
