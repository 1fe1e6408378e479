package fetch

import (
	"bytes"
	"fmt"
	"net/http"
	"unicode/utf16"

	"github.com/robotswatch/robotswatch/internal/visible"
)

// What a body is, is decided by the body. Content-Type says too little: a
// third of all HTML answers to /robots.txt claim to be text, and real files
// claim to be HTML.
//
//   - A text with one record that crawlers know is a robots.txt, whatever
//     surrounds it; so is one that is empty or consists of comments. RFC 9309
//     (2.3.1.5) has crawlers use every line that can be read.
//   - Markup is a page, unless a whole group stands in it and at least half of
//     its lines are records: then an author's rules got some HTML in front
//     (a warning, injected links), and crawlers do read them. A page that
//     merely quotes a few lines stays a page.
//   - Other text without records is a robots.txt that allows everything, unless
//     its few words say that it is an error.

// kind is what a body was found to be; no reason means a robots.txt.
type kind struct {
	reason Reason
	detail string
}

func (k kind) state() State {
	if k.reason == NoReason {
		return Policy
	}
	return NotRobots
}

// softErrorMax is how long a plain error message can be.
const softErrorMax = 1 << 10

func sniff(h http.Header, body []byte) kind {
	if name := magic(body); name != "" {
		return kind{Binary, "the body is " + name}
	}
	text := bytes.TrimLeft(stripBOM(narrow(body)), " \t\r\n\f\v\x00")
	c := countRecords(text)
	if markup(text) {
		if c.agents > 0 && c.rules > 0 && 2*c.records >= c.lines {
			return kind{}
		}
		return sniffMarkup(h, text)
	}
	switch {
	case c.records > 0:
		return kind{}
	case challengeHeader(h):
		return kind{Challenge, "the edge asks for a browser"}
	case isBinary(text):
		return kind{Binary, "the body is binary data"}
	case len(text) > 0 && (text[0] == '{' || text[0] == '['):
		return kind{JSON, "the body is JSON: " + visible.Short(string(text[:min(len(text), 120)]), 120)}
	case c.lines > 0 && len(text) <= softErrorMax && errorWords(text):
		return kind{SoftNotFound, "the body is an error message: " + visible.Short(string(bytes.TrimSpace(text[:min(len(text), 120)])), 120)}
	}
	return kind{}
}

// sniffMarkup names the page.
func sniffMarkup(h http.Header, text []byte) kind {
	head := bytes.ToLower(text[:min(len(text), 64)])
	switch {
	case challengeHeader(h), challengePage(text):
		return kind{Challenge, "the body is a page that wants to see a browser"}
	case bytes.HasPrefix(head, []byte("<?php")), bytes.HasPrefix(head, []byte("<?=")), bytes.HasPrefix(head, []byte("<%")):
		return kind{SourceCode, "the body is source code that the server did not run"}
	}
	title := pageTitle(text)
	detail := "the body is an HTML page"
	if title != "" {
		detail += fmt.Sprintf(" titled %q", visible.Short(title, 120))
	}
	if title != "" && errorWords([]byte(title)) {
		return kind{SoftNotFound, detail}
	}
	if !bytes.Contains(bytes.ToLower(text[:min(len(text), 1<<10)]), []byte("<html")) &&
		(bytes.HasPrefix(head, []byte("<?xml")) || bytes.HasPrefix(head, []byte("<error"))) {
		return kind{XML, "the body is XML"}
	}
	return kind{HTML, detail}
}

// narrow makes UTF-16 with a byte order mark readable here; what is not ASCII
// in it does not matter.
func narrow(body []byte) []byte {
	if len(body) < 2 || !(body[0] == 0xff && body[1] == 0xfe || body[0] == 0xfe && body[1] == 0xff) {
		return body
	}
	low := 0
	if body[0] == 0xfe {
		low = 1
	}
	units := make([]uint16, 0, len(body)/2)
	for i := 2; i+1 < len(body); i += 2 {
		units = append(units, uint16(body[i+1-low])<<8|uint16(body[i+low]))
	}
	return []byte(string(utf16.Decode(units)))
}

// stripBOM removes a UTF-8 byte order mark, also one cut short.
func stripBOM(b []byte) []byte {
	for _, octet := range []byte("\xef\xbb\xbf") {
		if len(b) == 0 || b[0] != octet {
			break
		}
		b = b[1:]
	}
	return b
}

