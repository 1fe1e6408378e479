package config

import (
	"slices"
	"strings"
)

// readReceiver reads one [[receivers]].
func readReceiver(l *loader, n *node, fields []field[Receiver]) Receiver {
	var r Receiver
	g := decode(l, n.table, "receivers", fields, &r)
	for _, f := range fields {
		if f.required && !g.has(f.name) {
			l.report(g.at, "receivers", "%s is missing; write such as %s", f.name, map[string]string{"name": `name = "policy"`, "type": `type = "slack"`}[f.name])
		}
		if r.Type != "" && g.has(f.name) && !f.isOf(r.Type) {
			l.report(g.keys[f.name].at, "receivers."+f.name, "only for type %s; this receiver is of type %s", strings.Join(f.only, ", "), r.Type)
		}
	}
	if g.has("name") && r.Name == "" && !l.badAt(g.value("name")) {
		l.report(g.value("name"), "receivers.name", "is empty; it names the receiver in logs, metrics and commands")
	}
	checkReceiverType(l, &r, g)
	if r.Mode == ModeImmediate && r.Digest != "" {
		l.report(g.keys["digest"].at, "receivers.digest", "only for mode = \"digest\"")
	}
	if r.Mode == ModeImmediate && r.DigestEmpty {
		l.report(g.keys["digest_empty"].at, "receivers.digest_empty", "only for mode = \"digest\"")
	}
	warnOfSilence(l, &r, g)
	tagsUsed(l, g)
	return r
}

// warnOfSilence finds kinds that somebody asked for and that min_severity
// keeps back always.
func warnOfSilence(l *loader, r *Receiver, g given) {
	if !g.has("kinds") {
		return
	}
	severities := []string{"info", "warning", "critical"} // in order
	for _, kind := range r.Kinds {
		most := "info"
		switch kind {
		case "access", "state":
			most = "critical"
		case "signal":
			most = "warning"
		}
		if slices.Index(severities, most) < slices.Index(severities, r.MinSeverity) {
			l.warn(g.value("kinds"), "receivers.kinds", "%s is never sent: its severity is %s at most, and min_severity is %q", kind, most, r.MinSeverity)
		}
	}
}

// checkReceiverType reports what a receiver of this type cannot do without.
func checkReceiverType(l *loader, r *Receiver, g given) {
	lacks := func(names ...string) bool {
		for _, name := range names {
			for _, suffix := range []string{"", "_file", "_credential"} {
				if e := g.keys[name+suffix]; e != nil && (e.value.text != "" || len(e.value.items) > 0) {
					return false
				}
			}
		}
		return true
	}
	report := func(key, text string) {
		if !l.badAt(g.value(key)) { // what is wrong with it was said
			l.report(g.value(key), "receivers."+key, "%s", text)
		}
	}
	switch r.Type {
	case TypeSlack:
		switch {
		case lacks("webhook_url", "token"):
			report("webhook_url", "a slack receiver needs webhook_url, or token and channel")
		case !lacks("webhook_url") && !lacks("token"):
			report("token", "webhook_url and token contradict each other; give only one of them")
		case !lacks("token") && r.Channel == "":
			report("channel", "token needs a channel to post to")
		case lacks("token") && r.Channel != "":
			report("channel", "channel goes with token; a webhook has its own")
		case lacks("token") && r.APIURL != "":
			report("api_url", "api_url goes with token")
		}
	case TypeWebhook, TypeAlertmanager:
		if lacks("url") {
			report("url", "a receiver of type "+r.Type+" needs url")
		}
		if r.Type == TypeWebhook && lacks("secret") && !lacks("previous_secret") {
			report("previous_secret", "previous_secret goes with secret")
		}
		if r.Type == TypeAlertmanager && r.Mode == ModeDigest {
			report("mode", "an alertmanager shows what is the case; only mode = \"immediate\" is for it")
		}
	case TypeShoutrrr:
		if lacks("urls") {
			report("urls", "a shoutrrr receiver needs urls")
		}
	case TypeExec:
		if len(r.Command) == 0 || r.Command[0] == "" {
			report("command", "an exec receiver needs a command, such as [\"/usr/local/bin/on-change\"]")
		}
	}
}
