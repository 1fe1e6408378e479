// Package diff says what an edit of a robots.txt changes in meaning: for
// which agent, in which direction, by which rule, with a shortest example
// path, proven over all paths and not sampled. It has no context, clock,
// logger or I/O.
package diff
