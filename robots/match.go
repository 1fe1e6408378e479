package robots

import "strings"

// Match reports whether a normalised pattern matches a normalised path: * is
// any run of octets, also none; $ at the very end anchors there; anything
// else stands for itself; without $ a pattern matches what it is a prefix of
// (2.2.3).
//
// Linear in len(pattern)+len(path) for any number of stars: the leftmost
// place for each piece between stars leaves the most room for the rest, so
// nothing is ever tried twice.
func Match(pattern, path string) bool {
	anchored := strings.HasSuffix(pattern, "$")
	if anchored {
		pattern = pattern[:len(pattern)-1]
	}
	piece, rest, starred := strings.Cut(pattern, "*")
	if !strings.HasPrefix(path, piece) {
		return false
	}
	path = path[len(piece):]
	if !starred {
		return !anchored || path == ""
	}
	for {
		piece, rest, starred = strings.Cut(rest, "*")
		if !starred {
			break
		}
		i := strings.Index(path, piece)
		if i < 0 {
			return false
		}
		path = path[i+len(piece):]
	}
	if anchored {
		return strings.HasSuffix(path, piece)
	}
	return strings.Contains(path, piece)
}

// Decide gives the verdict on a path with query ("/a?b=c"). The path need
// not be normalised. Longest pattern in octets wins, Allow on a tie (2.2.2);
// /robots.txt is always allowed, except in the Google reading. Of equal rules
// the first in the file is the one that decides.
func (r *Rules) Decide(path string) Decision {
	path = r.reading.NormalizePath(path)
	if path == "/robots.txt" && r.reading != ReadingGoogle {
		return Decision{Allowed: true}
	}
	best := r.decider(path)
	if best < 0 {
		return Decision{Allowed: true}
	}
	return Decision{Allowed: r.Rules[best].Allow, Rule: &r.Rules[best]}
}

// decider is the index of the rule that decides on a normalised path, -1
// when none matches.
func (r *Rules) decider(path string) int {
	if r.set != nil && len(r.Rules) > scanUpTo {
		return r.set.matcher().decider(path)
	}
	best, weight := -1, -1
	for i := range r.Rules {
		if w := r.Rules[i].weight(); w > weight && Match(r.Rules[i].Pattern, path) {
			best, weight = i, w
		}
	}
	return best
}

// weight orders rules that match the same path: length of the pattern in
// octets, then Allow before Disallow.
func (r *Rule) weight() int {
	w := len(r.Pattern) << 1
	if r.Allow {
		w++
	}
	return w
}
