// Package diff says what an edit of a robots.txt changes in meaning: for
// which agent, in which direction, by which rule, with a shortest example
// path, proven over all paths and not sampled. docs/engine.md explains how,
// and why it is right.
//
// [Compare] and [AccessOf] answer for rule sets, [Files] for two files and many
// agents, [Render] puts a report into words, [Text] compares line by line for
// display. What they list is true in any case; where a search gave up at its
// limit, Proven is false and what is not listed is not claimed.
//
// The package has no context, clock, logger or I/O: the same input gives the
// same answer everywhere. All functions are safe for concurrent use. One
// question is bounded in time and memory whatever a file holds, see [MaxWork].
package diff
