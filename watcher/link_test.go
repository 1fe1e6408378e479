package watcher

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
)

func TestOurOwnNetworkIsSuspected(t *testing.T) {
	silent := fetch.Outcome{State: fetch.Unreachable, Reason: fetch.Timeout}
	answers := policyAnswer("")
	refused := fetch.Outcome{State: fetch.Unreachable, Reason: fetch.ConnRefused}
	site := func(host string, state fetch.State) Site { return Site{Origin: "https://" + host, State: state} }
	unrelated := func(i int) Site { return site(fmt.Sprintf("a%d.example", i), fetch.Policy) }
	from := func(out fetch.Outcome, address string) fetch.Outcome {
		out.Address = netip.MustParseAddrPort(address + ":443")
		return out
	}
	type sighting struct {
		site  Site
		out   fetch.Outcome
		after time.Duration
	}
	many := func(n int, make func(i int) sighting) (list []sighting) {
		for i := range n {
			list = append(list, make(i))
		}
		return list
	}
	join := func(lists ...[]sighting) (all []sighting) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	fall := func(n int) []sighting {
		return many(n, func(i int) sighting { return sighting{site: unrelated(i), out: silent, after: time.Second} })
	}
	cases := []struct {
		name  string
		seen  []sighting
		wants bool
	}{
		{"five unrelated hosts fall silent", fall(5), true},
		{"four are too few", fall(4), false},
		{"one host five times", many(9, func(int) sighting { return sighting{site: unrelated(1), out: silent} }), false},
		{"hosts of one domain", many(9, func(i int) sighting {
			return sighting{site: site(fmt.Sprintf("www%d.example.co.uk", i), fetch.Policy), out: silent}
		}), false},
		{"hosts of one network", many(9, func(i int) sighting {
			return sighting{site: unrelated(i), out: from(silent, fmt.Sprintf("192.0.2.%d", i+1))}
		}), false},
		{"addresses on one machine", many(9, func(i int) sighting {
			return sighting{site: site(fmt.Sprintf("127.0.0.1:%d", 8000+i), fetch.Policy), out: silent}
		}), false},
		{"they refuse, so they are there", many(9, func(i int) sighting { return sighting{site: unrelated(i), out: refused} }), false},
		{"they were silent before", many(9, func(i int) sighting {
			return sighting{site: site(fmt.Sprintf("a%d.example", i), fetch.Unreachable), out: silent}
		}), false},
		{"new sites count", many(9, func(i int) sighting {
			return sighting{site: site(fmt.Sprintf("a%d.example", i), fetch.Pending), out: silent}
		}), true},
		{"others still answer", join(fall(6), many(3, func(i int) sighting {
			return sighting{site: unrelated(100 + i), out: answers}
		}), fall(6)), true},
		{"a third still answers", join(many(4, func(i int) sighting {
			return sighting{site: unrelated(100 + i), out: answers}
		}), fall(8)), false},
		{"they answered long ago", join(many(40, func(i int) sighting {
			return sighting{site: unrelated(100 + i), out: answers}
		}), many(5, func(i int) sighting { return sighting{site: unrelated(i), out: silent, after: 11 * time.Minute / 5} })), true},
		{"one after another over hours", many(30, func(i int) sighting {
			return sighting{site: unrelated(i), out: silent, after: 3 * time.Minute}
		}), false},
		{"most of the latest forty", join(many(40, func(i int) sighting {
			return sighting{site: unrelated(100 + i), out: answers}
		}), fall(32)), true},
		{"back", join(fall(5), many(3, func(i int) sighting { return sighting{site: unrelated(100 + i), out: answers} })), false},
		{"not back with two", join(fall(5), fall(5), many(2, func(i int) sighting { return sighting{site: unrelated(100 + i), out: answers} })), true},
	}
	for _, c := range cases {
		var l link
		now := day0
		for _, s := range c.seen {
			now = now.Add(s.after)
			l.weigh(now, s.site, s.out)
		}
		if l.isDown() != c.wants {
			t.Errorf("%s: down is %t", c.name, l.isDown())
		}
	}
}
