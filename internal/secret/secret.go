// Package secret is the one type for what must not be seen.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// Mask stands for what is hidden.
const Mask = "********"

// Value is a text that must not be seen. However it is printed, logged or
// encoded, on its own or inside other values, only its mask comes out. The
// zero Value is a secret that was not set.
type Value struct {
	// Behind a pointer, since fmt prints unexported fields without asking
	// their methods; it does not follow one to a string.
	text *string
	mask string
}

// New hides a text behind Mask.
func New(text string) Value { return Masked(text, Mask) }

// Masked hides a text behind a mask that may say more, such as where a URL
// leads.
func Masked(text, mask string) Value { return Value{&text, mask} }

// Reveal gives the text, "" when none was set.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// IsSet reports whether there is a text.
func (v Value) IsSet() bool { return v.Reveal() != "" }

// String is the mask, "" when nothing is set.
func (v Value) String() string {
	if !v.IsSet() {
		return ""
	}
	return v.mask
}

// Format prints the mask, whatever the verb.
func (v Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, v.String()) }

// MarshalText gives the mask to encoders.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// LogValue gives the mask to slog.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }
