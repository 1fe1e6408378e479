package fetch

import (
	"net/http"
	"strings"
)

// edges say how headers give away who answered, in order: a service that
// stands in front of others comes first.
var edges = []struct {
	vendor string
	header string // canonical name
	prefix string // of its lower-case value; "" any
}{
	{"datadome", "X-Datadome", ""},
	{"datadome", "X-Dd-B", ""},
	{"datadome", "Server", "datadome"},
	{"cloudflare", "Cf-Ray", ""},
	{"cloudflare", "Cf-Mitigated", ""},
	{"cloudflare", "Server", "cloudflare"},
	{"imperva", "X-Iinfo", ""},
	{"imperva", "X-Cdn", "imperva"},
	{"imperva", "X-Cdn", "incapsula"},
	{"sucuri", "X-Sucuri-Id", ""},
	{"sucuri", "Server", "sucuri"},
	{"aws-waf", "X-Amzn-Waf-Action", ""},
	{"cloudfront", "X-Amz-Cf-Id", ""},
	{"cloudfront", "Server", "cloudfront"},
	{"akamai", "Server", "akamai"},
	{"akamai", "X-Akamai-Transformed", ""},
	{"akamai", "Akamai-Grn", ""},
	{"akamai", "X-Akamai-Request-Id", ""},
	{"fastly", "X-Fastly-Request-Id", ""},
	{"fastly", "X-Served-By", "cache-"},
	{"vercel", "X-Vercel-Id", ""},
	{"netlify", "X-Nf-Request-Id", ""},
	{"azure", "X-Azure-Ref", ""},
	{"bunny", "Server", "bunnycdn"},
	{"ddos-guard", "Server", "ddos-guard"},
	{"qrator", "Server", "qrator"},
	{"cdn77", "Server", "cdn77"},
	{"keycdn", "Server", "keycdn"},
	{"gcore", "X-Id-Fe", ""},
	{"alibaba", "Server", "tengine"},
	{"alibaba", "Eagleid", ""},
	{"stackpath", "X-Hw", ""},
	{"google", "Server", "gws"},
	{"google", "Server", "google frontend"},
	{"github", "X-Github-Request-Id", ""},
	{"wix", "X-Wix-Request-Id", ""},
	{"shopify", "X-Shopid", ""},
	{"squarespace", "Server", "squarespace"},
}

// vendor names the edge that answered, or "".
func vendor(h http.Header) string {
	for _, e := range edges {
		v := h[e.header]
		if len(v) == 0 {
			continue
		}
		if e.prefix == "" || strings.HasPrefix(strings.ToLower(v[0]), e.prefix) {
			return e.vendor
		}
	}
	return ""
}

// challengeHeader reports whether headers alone say that a browser is wanted.
func challengeHeader(h http.Header) bool {
	return strings.EqualFold(h.Get("Cf-Mitigated"), "challenge") ||
		h.Get("X-Amzn-Waf-Action") != ""
}