// magics are file formats that get served for everything by mistake.
var magics = []struct{ prefix, name string }{
	{"\x89PNG", "a PNG image"}, {"GIF8", "a GIF image"}, {"\xff\xd8\xff", "a JPEG image"},
	{"%PDF-", "a PDF document"}, {"PK\x03\x04", "a ZIP archive"}, {"\x1f\x8b", "gzip data"},
	{"\x28\xb5\x2f\xfd", "zstd data"}, {"\x7fELF", "a program"}, {"MZ\x90", "a program"},
	{"BZh", "bzip2 data"}, {"\x00\x00\x01\x00", "an icon"}, {"wOFF", "a font"}, {"wOF2", "a font"},
	{"OggS", "audio data"}, {"ID3\x03", "audio data"}, {"SQLite format 3", "a database"},
}

func magic(b []byte) string {
	for _, m := range magics {
		if bytes.HasPrefix(b, []byte(m.prefix)) {
			return m.name
		}
	}
	return ""
}

// isBinary reports whether text without records is none: it has a NUL, or more
// than one in fifty octets is a control character.
func isBinary(text []byte) bool {
	controls := 0
	for _, b := range text {
		switch {
		case b == 0:
			return true
		case b < ' ' && b != '\t' && b != '\n' && b != '\r' && b != '\f' && b != '\v' && b != 0x1a && b != 0x1b, b == 0x7f:
			controls++
		}
	}
	return controls*50 > len(text)
}

// markup reports whether the first thing in a text, comments aside, is a tag.
func markup(text []byte) bool {
	return len(text) > 1 && text[0] == '<' &&
		(isLetter(text[1]) || text[1] == '!' || text[1] == '?' || text[1] == '/' || text[1] == '%')
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// pageTitle is the first title or heading of a page, or "".
func pageTitle(text []byte) string {
	text = text[:min(len(text), challengePeek)]
	low := bytes.ToLower(text)
	if len(low) != len(text) { // odd octets changed length; positions do not match
		text = low
	}
	for _, tag := range []string{"title", "h1"} {
		i := bytes.Index(low, []byte("<"+tag))
		if i < 0 {
			continue
		}
		from := bytes.IndexByte(low[i:], '>')
		if from < 0 {
			continue
		}
		from += i + 1
		to := bytes.Index(low[from:], []byte("</"+tag))
		if to < 0 {
			continue
		}
		if t := bytes.Join(bytes.Fields(text[from:from+to]), []byte(" ")); len(t) > 0 {
			return string(t)
		}
	}
	return ""
}

// errorPhrases are what servers say when they say "error" with status 200.
var errorPhrases = [][]byte{
	[]byte("not found"), []byte("404"), []byte("403"), []byte("401"), []byte("forbidden"),
	[]byte("access denied"), []byte("permission denied"), []byte("not authorized"), []byte("unauthorized"),
	[]byte("not acceptable"), []byte("too many requests"), []byte("does not exist"), []byte("doesn't exist"),
	[]byte("could not be found"), []byte("couldn't be found"), []byte("cannot be displayed"), []byte("request was rejected"),
	[]byte("has been removed"), []byte("server error"), []byte("bad request"), []byte("bad gateway"),
	[]byte("unavailable"), []byte("no such"), []byte("not_found"), []byte("invalid request"),
}

func errorWords(text []byte) bool {
	low := bytes.ToLower(text)
	for _, p := range errorPhrases {
		if bytes.Contains(low, p) {
			return true
		}
	}
	return false
}

// challengeMarks stand in pages that test whether a browser is asking.
var challengeMarks = [][]byte{
	[]byte("/cdn-cgi/challenge-platform/"), []byte("cf-browser-verification"), []byte("cf_chl_opt"), []byte("<title>just a moment..."),
	[]byte("<title>attention required! | cloudflare"),
	[]byte("captcha-delivery.com"), []byte("_incapsula_resource"), []byte("incapsula incident id"),
	[]byte("px-captcha"), []byte("perimeterx"), []byte("awswafcaptcha"), []byte("awswaf.com"), []byte("gokuprops"),
	[]byte("sucuri_cloudproxy_js"), []byte("sucuri website firewall"),
	[]byte("/_sec/cp_challenge/"), []byte("akamai-privacy"), []byte("bm-verify="), []byte("sec-if-cpt-container"),
	[]byte("ddos-guard"), []byte("__ddg"), []byte("google.com/recaptcha"), []byte("hcaptcha.com/1/api.js"),
	[]byte("challenges.cloudflare.com/turnstile"), []byte("verify you are human"), []byte("verifying you are human"),
	[]byte("are you a robot"), []byte("enable javascript and cookies to continue"), []byte("document.cookie=('_')+"),
	[]byte("kasada"), []byte("ips.js?"), []byte("vercel security checkpoint"),
}

// challengePage looks for the marks in the first part of a page.
func challengePage(text []byte) bool {
	low := bytes.ToLower(text[:min(len(text), challengePeek)])
	for _, m := range challengeMarks {
		if bytes.Contains(low, m) {
			return true
		}
	}
	return false
}
