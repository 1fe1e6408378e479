package config

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOneFormForEachSite(t *testing.T) {
	tests := map[string]string{
		"example.com":                         "https://example.com",
		"https://example.com":                 "https://example.com",
		"https://example.com/":                "https://example.com",
		"https://example.com/robots.txt":      "https://example.com",
		"HTTPS://EXAMPLE.Com":                 "https://example.com",
		"https://example.com:443":             "https://example.com",
		"https://example.com:0443/":           "https://example.com",
		"https://example.com:":                "https://example.com",
		"https://example.com.":                "https://example.com",
		"https://example.com:80":              "https://example.com:80",
		"http://example.com:80":               "http://example.com",
		"http://example.com:443":              "http://example.com:443",
		"example.com:8443":                    "https://example.com:8443",
		"bücher.example":                      "https://xn--bcher-kva.example",
		"BÜCHER.example":                      "https://xn--bcher-kva.example",
		"xn--bcher-kva.example":               "https://xn--bcher-kva.example",
		"XN--BCHER-KVA.example":               "https://xn--bcher-kva.example",
		"straße.example":                      "https://xn--strae-oqa.example",
		"例え.テスト":                              "https://xn--r8jz45g.xn--zckzah",
		"ｅｘａｍｐｌｅ．com":                         "https://example.com",
		"my_host.example.com":                 "https://my_host.example.com",
		"localhost":                           "https://localhost",
		"http://localhost:8080":               "http://localhost:8080",
		"r3---sn-abc.example.com":             "https://r3---sn-abc.example.com",
		"foo-.example.com":                    "https://foo-.example.com",
		"127.0.0.1:8080":                      "https://127.0.0.1:8080",
		"http://127.0.0.1":                    "http://127.0.0.1",
		"http://[::1]:8080":                   "http://[::1]:8080",
		"http://[2001:DB8:0:0::1]":            "http://[2001:db8::1]",
		"123.example":                         "https://123.example",
		"3com.com":                            "https://3com.com",
		"a." + strings.Repeat("b", 63) + ".c": "https://a." + strings.Repeat("b", 63) + ".c",
	}
	for in, want := range tests {
		if got, err := NormalizeOrigin(in); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestWhatIsNoSite(t *testing.T) {
	for _, in := range []string{
		"", " ", "/", "https://", "https:///x", "ftp://example.com", "file:///etc/passwd", "mailto:me@example.com", "https://example.com/a",
		"https://example.com?x", "https://example.com#x", "example.com/robots.txt?x", "https://me@example.com", "https://me:pw@example.com",
		"example.com:0", "example.com:65536", "example.com:http", "exa mple.com", "*.example.com", "example..com", ".example.com",
		"1.2.3", "1.2.3.4.5", "256.1.1.1", "0x7f.1", "0x7f000001", "2130706433", "http://::1", "http://[::1", "http://[fe80::1%25eth0]", "[127.0.0.1]",
		"xn--a.example", "example.com\\x", "a\tb.example", strings.Repeat("a", 64) + ".example", strings.Repeat("abc.", 70) + "example",
		"https://https://example.com", "example.com,example.org",
	} {
		if got, err := NormalizeOrigin(in); err == nil {
			t.Errorf("%q is accepted as %q", in, got)
		}
	}
}

func TestOriginsAreStableAndURLs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(
			rapid.StringMatching(`(https?://)?[a-zA-Z0-9._-]{1,20}(:[0-9]{1,5})?/?`),
			rapid.StringMatching(`[a-z]{1,5}(-{1,3}[a-z0-9]{1,4})?\.[a-zé0-9]{1,4}`),
			rapid.String(),
		).Draw(t, "in")
		origin, err := NormalizeOrigin(in)
		if err != nil {
			return
		}
		if again, err := NormalizeOrigin(origin); err != nil || again != origin {
			t.Fatalf("%q is %q, and that is %q, %v", in, origin, again, err)
		}
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			t.Fatalf("%q is %q, which is no origin: %v", in, origin, err)
		}
	})
}

// The short cuts for plain hosts and IPv4 addresses give what the long way
// gives.
func TestPlainHostsTakeNoOtherForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(
			rapid.StringMatching(`[a-z0-9.-]{1,15}`),
			rapid.StringMatching(`[0-9]{1,3}(\.[0-9]{1,3}){3}`),
		).Draw(t, "in")
		short, err := normalizeHost(in)
		if err != nil {
			return
		}
		if long, err := mapHost(strings.TrimSuffix(in, ".")); err != nil || long != short {
			t.Fatalf("%q is %q, but the long way gives %q, %v", in, short, long, err)
		}
	})
}
