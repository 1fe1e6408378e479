package web

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"

	"github.com/robotswatch/robotswatch/internal/visible"
)

// csvRow is an entry of a list that can be a line of a table.
type csvRow interface {
	csvHeader() []string
	csvCells() []string
}

// table is an answer that can be a whole table.
type table interface {
	csvLines() [][]string
}

func (l list[T]) csvLines() [][]string {
	var zero T
	lines := [][]string{zero.csvHeader()}
	for _, e := range l.Data {
		lines = append(lines, e.csvCells())
	}
	return lines
}

// marshalCSV writes lists as tables and everything else, errors above all, as
// the JSON it would be otherwise.
func marshalCSV(w io.Writer, v any) error {
	t, ok := v.(table)
	if !ok {
		return json.NewEncoder(w).Encode(v)
	}
	cw := csv.NewWriter(w)
	for _, line := range t.csvLines() {
		for i, cell := range line {
			line[i] = visible.Cell(cell)
		}
		if err := cw.Write(line); err != nil {
			return fmt.Errorf("csv: %w", err)
		}
	}
	cw.Flush()
	return cw.Error()
}
