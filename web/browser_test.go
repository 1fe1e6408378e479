//go:build !race

// Beside the race detector a browser gives up waiting.

package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/robotswatch/robotswatch/internal/needs"
	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/watcher"
)

// look of a page in the browser.
type appearance struct {
	theme string
	width int64
}

// TestPagesInABrowser walks through every page in both themes, on a desk and
// on a phone: nothing on the console, no failed request, nothing from outside,
// no serious finding of axe, no sideways scrolling. It needs Chromium, and
// axe-core as browser/vendor.sh installs it. ROBOTSWATCH_SCREENSHOTS names a folder for pictures, ROBOTSWATCH_SITES
// the number of sites.
func TestPagesInABrowser(t *testing.T) {
	axe, err := os.ReadFile("browser/node_modules/axe-core/axe.min.js")
	if err != nil {
		needs.Lacking(t, "web/browser/vendor.sh installs axe-core: %v", err)
	}
	w := madeUp(t, sizes.Of(t, "ROBOTSWATCH_SITES", 300, 100))
	hostile := addHostile(t, w)
	srv := httptest.NewServer(w.server)
	defer srv.Close()
	browser := startBrowser(t)
	pages := allPages(t, w)
	pages["site-hostile"] = "/sites/" + strings.TrimPrefix(hostile, "https://")
	for name, path := range pages {
		for _, a := range []appearance{{"light", 1280}, {"dark", 1280}, {"light", 390}, {"dark", 390}} {
			t.Run(fmt.Sprintf("%s/%s-%d", name, a.theme, a.width), func(t *testing.T) {
				visit(t, browser, srv.URL, path, name, a, string(axe))
			})
		}
	}
}

// allPages names every page of the world.
func allPages(t *testing.T, w *world) map[string]string {
	t.Helper()
	changes, err := w.store.Changes(t.Context(), watcher.ChangeFilter{Kinds: []watcher.Kind{watcher.KindAccess}, Limit: 1})
	if err != nil || len(changes) == 0 {
		t.Fatalf("no change: %v", err)
	}
	c := changes[0]
	site := strings.TrimPrefix(c.Site, "https://")
	return map[string]string{
		"overview": "/", "sites": "/sites", "sites-blocked": "/sites?agent=GPTBot&access=blocked", "site": "/sites/" + site,
		"compare": "/sites/" + site + "/compare?before=" + c.BeforeSHA256 + "&after=" + c.AfterSHA256,
		"agents":  "/agents", "agent": "/agents/GPTBot", "signals": "/signals", "changes": "/changes", "changes-signal": "/changes?kind=signal", "sites-none": "/sites?search=nothing-like-it",
		"change": "/changes/" + c.ID,
		"ask":    "/ask", "answer": "/ask?agent=GPTBot&path=/news&site=" + site, "deliveries": "/deliveries", "missing": "/sites/not-here.example",
	}
}

func startBrowser(t *testing.T) context.Context {
	t.Helper()
	path := needs.Program(t, "chromium")
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(func() { cancel(); cancelAlloc() })
	must(t, chromedp.Do(ctx))
	return ctx
}

// finding is a violation that axe reports.
type finding struct {
	ID     string `json:"id"`
	Impact string `json:"impact"`
	Help   string `json:"help"`
	Nodes  []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

func visit(t *testing.T, browser context.Context, base, path, name string, a appearance, axe string) {
	tab, cancel := chromedp.NewContext(browser)
	defer cancel()
	must(t, chromedp.Do(tab))
	tab, cancelTime := context.WithTimeout(tab, time.Minute)
	defer cancelTime()
	trouble := &watchTab{base: base, allow404: name == "missing"}
	must(t, chromedp.Listen(tab, trouble.see))
	command(t, tab, network.Enable, network.EnableParams{})
	command(t, tab, log.Enable, cdp.Empty{})
	command(t, tab, runtime.Enable, cdp.Empty{})
	command(t, tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: a.width, Height: 900, DeviceScaleFactor: 1, Mobile: a.width < 500})
	command(t, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: a.theme}}})
	must(t, chromedp.Do(tab, chromedp.Navigate(base+path)))
	overflow := evaluate[int](t, tab, `document.documentElement.scrollWidth - document.documentElement.clientWidth`)
	shot, err := chromedp.Run(tab, chromedp.FullScreenshot(100))
	must(t, err)
	evaluate[chromedp.Void](t, tab, axe)
	raw := evaluate[string](t, tab, `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r => JSON.stringify(r.violations))`)
	var findings []finding
	if dir := os.Getenv("ROBOTSWATCH_SCREENSHOTS"); dir != "" {
		must(t, os.MkdirAll(dir, 0o755))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s-%d.png", name, a.theme, a.width)), shot, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Unmarshal([]byte(raw), &findings); err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		for _, n := range f.Nodes[:min(3, len(f.Nodes))] {
			t.Errorf("axe %s (%s): %s\n%s\n%s", f.ID, f.Impact, f.Help, n.HTML, n.Summary)
		}
	}
	if overflow > 0 {
		t.Errorf("the page is %d pixels wider than the window", overflow)
	}
	for _, p := range trouble.problems() {
		t.Error(p)
	}
	if weight := trouble.weight(); weight > pageBudget {
		t.Errorf("the page weighs %d octets with all it loads", weight)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func command[P, R any](t *testing.T, tab context.Context, c cdp.Command[P, R], params P) {
	t.Helper()
	_, err := chromedp.Call(tab, c, params)
	must(t, err)
}

func evaluate[T any](t *testing.T, tab context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(tab, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	must(t, err)
	return v
}

// watchTab collects what a tab should not do.
type watchTab struct {
	base     string
	allow404 bool
	mu       sync.Mutex
	bad      []string
	octets   float64
}

func (w *watchTab) see(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	note := func(format string, args ...any) { w.bad = append(w.bad, fmt.Sprintf(format, args...)) }
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		note("exception: %s", e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		note("console: %s %v", e.Type, e.Args)
	case *log.EventEntryAdded:
		if w.allow404 && strings.Contains(e.Entry.Text, "404") {
			return
		}
		note("log: %s %s", e.Entry.Level, e.Entry.Text)
	case *network.EventLoadingFailed:
		note("request failed: %s", e.ErrorText)
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 && !w.allow404 {
			note("%s: status %d", e.Response.URL, e.Response.Status)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, w.base) && !strings.HasPrefix(e.Request.URL, "data:") {
			note("request to the outside: %s", e.Request.URL)
		}
	case *network.EventLoadingFinished:
		w.octets += e.EncodedDataLength
	}
}

func (w *watchTab) problems() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.bad...)
}

func (w *watchTab) weight() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int(w.octets)
}
