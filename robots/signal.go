package robots

import (
	"slices"
	"strings"
)

// Names of signals: keys in lower case.
const (
	nameContentSignal      = "content-signal"
	nameContentUsage       = "content-usage"
	nameLicense            = "license"
	nameDisallowAITraining = "disallowaitraining"
)

// MaxSignals bounds the signals of one file. A line counts once for each
// token of its group.
const MaxSignals = 10_000

// readSignal reads a line that states a preference; ok is false when it
// states none. Scope is for the caller to set.
func readSignal(key, value string, line int) (s Signal, ok bool) {
	s = Signal{Name: strings.ToLower(key), Line: line}
	switch s.Name {
	case nameContentUsage:
		if strings.HasPrefix(value, "/") {
			path, rest := value, ""
			if i := strings.IndexAny(value, " \t"); i >= 0 {
				path, rest = value[:i], value[i:]
			}
			s.Path, value = NormalizePattern(path), rest
		}
		s.Value = foldPreferences(value)
	case nameContentSignal:
		s.Value = foldPreferences(value)
	case nameDisallowAITraining:
		s.Path = NormalizePattern(value)
		s.Value = s.Path
	default:
		s.Value = strings.Join(strings.Fields(value), " ")
	}
	return s, s.Value != ""
}

// foldPreferences brings "Search=yes ,ai-train = no" to "search=yes,
// ai-train=no": neither white space nor the case of keys means anything.
func foldPreferences(value string) string {
	var list []string
	seen := make(map[string]bool)
	for item := range strings.SplitSeq(value, ",") {
		name, v, has := strings.Cut(item, "=")
		name = strings.ToLower(strings.Join(strings.Fields(name), " "))
		if has {
			name += "=" + strings.Join(strings.Fields(v), " ")
		}
		if name != "" && !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// Key is equal for values that mean the same: preferences in whatever order.
func (s Signal) Key() string {
	if s.Name != nameContentSignal && s.Name != nameContentUsage {
		return s.Value
	}
	list := strings.Split(s.Value, ", ")
	slices.Sort(list)
	return strings.Join(list, ", ")
}
