package web_test

import (
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/internal/sizes"
)

func TestEveryPageOfAMadeUpYearAnswers(t *testing.T) {
	w := madeUp(t, sizes.Pick(300, 60))
	site := strings.TrimPrefix(w.sites[9], "https://")
	for _, path := range []string{"/", "/sites", "/sites?agent=GPTBot&access=blocked", "/sites?state=unreachable", "/sites/" + site, "/agents", "/agents?group=@all&order=name",
		"/agents/GPTBot", "/agents/Unknown-Thing", "/changes", "/changes?agent=GPTBot&kind=access", "/ask", "/ask?site=" + site + "&agent=GPTBot", "/deliveries",
		"/feed.atom", "/badge/" + site + "/GPTBot.svg", "/api/v1/sites", "/api/v1/openapi.json"} {
		got := get(t, w.server, "GET", "http://localhost"+path)
		if got.Code != 200 {
			t.Errorf("%s: status %d: %s", path, got.Code, got.Body)
		}
		if !strings.HasPrefix(path, "/api/") && got.Body.Len() > 200_000 {
			t.Errorf("%s: %d octets", path, got.Body.Len())
		}
	}
}
