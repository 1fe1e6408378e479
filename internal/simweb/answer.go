package simweb

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"
)

// Answer to a request for a robots.txt. The zero value is an empty file.
type Answer struct {
	Note   string // for Watch: what this is
	Status int    // 0 is 200
	Body   string
	Header http.Header // beside what follows from the rest
	// Stateless answers carry no ETag and no Last-Modified and are sent whole
	// each time.
	Stateless bool
	Delay     time.Duration // before the first octet
	Fault     Fault
}

// Fault is what goes wrong on the way.
type Fault int

// Faults. The answer is sent as far as it says.
const (
	NoFault   Fault = iota
	Hang            // nothing is sent, ever
	Reset           // the connection is reset before an answer
	Truncated       // it breaks off in the middle of the body
	Dripping        // an octet at a time, DripEvery
	Endless         // the body goes on and on
	Garbage         // something that is not HTTP
)

// DripEvery is the time between octets of a Dripping answer.
const DripEvery = time.Second

// Text is a robots.txt.
func Text(body string) Answer { return Answer{Body: body} }

// Status is an answer by its code, with a line of text.
func Status(code int) Answer {
	return Answer{Status: code, Body: http.StatusText(code) + "\n", Stateless: true}
}

// TryLater is 429 or 503 with Retry-After.
func TryLater(code int, after time.Duration) Answer {
	a := Status(code)
	a.Header = http.Header{"Retry-After": {strconv.Itoa(int(after / time.Second))}}
	return a
}

// HTML is a page in the place of a robots.txt, with status 200.
func HTML(body string) Answer {
	return Answer{Body: body, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}}
}

// Redirect to another URL.
func Redirect(code int, to string) Answer {
	return Answer{Status: code, Header: http.Header{"Location": {to}}, Stateless: true}
}

// Broken is a robots.txt with a fault.
func Broken(f Fault, body string) Answer { return Answer{Body: body, Fault: f} }

// Noted names an answer for Watch.
func (a Answer) Noted(note string) Answer {
	a.Note = note
	return a
}

func (a Answer) etag() string {
	sum := sha256.Sum256([]byte(a.Body))
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// Scene is an answer for a number of requests; 0 is for ever.
type Scene struct {
	Answer
	Times int
}

// For is this answer for some requests.
func (a Answer) For(requests int) Scene { return Scene{a, requests} }
