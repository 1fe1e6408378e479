package watcher

import (
	"crypto/sha256"
	"net/url"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
)

const (
	// fullGetEvery is how often validators are left out of a request: some
	// servers' ETags are stuck.
	fullGetEvery = 7 * 24 * time.Hour
	// doubtFactor ends a confirmation that never sees enough equal answers:
	// after this many times Confirm.Failures answers in a row that contradict
	// the state, the last of them counts.
	doubtFactor = 3
	// confirmSlack is how much of Confirm.Interval, in percent, has to lie
	// between two answers that both count.
	confirmSlack = 90
)

// Confirm says when an answer is believed that contradicts what was known and
// may be a passing fault.
type Confirm struct {
	Failures int           // equal answers in a row, at least 1
	Interval time.Duration // gap between those looks
}

// Answer is what one look found, as far as it makes a difference to the
// history of a site. The zero value is "none yet".
type Answer struct {
	State    fetch.State  `json:"state,omitempty"`
	Reason   fetch.Reason `json:"reason,omitempty"`
	Status   int          `json:"status,omitempty"`
	FinalURL string       `json:"final_url,omitempty"`
	Body     Hash         `json:"body,omitzero"`
}

// Doubt counts answers in a row that contradict the state of a site.
type Doubt struct {
	State fetch.State `json:"state"` // of the last such answer
	Since time.Time   `json:"since"` // when the first answer of that state was seen
	Count int         `json:"count"` // answers of that state in a row
	Total int         `json:"total"` // answers in a row that contradict the state, of any kind

	Counted time.Time `json:"counted,omitzero"` // when the last answer that counts was seen
}

// Version is what a readable answer says: a policy by its hash, or that there
// is none. The zero value is "never read".
type Version struct {
	State fetch.State `json:"state,omitempty"` // Policy or Absent
	Body  Hash        `json:"body,omitzero"`
}

// known reports whether there is an answer at all.
func (v Version) known() bool { return v.State != "" }

// version is the last confirmed readable answer of the site.
func (s *Site) version() Version { return Version{State: s.Readable, Body: s.Body} }

// Transition is something that happened to a site, before anyone asked what
// it means for an agent: either its state changed, or a readable answer took
// the place of another one.
type Transition struct {
	StateBefore, StateAfter fetch.State
	Before, After           Version // the zero value in a transition of state
	Reason                  fetch.Reason
	Detail                  string
	Vendor                  string // of the edge that answered, when it can be told
	Host                    string // the new version comes from this host and the old one did not
	Unstable                string // the site is flapping: UnstableBegan, UnstableSettled
	AsTold                  bool   // it settled on the version that was told last
}

// ofState reports whether the transition is one of state.
func (t Transition) ofState() bool { return !t.After.known() }

// Decision is what one look means for the record of a site.
type Decision struct {
	Site        Site         // as it will be; its next check is not planned yet
	Observation *Observation // nil: the last one goes on
	Body        []byte       // of a policy that differs from the last good one
	Transitions []Transition
	Again       bool // look again soon: an answer waits for confirmation
}

// Decide is the state machine of a site. It is pure: the same site, outcome
// and settings give the same decision, and nothing but the answer and the
// clock of the look enters it.
//
// A policy is believed at once, whatever was known before; everything else
// only when Confirm.Failures answers in a row agree. Until then the site
// keeps its state, and the answer is visible in the observations alone. A
// first answer of any kind becomes the state at once, since nothing better is
// known, but without event; while it is unconfirmed (Memory.Tentative) a
// better answer replaces it without event too.
func Decide(site Site, out fetch.Outcome, confirm Confirm) Decision {
	d := Decision{Site: site}
	body := d.readBody(&out)
	d.observe(out, body)

	s := &d.Site
	s.LastCheckAt = out.At.Add(out.Took)
	s.Reason = out.Reason
	s.Memory.RetryAfter = time.Time{}
	if out.RetryAfter > 0 {
		s.Memory.RetryAfter = s.LastCheckAt.Add(out.RetryAfter)
	}
	if out.Address.IsValid() {
		s.Memory.Address = out.Address.Addr().String()
	}

	switch {
	case out.State == fetch.Policy:
		d.policySeen(out, body)
	case !known(site.State) || site.Memory.Tentative:
		d.unconfirmed(out, confirm)
	case out.State == site.State:
		d.sameAgain(out)
	default:
		d.contradicted(out, confirm)
	}
	return d
}

