package config

import (
	"fmt"
	"io"
	"strings"
)

// WriteTo writes the effective configuration as TOML: defaults filled in,
// secrets masked or by the name of their file or credential. Site files are
// named, not listed.
func (c *Config) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	for _, s := range sections() {
		showTable(&b, "["+s.name+"]", s.fields, c)
	}
	siteKeys, receiverKeys := siteFields(), receiverFields()
	for i := range c.sites {
		showTable(&b, "[[sites]]", siteKeys, &c.sites[i])
	}
	for i := range c.siteFiles {
		showTable(&b, "[[site_files]]", siteFileFields(), &c.siteFiles[i])
	}
	for i := range c.Receivers {
		r := &c.Receivers[i]
		showTable(&b, "[[receivers]]", filter(receiverKeys, func(f field[Receiver]) bool { return f.isOf(r.Type) }), r)
	}
	n, err := io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return int64(n), err
}

// showTable writes a table without the keys that are not set and have no
// default.
func showTable[T any](b *strings.Builder, header string, fields []field[T], from *T) {
	fmt.Fprintf(b, "\n%s\n", header)
	for _, f := range fields {
		value := f.show(from)
		if value == "" || f.def == "" && (value == `""` || value == "[]") {
			continue
		}
		fmt.Fprintf(b, "%s = %s\n", f.name, value)
	}
}
