// Package robots reads one robots.txt as RFC 9309 says: Parse never fails,
// keeps every line with its number, and File.Rules gives the rules that are
// in force for an agent. Rules.Decide gives the verdict on a path with the
// rule that decides.
//
// The package has no context, clock, logger or I/O, and imports the standard
// library only. All values are immutable once made and safe for concurrent
// use. What goes beyond the RFC, and why, stands at Parse, at NormalizePath and
// with the Google reading.
package robots
