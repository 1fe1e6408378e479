package web

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/robotswatch/robotswatch/diff"
)

// badgeColour is dark enough for white text (4.5 to 1).
func badgeColour(l diff.Level) string {
	switch l {
	case diff.Allowed:
		return "#1f7a3d"
	case diff.Partial:
		return "#7a6200"
	case diff.Restricted:
		return "#a14c00"
	case diff.Blocked:
		return "#b3261e"
	}
	return "#5f6468"
}

// badge answers a small picture "GPTBot | blocked" for other people's pages.
func (s *Server) badge(w http.ResponseWriter, r *http.Request) {
	agent, ok := strings.CutSuffix(r.PathValue("file"), ".svg")
	status, level := http.StatusOK, diff.Unknown
	if !ok || agent == "" || len(agent) > 100 {
		http.Error(w, "A badge is asked for like /badge/example.com/GPTBot.svg.", http.StatusNotFound)
		return
	}
	site, err := s.findSite(r.Context(), r.PathValue("host"), r.URL.Query().Get("scheme"))
	if err == nil {
		var access diff.Access
		access, err = s.accessNow(r.Context(), site, agent)
		level = access.Level
	}
	if err != nil {
		e, ours := asAPIError(err)
		if ours {
			s.deps.Log.Error("badge failed", "err", err)
		}
		status = e.status
	}
	w.Header().Set("Content-Type", "image/svg+xml; charset=utf-8")
	w.Header().Set("Cache-Control", "max-age=300")
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin") // made to be shown elsewhere
	w.WriteHeader(status)
	_, _ = w.Write(badgeSVG(shown(agent), string(level), badgeColour(level))) // the client may be gone
}

// badgeSVG draws two boxes of text. Both texts are escaped; widths are a
// guess that textLength makes true.
func badgeSVG(left, right, colour string) []byte {
	l, rt := 12+7*utf8.RuneCountInString(left), 12+7*utf8.RuneCountInString(right)
	var a, b bytes.Buffer
	// Writing to memory does not fail.
	_ = xml.EscapeText(&a, []byte(left))
	_ = xml.EscapeText(&b, []byte(right))
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="20" role="img" aria-label="%[4]s: %[5]s"><title>%[4]s: %[5]s</title>`+
		`<rect width="%[1]d" height="20" rx="3" fill="#3d4449"/><path d="M%[2]d 0h%[7]dq3 0 3 3v14q0 3 -3 3h-%[7]dz" fill="%[6]s"/>`+
		`<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">`+
		`<text x="%[8]d" y="14" textLength="%[9]d">%[4]s</text><text x="%[10]d" y="14" textLength="%[11]d">%[5]s</text></g></svg>`,
		l+rt, l, rt, a.Bytes(), b.Bytes(), colour, rt-3, l/2, l-12, l+rt/2, rt-12)
}
