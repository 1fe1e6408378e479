package store

import (
	"slices"
	"testing"
)

func TestPositional(t *testing.T) {
	for _, c := range []struct {
		query, text string
		order       []int
	}{
		{"SELECT 1", "SELECT 1", nil},
		{"UPDATE t SET a = $1 WHERE b = $2", "UPDATE t SET a = ? WHERE b = ?", nil},
		{"UPDATE t SET a = $2 WHERE b = $1", "UPDATE t SET a = ? WHERE b = ?", []int{1, 0}},
		{"SELECT $1, $1 + $12, '$1', 'it''s $2', a$", "SELECT ?, ? + ?, '$1', 'it''s $2', a$", []int{0, 0, 11}},
		{"SELECT $1", "SELECT ?", nil},
		{"SELECT $1, $1", "SELECT ?, ?", []int{0, 0}},
		{"SELECT $2", "SELECT ?", []int{1}},
	} {
		if text, order := positional(c.query); text != c.text || !slices.Equal(order, c.order) {
			t.Errorf("%s: %s %v, want %s %v", c.query, text, order, c.text, c.order)
		}
	}
}
