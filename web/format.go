package web

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// The formats in which the API answers.
const (
	formatJSON = "application/json"
	formatCSV  = "text/csv"
)

// formatOf is what a request wants: what its query says, or CSV where its
// Accept header prefers that to JSON (RFC 9110, 12.5.1).
func formatOf(r *http.Request) string {
	switch r.URL.Query().Get("format") {
	case "csv":
		return formatCSV
	case "json":
		return formatJSON
	}
	quality := map[string]float64{}
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		media, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if said, ok := parameters["q"]; ok {
			if q, err = strconv.ParseFloat(said, 64); err != nil {
				continue
			}
		}
		quality[media] = max(quality[media], q)
	}
	if quality[formatCSV] > quality[formatJSON] {
		return formatCSV
	}
	return formatJSON
}

// inFormat is the request with nothing but its format as Accept header: it is
// all that is left to negotiate.
func inFormat(r *http.Request) *http.Request {
	format := formatOf(r)
	r = r.Clone(r.Context())
	r.Header.Set("Accept", format)
	return r
}
