package config

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// place in a file, line and column from 1.
type place struct{ line, column int }

// node is a TOML value and where it stands.
type node struct {
	at    place
	kind  unstable.Kind // String, Integer, Float, Bool, dates, Array, Table
	text  string        // a string's value; others as they are written
	items []*node       // Array
	table *table        // Table
	open  bool          // Array made of [[headers]]: more may follow
}

// table is a TOML table that remembers where each key stands.
type table struct {
	at      place
	entries []*entry
	header  bool // has its own [header]
	inline  bool // { … }: nothing can be added
}

type entry struct {
	key   string
	at    place
	value *node
}

func (t *table) get(key string) *entry {
	for _, e := range t.entries {
		if e.key == key {
			return e
		}
	}
	return nil
}

// document builds the tree of a TOML text. It goes on after a mistake as far
// as that is safe, so that all mistakes come out at once.
type document struct {
	data     []byte
	starts   []int // offsets of the lines of data
	offset   int   // of the part that the parser sees, in data
	parser   unstable.Parser
	root     *table
	current  *table // nil after a header that could not be used
	prefix   string // dotted path of current
	problems []docProblem
}

type docProblem struct {
	at        place
	key, text string
}

func parseDocument(data []byte) (*table, []docProblem) {
	d := &document{data: data, starts: lineStarts(data), root: &table{at: place{1, 1}, header: true}}
	d.current = d.root
	part := data
	if mark := encodingMark(data); mark != "" {
		d.report(place{1, 1}, "", "not TOML: %s; save it as UTF-8 without one", mark)
		part = nil
	}
	for part != nil {
		d.offset = len(data) - len(part)
		d.parser.Reset(part)
		for d.parser.NextExpression() {
			d.expression(d.parser.Expression())
		}
		part = d.recover(d.parser.Error(), part)
	}
	return d.root, d.problems
}

// encodingMark says that a text begins with a mark that editors write, "" for
// none.
func encodingMark(data []byte) string {
	for _, m := range []struct{ octets, name string }{{"\xef\xbb\xbf", "UTF-8"}, {"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"}} {
		if bytes.HasPrefix(data, []byte(m.octets)) {
			return "begins with a byte order mark (" + m.name + ")"
		}
	}
	return ""
}

// recover reports a syntax error and gives the text from the next header on,
// since what stands between belongs to what could not be read.
func (d *document) recover(err error, part []byte) []byte {
	if err == nil {
		return nil
	}
	at, text := 0, err.Error()
	var perr *unstable.ParserError
	if errors.As(err, &perr) {
		text = perr.Message
		if len(perr.Highlight) > 0 {
			at = int(d.parser.Range(perr.Highlight).Offset)
		} else {
			at = len(part)
		}
	}
	d.report(d.placeOf(d.offset+at), "", "not TOML: %s", plainer(text))
	next := bytes.Index(part[at:], []byte("\n["))
	if next < 0 {
		return nil
	}
	return part[at+next+1:]
}

// plainer puts what the parser says of the commonest mistakes in words for who
// does not know the grammar.
func plainer(text string) string {
	switch {
	case strings.HasSuffix(text, "at start of value") && (strings.Contains(text, "U+000A") || strings.Contains(text, "U+000D")):
		return "the value behind the = is missing"
	case strings.HasSuffix(text, "at start of value"):
		return text + "; text stands in quotes, only numbers, true and false do without"
	case strings.HasPrefix(text, "invalid escape character"):
		return text + "; a backslash is written twice between double quotes, or once between single ones"
	}
	return text
}

// arbiter lets the library's own decoder speak about what this reader may
// have been too lenient with.
func arbiter(data []byte) (docProblem, bool) {
	var any map[string]any
	var derr *toml.DecodeError
	err := toml.Unmarshal(data, &any)
	if errors.As(err, &derr) {
		line, column := derr.Position()
		return docProblem{place{line, column}, strings.Join(derr.Key(), "."), strings.TrimPrefix(derr.Error(), "toml: ")}, true
	}
	if err != nil {
		return docProblem{place{1, 1}, "", err.Error()}, true
	}
	return docProblem{}, false
}

func (d *document) report(at place, key, format string, args ...any) {
	d.problems = append(d.problems, docProblem{at, key, fmt.Sprintf(format, args...)})
}

