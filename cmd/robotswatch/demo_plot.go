package main

import (
	"net/http"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/simweb"
	"github.com/robotswatch/robotswatch/watcher"
)

// demoWatched are the agents of the demo.
var demoWatched = []string{"GPTBot", "ClaudeBot", "CCBot", "PerplexityBot", "Google-Extended"}

// demoStory is what happens on one simulated site, and what of it is news.
type demoStory struct {
	host   string
	scenes []simweb.Scene
	alerts []demoAlert
	// silence is said when the site was looked at for a while after its last
	// scene began and nothing was announced; "" for sites with alerts only.
	silence string
}

type demoAlert struct {
	title string
	is    func(watcher.Change) bool
}

// lastScene notes the answers of the scene after which nothing more happens.
const lastScene = "last"

// demoPlot is scripted by the number of looks, so that it comes out the same
// on a slow machine.
func demoPlot() []demoStory {
	before, after := simweb.Text, func(text string) simweb.Scene { return simweb.Text(text).Noted(lastScene).For(0) }
	down := simweb.Status(http.StatusServiceUnavailable)
	access := func(c watcher.Change) bool { return c.Kind == watcher.KindAccess }
	state := func(to fetch.State) func(watcher.Change) bool {
		return func(c watcher.Change) bool { return c.Kind == watcher.KindState && c.State.After == to }
	}
	return []demoStory{
		{
			host: "news.example",
			scenes: []simweb.Scene{
				before("User-agent: *\nDisallow: /admin/\n").For(2),
				after("User-agent: *\nDisallow: /admin/\n\nUser-agent: GPTBot\nDisallow: /\n"),
			},
			alerts: []demoAlert{{"An agent is blocked by a new group of its own.", access}},
		},
		{
			host: "museum.example",
			scenes: []simweb.Scene{
				before("User-agent: *\nDisallow: /admin/\n\nUser-agent: ClaudeBot\nDisallow: /\n").For(4),
				after("User-agent: *\nDisallow: /admin/\n"),
			},
			alerts: []demoAlert{{"An agent is free again: its group is gone.", access}},
		},
		{
			host: "shop.example",
			scenes: []simweb.Scene{
				before("User-agent: GPTBot\nUser-agent: ClaudeBot\nDisallow: /checkout/\n\nUser-agent: *\nDisallow: /cart/\n").For(6),
				after("User-agent: GPTBot\nUser-agent: ClaudeBot\nDisallow: /checkout/\n\nUser-agent: *\nDisallow: /\n"),
			},
			alerts: []demoAlert{{"A change for * touches only the agents without a group of their own.", access}},
		},
		{
			host: "harbour.example",
			scenes: []simweb.Scene{
				before("User-agent: *\nDisallow: /tides/\n").For(8), down.For(5),
				after("User-agent: *\nDisallow: /tides/\n"),
			},
			alerts: []demoAlert{
				{"An outage, seen three times in a row.", state(fetch.Unreachable)},
				{"The outage is over; the file is the same as before.", state(fetch.Policy)},
			},
		},
		{
			host: "archive.example",
			scenes: []simweb.Scene{
				before("User-agent: *\nDisallow: /private/\n").For(9),
				simweb.Status(http.StatusNotFound).Noted(lastScene).For(0),
			},
			alerts: []demoAlert{{"A file disappeared, and with it every rule.", access}},
		},
		{
			host: "weather.example",
			scenes: []simweb.Scene{
				before("User-agent: *\nDisallow: /maps/\n").For(5), down.For(1),
				after("User-agent: *\nDisallow: /maps/\n"),
			},
			silence: "A short outage passed, and nobody was disturbed.",
		},
		{
			host: "library.example",
			scenes: []simweb.Scene{
				before("# Opening hours: 9 to 5\nUser-agent: *\nDisallow: /loans/\n").For(3),
				after("# Opening hours: 10 to 6\nUser-agent: *\nDisallow: /loans/ # members only\n"),
			},
			silence: "A comment was edited, which means nothing to a crawler.",
		},
		{
			host: "radio.example",
			scenes: []simweb.Scene{
				before("User-agent: *\nDisallow: /archive/\nAllow: /archive/today\n\nUser-agent: CCBot\nDisallow: /\n").For(4),
				after("User-agent: ccbot\nDisallow: /\n\nUser-agent: *\nAllow: /archive/today\nDisallow: /archive/\n"),
			},
			silence: "Groups and rules were reordered, which means the same.",
		},
	}
}
