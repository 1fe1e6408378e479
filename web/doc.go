// Package web shows what is known: pages for people, a JSON API for
// pipelines, feeds and badges, and the endpoints of operation (/metrics,
// /-/healthy, /-/ready, /-/reload).
//
// Everything a site sent is hostile here too: it reaches a page only through
// html/template, a CSV cell only through csvCell, an SVG or Atom document only
// through encoding/xml. No page needs JavaScript; what little there is only
// adds charts. All state lives in the store: a Server is safe for concurrent
// use and holds nothing but caches of what it can ask for again.
package web
