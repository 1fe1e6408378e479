package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
)

// withETag gives successful answers to GET a validator made of their content,
// and answers 304 to whom has that already. Answers are small: lists have a
// limit.
func withETag(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		held := &heldAnswer{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(held, r)
		if held.status == http.StatusOK {
			sum := sha256.Sum256(append([]byte(w.Header().Get("Content-Type")+"\n"), held.body.Bytes()...))
			tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
			w.Header().Set("ETag", tag)
			w.Header().Add("Vary", "Accept")
			if w.Header().Get("Cache-Control") == "" {
				w.Header().Set("Cache-Control", "private, no-cache")
			}
			if matches(r.Header.Values("If-None-Match"), tag) {
				w.Header().Del("Content-Type")
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		w.WriteHeader(held.status)
		_, _ = held.body.WriteTo(w) // the client may be gone
	})
}

func matches(fields []string, tag string) bool {
	for _, f := range fields {
		for t := range strings.SplitSeq(f, ",") {
			if t = strings.TrimPrefix(strings.TrimSpace(t), "W/"); t == tag || t == "*" {
				return true
			}
		}
	}
	return false
}

// heldAnswer keeps an answer back until it is whole.
type heldAnswer struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (h *heldAnswer) WriteHeader(status int)      { h.status = status }
func (h *heldAnswer) Write(b []byte) (int, error) { return h.body.Write(b) }
