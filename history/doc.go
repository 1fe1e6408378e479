// Package history brings what others captured into the store: archives of
// robots.txt go through the same engine as live looks and give the same
// changes, marked as backfilled and never delivered.
//
// Captures come in any order. They are spilled to disk, spread over
// partitions by site, and each partition is then put in order of time and
// judged site by site; so memory is bounded by the largest partition, not by
// the input. What a site's captures mean is decided by merge and derive, which
// are pure: the same facts give the same record, however often and from
// whatever order they come. So a backfill that was killed is simply run
// again, and one that ran twice changes nothing.
//
// What was observed live is never rewritten. Captures from before the first
// live look become observations and changes; later ones become observations
// where nobody looked, and nothing else, since the changes of that time were
// told already.
package history