func (d *document) placeOf(offset int) place {
	offset = min(offset, len(d.data))
	line := sort.SearchInts(d.starts, offset+1) // the first one that starts later, counted from 1: this one
	return place{line, utf8.RuneCount(d.data[d.starts[line-1]:offset]) + 1}
}

func lineStarts(data []byte) []int {
	starts := []int{0}
	for i, c := range data {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func (d *document) place(n *unstable.Node) place {
	return d.placeOf(d.offset + int(n.Raw.Offset))
}

func (d *document) expression(n *unstable.Node) {
	switch n.Kind {
	case unstable.KeyValue:
		if d.current != nil {
			d.keyValue(d.current, d.prefix, n)
		}
	case unstable.Table, unstable.ArrayTable:
		d.header(n)
	}
}

// header opens the table that [a.b] or [[a.b]] names.
func (d *document) header(n *unstable.Node) {
	t, prefix := d.root, ""
	d.current = nil
	it := n.Key()
	for it.Next() {
		k := it.Node()
		key, at := string(k.Data), d.place(k)
		prefix = join(prefix, key)
		last := it.IsLast()
		if t = d.open(t, prefix, key, at, last, n.Kind == unstable.ArrayTable); t == nil {
			return
		}
	}
	d.current, d.prefix = t, prefix
}

// open steps into a table of t, making it when it is not there.
func (d *document) open(t *table, path, key string, at place, last, array bool) *table {
	e := t.get(key)
	fresh := func() *table { return &table{at: at, header: last} }
	if e == nil {
		sub := fresh()
		value := &node{at: at, kind: unstable.Table, table: sub}
		if last && array {
			value = &node{at: at, kind: unstable.Array, items: []*node{value}, open: true}
		}
		t.entries = append(t.entries, &entry{key, at, value})
		return sub
	}
	v := e.value
	switch {
	case v.kind == unstable.Array && v.open && last && array:
		sub := fresh()
		v.items = append(v.items, &node{at: at, kind: unstable.Table, table: sub})
		return sub
	case v.kind == unstable.Array && v.open && !last:
		return v.items[len(v.items)-1].table
	case v.kind == unstable.Table && !v.table.inline && !(last && (array || v.table.header)):
		v.table.header = v.table.header || last
		return v.table
	case v.kind == unstable.Table && last && !array:
		d.report(at, path, "the table [%s] is there already, at line %d; put its keys together", path, e.at.line)
	default:
		d.report(at, path, "is there already, at line %d, and is something else", e.at.line)
	}
	return nil
}

// keyValue sets a possibly dotted key.
func (d *document) keyValue(t *table, prefix string, n *unstable.Node) {
	it := n.Key()
	for it.Next() {
		k := it.Node()
		key, at := string(k.Data), d.place(k)
		prefix = join(prefix, key)
		if !it.IsLast() {
			if t = d.open(t, prefix, key, at, false, false); t == nil {
				return
			}
			continue
		}
		if old := t.get(key); old != nil {
			d.report(at, prefix, "is set twice, first at line %d; keep one", old.at.line)
			return
		}
		t.entries = append(t.entries, &entry{key, at, d.value(prefix, n.Value(), d.afterEquals(k))})
	}
}

// afterEquals is where the value of a key starts; arrays do not say it.
func (d *document) afterEquals(key *unstable.Node) place {
	i := d.offset + int(key.Raw.Offset+key.Raw.Length)
	for i < len(d.data) && (d.data[i] == ' ' || d.data[i] == '\t' || d.data[i] == '=') {
		i++
	}
	return d.placeOf(i)
}

func (d *document) value(path string, n *unstable.Node, at place) *node {
	if n.Raw.Length > 0 {
		at = d.place(n)
	}
	v := &node{at: at, kind: n.Kind, text: string(n.Data)}
	switch n.Kind {
	case unstable.Array:
		it := n.Children()
		for it.Next() {
			v.items = append(v.items, d.value(path, it.Node(), at))
		}
	case unstable.InlineTable:
		v.kind, v.text = unstable.Table, ""
		v.table = &table{at: at, header: true, inline: true}
		it := n.Children()
		for it.Next() {
			d.keyValue(v.table, path, it.Node())
		}
	}
	return v
}

func join(prefix, key string) string {
	if prefix == "" {
		return key
	}
	return prefix + "." + key
}
