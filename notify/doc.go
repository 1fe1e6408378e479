// Package notify brings recorded changes to their receivers: routing,
// dispatch from the outbox with retry, grouping, rendering, and the receivers
// themselves; and the Prometheus collectors.
//
// A change goes one way: Router says in the path of a check who wants it; the
// store puts one delivery a receiver into the outbox, in the transaction that
// records the change; a worker a receiver takes what is ready, composes a
// Message (words.go), and its Sender renders and sends that. Delivery is at
// least once, each change under its own stable id, in order within a site.
package notify