// readBody gives the hash of the policy that was seen, zero for other states.
func (d *Decision) readBody(out *fetch.Outcome) Hash {
	switch {
	case out.State != fetch.Policy:
		return Hash{}
	case out.NotModified:
		return d.Site.Body
	}
	hash := Hash(sha256.Sum256(out.Body))
	if hash != d.Site.Body {
		d.Body = out.Body
		if d.Body == nil {
			d.Body = []byte{} // an empty policy is a policy
		}
	}
	return hash
}

// observe opens a new run of answers unless the last one goes on.
func (d *Decision) observe(out fetch.Outcome, body Hash) {
	a := Answer{State: out.State, Reason: out.Reason, Status: out.Status, FinalURL: out.FinalURL, Body: body}
	if out.NotModified { // the server stands by what it said
		a.Reason, a.Status = d.Site.Memory.Good.Reason, d.Site.Memory.Good.Status
	}
	if a == d.Site.Memory.Last {
		return
	}
	d.Site.Memory.Last = a
	o := &Observation{
		At: out.At, LastAt: out.At,
		State: a.State, Reason: a.Reason, Detail: out.Detail, Status: a.Status, FinalURL: a.FinalURL,
		Body: body, Bytes: out.Bytes, Truncated: out.Truncated,
		Evidence: Evidence{Vendor: out.Vendor, TLSSubject: out.TLSSubject, Headers: out.Headers},
	}
	if out.Address.IsValid() {
		o.Evidence.Address = out.Address.String()
	}
	d.Observation = o
}

// policySeen believes a policy at once.
func (d *Decision) policySeen(out fetch.Outcome, body Hash) {
	s := &d.Site
	was, tentative := s.State, s.Memory.Tentative
	before, after := s.version(), Version{State: fetch.Policy, Body: body}
	host := movedTo(s.Memory.Good.FinalURL, out.FinalURL)

	s.Memory.Doubt, s.Memory.Tentative = nil, false
	s.enter(fetch.Policy, out.At)
	s.Readable, s.Body, s.ReadableAt = after.State, after.Body, s.LastCheckAt
	s.Memory.keepValidators(out)
	s.Memory.Good = s.Memory.Last

	if known(was) && !was.Readable() && !tentative {
		d.outageEnded(was, out)
	} else {
		d.stateHeld(out)
	}
	d.versionSeen(before, after, out, host)
}

// movedTo gives the host that serves the policy now when the last one came
// from another.
func movedTo(from, to string) string {
	was, now := hostOf(from), hostOf(to)
	if was == "" || was == now {
		return ""
	}
	return now
}

func hostOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Host
}

// absentSeen takes a confirmed absence as the version that holds.
func (d *Decision) absentSeen(before Version, out fetch.Outcome) {
	s := &d.Site
	s.Readable, s.Body, s.ReadableAt = fetch.Absent, Hash{}, s.LastCheckAt
	s.Memory.forgetPolicy()
	d.versionSeen(before, s.version(), out, "")
}

func (d *Decision) versionSeen(before, after Version, out fetch.Outcome, host string) {
	switch {
	case !before.known():
		d.Site.Memory.Flap.first(out.At)
	case before == after:
		d.versionHeld(after, out)
	default:
		d.versionChanged(before, after, out, host)
	}
}

