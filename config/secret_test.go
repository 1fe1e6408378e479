package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/internal/secret"
)

const planted = "geheim-7f3a"

// plantedKey is one that signs webhooks.
const plantedKey = "whsec_Z2VoZWltLTdmM2EtZ2VoZWltLTdmM2EteHl6"

// everySecret sets each secret that there is to something with the planted
// word in it, by means of the function that says how to write one.
func everySecret(set func(key, value string) string) string {
	var b strings.Builder
	b.WriteString("[store]\n" + set("url", "postgres://robotswatch:"+planted+"@host/db?sslpassword="+planted))
	b.WriteString("[fetch]\n" + set("proxy", "http://me:"+planted+"@proxy.example:3128"))
	b.WriteString("[server]\n" + set("read_token", planted) + set("admin_token", planted))
	b.WriteString("[heartbeat]\n" + set("url", "https://pings.example/"+planted))
	for _, r := range []string{
		"type = \"slack\"\n" + set("webhook_url", "https://hooks.slack.example/"+planted),
		"type = \"slack\"\nchannel = \"#x\"\n" + set("token", "xoxb-"+planted),
		"type = \"webhook\"\n" + set("url", "https://u:"+planted+"@hooks.example/"+planted+"?"+planted) + set("secret", plantedKey) + set("previous_secret", plantedKey),
		"type = \"alertmanager\"\n" + set("url", "https://u:"+planted+"@am.example/"),
		"type = \"shoutrrr\"\n" + set("urls", "telegram://"+planted+"@telegram?chats=x"),
	} {
		fmt.Fprintf(&b, "[[receivers]]\nname = \"r%d\"\n%s", b.Len(), r)
	}
	return b.String()
}

func inline(key, value string) string {
	if key == "urls" {
		return fmt.Sprintf("urls = [%q]\n", value)
	}
	return fmt.Sprintf("%s = %q\n", key, value)
}

func TestSecretsCannotBePrinted(t *testing.T) {
	c := parse(t, everySecret(inline))
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	log.Info("x", "config", c, "receivers", c.Receivers, "url", c.Store.URL, "token", &c.Server.ReadToken)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "config", c, "url", c.Store.URL)
	wrapped := struct{ hidden *Config }{c}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		fmt.Fprintf(&out, verb, c)
		fmt.Fprintf(&out, verb, *c)
		fmt.Fprintf(&out, verb, wrapped)
		fmt.Fprintf(&out, verb, c.Receivers)
		fmt.Fprintf(&out, verb, c.Server.ReadToken)
		fmt.Fprintf(&out, verb, struct{ s Secret }{c.Server.ReadToken})
	}
	if err := json.NewEncoder(&out).Encode(c); err != nil {
		t.Fatal(err)
	}
	if _, err := c.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(&out, fmt.Errorf("store %v: %w", c.Store.URL, os.ErrInvalid), c.Server.AdminToken)
	for _, leaked := range []string{plantedKey[6:], planted, fmt.Sprintf("%x", planted), fmt.Sprintf("%X", planted)} {
		if i := strings.Index(out.String(), leaked); i >= 0 {
			t.Errorf("a secret came out: %q", out.String()[max(0, i-100):i+len(leaked)])
		}
	}
	if !strings.Contains(out.String(), secret.Mask) {
		t.Error("nothing was masked")
	}
	if got := c.Server.ReadToken.Reveal(); got != planted {
		t.Errorf("revealed %q", got)
	}
}

func TestMasksSayWhereAURLLeads(t *testing.T) {
	c := parse(t, everySecret(inline))
	tests := map[string]Secret{
		"postgres://robotswatch:********@host/db?sslpassword=********": c.Store.URL,
		"http://me:********@proxy.example:3128":                        c.Fetch.Proxy,
		"https://hooks.slack.example/********":                         c.Receivers[0].WebhookURL,
		"https://hooks.example/********":                               c.Receivers[2].URL,
		"telegram://********":                                          c.Receivers[4].URLs[0],
		"********":                                                     c.Server.ReadToken,
		"":                                                             {},
	}
	for want, s := range tests {
		if got := s.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSecretsFromFilesAndCredentials(t *testing.T) {
	dir := t.TempDir()
	credentials := filepath.Join(dir, "credentials")
	if err := os.Mkdir(credentials, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{"file", "credential"} {
		n := 0
		text := everySecret(func(key, value string) string {
			n++
			name := fmt.Sprintf("%s-%d", key, n)
			path := filepath.Join(dir, name)
			if source == "credential" {
				path = filepath.Join(credentials, name)
			}
			if err := os.WriteFile(path, []byte(value+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%s_%s = %q\n", key, source, name)
		})
		opt := options()
		opt.CredentialsDir = credentials
		c, err := Parse(filepath.Join(dir, "config.toml"), []byte(text), opt)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Server.AdminToken.Reveal(); got != planted {
			t.Errorf("%s: revealed %q", source, got)
		}
		if got := c.Receivers[4].URLs[0].Reveal(); !strings.Contains(got, planted) {
			t.Errorf("%s: revealed %q", source, got)
		}
		var shown strings.Builder
		if _, err := c.WriteTo(&shown); err != nil {
			t.Fatal(err)
		}
		if got := shown.String(); strings.Contains(got, planted) || !strings.Contains(got, "read_token_"+source+` = "read_token-`) ||
			!strings.Contains(got, "urls_"+source+` = "urls-`) || strings.Contains(got, secret.Mask) {
			t.Errorf("%s: shown as\n%s", source, got)
		}
	}
}

func TestSecretsThatDoNotFit(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	for size, want := range map[int]bool{maxSecretBytes: true, maxSecretBytes + 1: false} {
		if err := os.WriteFile(large, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Parse("c.toml", []byte(fmt.Sprintf("[server]\nread_token_file = %q\n", large)), options())
		if (err == nil) != want {
			t.Errorf("%d octets: %v", size, err)
		}
	}
	opt := options()
	opt.CredentialsDir = dir
	if _, err := Parse("c.toml", []byte("[server]\nread_token_credential = \"../large\"\n"), opt); err == nil {
		t.Error("a credential was read from outside of its directory")
	}
}
