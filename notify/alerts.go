package notify

import (
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/watcher"
)

// Alert is something that is the case until it ends, for receivers that show
// what is the case rather than what happened.
type Alert struct {
	Key         string // names it within a receiver: kind, site, agent
	Site        string
	Since       time.Time
	Until       time.Time // zero while it goes on
	Labels      map[string]string
	Annotations map[string]string
	URL         string
}

// Names of alerts, as label alertname has them.
const (
	alertOutage  = "RobotsTxtUnavailable"
	alertBlocked = "RobotsAgentBlocked"
)

// alertsOf says which alerts a change begins, and the keys of those it ends.
func alertsOf(c watcher.Change, asked []diff.AgentChange, m Message) (begin []Alert, end []string) {
	alert := func(name, severity, agent string) Alert {
		a := Alert{
			Key: alertKey(name, c.Site, agent), Site: c.Site, Since: c.At,
			Labels: map[string]string{
				"alertname": name, "site": c.Site, "severity": severity,
			},
			Annotations: map[string]string{"summary": m.Text.Title, "description": m.Text.Plain()},
			URL:         m.Changes[0].Link,
		}
		if len(c.Tags) > 0 {
			a.Labels["tags"] = strings.Join(visibleAll(c.Tags, maxAgentShown), ",")
		}
		if agent != "" {
			a.Labels["agent"] = visible.Short(agent, maxAgentShown)
		}
		return a
	}
	switch c.Kind {
	case watcher.KindState:
		if c.State.After.Readable() {
			return nil, []string{alertKey(alertOutage, c.Site, "")}
		}
		a := alert(alertOutage, outageSeverity(c.State.After), "")
		a.Labels["state"] = string(c.State.After)
		// An outage of another kind has other labels: the old one ends.
		return []Alert{a}, []string{a.Key}
	case watcher.KindAccess:
		for _, x := range asked {
			key := alertKey(alertBlocked, c.Site, x.Agent)
			if x.After.Level == diff.Blocked {
				begin = append(begin, alert(alertBlocked, string(watcher.Critical), x.Agent))
			}
			end = append(end, key)
		}
	}
	return begin, end
}

func outageSeverity(s fetch.State) string {
	if s == fetch.Unreachable {
		return string(watcher.Critical)
	}
	return string(watcher.Warning)
}

func alertKey(name, site, agent string) string {
	return name + "\n" + site + "\n" + strings.ToLower(agent)
}