// unconfirmed takes a first answer as it is, since nothing better is known;
// it is the baseline once it is confirmed.
func (d *Decision) unconfirmed(out fetch.Outcome, confirm Confirm) {
	s := &d.Site
	s.enter(out.State, out.At)
	s.Memory.Tentative = true
	if !s.Memory.count(out, confirm) {
		d.Again = true
		return
	}
	s.Memory.Tentative, s.Memory.Doubt = false, nil
	if out.State == fetch.Absent {
		d.absentSeen(s.version(), out)
	}
}

// sameAgain: the state holds, whatever contradicted it in between.
func (d *Decision) sameAgain(out fetch.Outcome) {
	d.Site.Memory.Doubt = nil
	d.stateHeld(out)
	if out.State == fetch.Absent {
		d.absentSeen(d.Site.version(), out)
	}
}

// contradicted counts, and changes the state once that is confirmed.
func (d *Decision) contradicted(out fetch.Outcome, confirm Confirm) {
	s := &d.Site
	if !s.Memory.count(out, confirm) {
		d.Again = true
		return
	}
	was := s.State
	s.enter(out.State, s.Memory.Doubt.Since)
	s.Memory.Doubt = nil
	switch {
	case !out.State.Readable():
		d.outageBegan(was, out)
	case !was.Readable():
		d.outageEnded(was, out)
		d.absentSeen(s.version(), out)
	default:
		d.absentSeen(s.version(), out)
	}
}

func (d *Decision) transition(before, after fetch.State, out fetch.Outcome) Transition {
	return Transition{StateBefore: before, StateAfter: after, Reason: out.Reason, Detail: out.Detail, Vendor: out.Vendor}
}

// known reports whether a state was ever observed.
func known(s fetch.State) bool { return s != "" && s != fetch.Pending }

// enter changes the state; StateSince stays while the state does.
func (s *Site) enter(state fetch.State, since time.Time) {
	if s.State != state {
		s.State, s.StateSince = state, since
	}
}

// count adds an answer to the doubt and reports whether it is confirmed now.
func (m *Memory) count(out fetch.Outcome, confirm Confirm) bool {
	doubt := Doubt{State: out.State, Since: out.At, Counted: out.At}
	again := m.Doubt != nil && m.Doubt.State == out.State
	if again && out.At.Sub(m.Doubt.Counted) < confirm.Interval*confirmSlack/100 {
		return false // a schedule faster than the confirmation adds nothing
	}
	if m.Doubt != nil {
		doubt.Total = m.Doubt.Total
	}
	if again {
		doubt.Since, doubt.Count = m.Doubt.Since, m.Doubt.Count
	}
	doubt.Count++
	doubt.Total++
	m.Doubt = &doubt
	need := max(confirm.Failures, 1)
	return doubt.Count >= need || doubt.Total >= need*doubtFactor && !out.State.Readable()
}

// keepValidators remembers how to ask for this policy again.
func (m *Memory) keepValidators(out fetch.Outcome) {
	if !out.NotModified {
		m.ETag, m.Modified, m.FullGetAt = out.ETag, out.Modified, out.At
		return
	}
	if out.ETag != "" {
		m.ETag = out.ETag
	}
	if out.Modified != "" {
		m.Modified = out.Modified
	}
}

func (m *Memory) forgetPolicy() {
	m.ETag, m.Modified, m.FullGetAt, m.Good = "", "", time.Time{}, Answer{}
}

// Request is the look that is due at a site: conditional while the last good
// policy is known and was fetched whole within seven days.
func (s *Site) Request(now time.Time) fetch.Request {
	r := fetch.Request{Origin: s.Origin}
	if !s.Body.IsZero() && now.Sub(s.Memory.FullGetAt) < fullGetEvery && !now.Before(s.Memory.FullGetAt) {
		r.ETag, r.Modified, r.FinalURL = s.Memory.ETag, s.Memory.Modified, s.Memory.Good.FinalURL
	}
	return r
}
