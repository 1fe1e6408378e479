package dataset

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// Format of a file.
type Format string

const (
	CSV     Format = "csv"
	JSONL   Format = "jsonl"
	Parquet Format = "parquet"
)

// ParseFormat reads the name of a format.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case CSV, JSONL, Parquet:
		return f, nil
	}
	return "", fmt.Errorf("format %q: allowed are csv, jsonl and parquet", s)
}

// Writer writes rows of one table. Close ends the file; what it is written to
// stays open.
type Writer[R any] interface {
	Write(R) error
	Close() error
}

// About is what a file says of itself, where the format has a place for it.
type About struct {
	Schema string
	Origin
}

// NewWriter begins a file.
func NewWriter[R any](w io.Writer, f Format, about About) Writer[R] {
	switch f {
	case JSONL:
		return newJSONL[R](w)
	case Parquet:
		return newParquet[R](w, about)
	}
	return newCSV[R](w)
}

// NewChangeWriter begins a file of changes.
func NewChangeWriter(w io.Writer, f Format, about About) Writer[Change] {
	if f == JSONL {
		return newJSONL[Change](w)
	}
	return flattening{NewWriter[flatChange](w, f, about)}
}

// flattening writes changes in the form that CSV and Parquet have.
type flattening struct{ to Writer[flatChange] }

func (f flattening) Write(c Change) error { return f.to.Write(c.flatten()) }
func (f flattening) Close() error         { return f.to.Close() }

type jsonl[R any] struct {
	w   *bufio.Writer
	enc *json.Encoder
}

func newJSONL[R any](w io.Writer) *jsonl[R] {
	j := &jsonl[R]{w: bufio.NewWriter(w)}
	j.enc = json.NewEncoder(j.w)
	j.enc.SetEscapeHTML(false)
	return j
}

func (j *jsonl[R]) Write(row R) error { return j.enc.Encode(row) }
func (j *jsonl[R]) Close() error      { return j.w.Flush() }

// rowGroup is how many rows a group of a Parquet file has, which are held in
// memory.
const rowGroup = 20_000

// batch is how many rows go to the Parquet writer at once.
const batch = 128

type parquetFile[R any] struct {
	w    *parquet.GenericWriter[R]
	rows []R
}

func newParquet[R any](w io.Writer, about About) *parquetFile[R] {
	return &parquetFile[R]{w: parquet.NewGenericWriter[R](w,
		parquet.Compression(&zstd.Codec{}),
		parquet.MaxRowsPerRowGroup(rowGroup),
		parquet.CreatedBy("robotswatch", about.Engine, ""),
		parquet.KeyValueMetadata("schema", about.Schema),
		parquet.KeyValueMetadata("catalogue", about.Catalogue),
		parquet.KeyValueMetadata("engine", about.Engine),
	)}
}

func (p *parquetFile[R]) Write(row R) error {
	if p.rows = append(p.rows, row); len(p.rows) < batch {
		return nil
	}
	return p.flush()
}

func (p *parquetFile[R]) flush() error {
	_, err := p.w.Write(p.rows)
	clear(p.rows)
	p.rows = p.rows[:0]
	return err
}

func (p *parquetFile[R]) Close() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.w.Close()
}

// csvFile has the columns that the JSON of a row has, lists as JSON.
type csvFile[R any] struct {
	w      *csv.Writer
	fields [][]int // of R
	cells  []string
}

func newCSV[R any](w io.Writer) *csvFile[R] {
	c := &csvFile[R]{w: csv.NewWriter(w)}
	var header []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[R]()) {
		if !f.Anonymous {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			c.fields, header = append(c.fields, f.Index), append(header, name)
		}
	}
	c.cells = make([]string, len(header))
	_ = c.w.Write(header) // Close reports it
	return c
}

func (c *csvFile[R]) Write(row R) error {
	v := reflect.ValueOf(row)
	for i, index := range c.fields {
		text, err := cell(v.FieldByIndex(index))
		if err != nil {
			return err
		}
		c.cells[i] = text
	}
	return c.w.Write(c.cells)
}

func (c *csvFile[R]) Close() error {
	c.w.Flush()
	return c.w.Error()
}

// moment is how CSV has times: as JSON, in UTC, to the millisecond.
const moment = "2006-01-02T15:04:05.999Z07:00"

func cell(v reflect.Value) (string, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "", nil
		}
		v = v.Elem()
	}
	if t, ok := v.Interface().(time.Time); ok {
		return t.UTC().Format(moment), nil
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), nil
	case reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), nil
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), nil
	}
	text, err := json.Marshal(v.Interface())
	return string(text), err
}
