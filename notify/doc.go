// Package notify brings recorded changes to their receivers: routing,
// dispatch from the outbox with retry, grouping, rendering, and the receivers
// themselves; and the Prometheus collectors.
package notify
