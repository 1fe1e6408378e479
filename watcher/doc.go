// Package watcher decides when and how to look at sites, and what an answer
// means.
//
// The pure parts: Schedule says when a site is due. Decide is the state
// machine of a site (docs/states.md draws it), from a stored site and an
// outcome to the site as it will be and what happened to it. Judge adds what
// that means for agents, as events, and the next look. Effective and Gate say
// what holds now. Replay plays archives through the same Judge.
//
// The shell: Daemon claims due sites, keeps looks in flight within limits per
// domain and address, and records results in batches. Storage, fetching,
// routing and metrics stand behind interfaces of this package.
//
// Guarantees, each with a test that tries to break it:
//   - Between two finished looks at a site lie at most 24 hours while a daemon
//     runs and the server answers in time, whatever schedules, restarts,
//     clocks, faults and Retry-After do.
//   - No two looks at one site overlap, also with many daemons on one store.
//   - A passing fault is no event. An outage is one event when it is confirmed
//     and one when it ends, and bytes that are the same after it are no change.
//   - Each change of what a site wants is one event, each reversal two; only
//     what swings is told once when it begins and once when it settles.
//   - While most unrelated hosts fall silent together, nothing is concluded.
//
// All exported types are safe for concurrent use, except Replay, which
// belongs to one goroutine.
package watcher
