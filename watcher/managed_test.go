package watcher

import "testing"

func TestManagedBy(t *testing.T) {
	block := func(text string) string {
		return "# BEGIN Cloudflare Managed content\r\n" + text + "\r\n# END Cloudflare Managed Content\n"
	}
	for _, c := range []struct{ name, old, now, want string }{
		{"no block", "a", "b", ""},
		{"the block appears", "User-agent: *\n", block("x") + "\n\nUser-agent: *", "Cloudflare"},
		{"the block goes", block("x") + "a", "a", "Cloudflare"},
		{"the block changes", block("x") + "a\n", block("y") + "a\n", "Cloudflare"},
		{"the rest changes", block("x") + "a\n", block("x") + "b\n", ""},
		{"both change", block("x") + "a\n", block("y") + "b\n", ""},
		{"another vendor", "a\n", "# begin Acme Edge managed rules\nx\n# end Acme Edge managed rules\na\n", "Acme Edge"},
		{"a block without end", "a\n", "# BEGIN Cloudflare Managed content\nx\na\n", ""},
		{"not a comment", "a\n", "BEGIN Cloudflare Managed content\nx\nEND Cloudflare Managed content\na\n", ""},
	} {
		if got := managedBy([]byte(c.old), []byte(c.now)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
