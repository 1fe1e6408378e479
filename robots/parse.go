package robots

// Parse reads a robots.txt. It never fails: every line that can be read is
// used, the rest is kept as unknown records (RFC 9309, 2.3.1.5).
func Parse(b []byte, opt Options) *File { return &File{Bytes: len(b), reading: opt.Reading} }

// Tokens lists the product tokens that the file names, lower case, in order
// of first appearance, without "*".
func (f *File) Tokens() []string { return nil }

// Names reports whether a group names one of the tokens.
func (f *File) Names(token string) bool { return false }

// Rules gives the effective rules for a crawler. tokens is its own product
// token, then, where the crawler documents such a chain, the tokens it falls
// back to; the first one that a group names counts, "*" after all of them.
func (f *File) Rules(tokens ...string) *Rules {
	return &Rules{Source: SourceDefault, reading: f.reading}
}
