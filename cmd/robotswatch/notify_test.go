package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A receiver's address is the operator's word, unlike a site's.
func TestReceiversMayBeLocalUnlessTheySayOtherwise(t *testing.T) {
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	defer hook.Close()
	config := filepath.Join(t.TempDir(), "config.toml")
	for _, tc := range []struct {
		more string
		code int
		want string
	}{
		{"", exitOK, ", answered 202 Accepted"},
		{"allow_private_networks = false\n", exitAnswer, "address 127.0.0.1 is refused: loopback"},
		{"allow_private_networks = false\n[fetch]\nallow_networks = [\"127.0.0.0/8\"]\n", exitOK, ", answered 202 Accepted"},
	} {
		if err := os.WriteFile(config, fmt.Appendf(nil, "[[receivers]]\nname = \"hook\"\ntype = \"webhook\"\nurl = %q\n%s", hook.URL, tc.more), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, out, stderr := runApp(t, "", "--config", config, "notify", "test"); code != tc.code || !strings.Contains(out, tc.want) {
			t.Errorf("%s: exit %d, %s%s; want %d and %q", tc.more, code, out, stderr, tc.code, tc.want)
		}
	}
}
