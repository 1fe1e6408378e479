// Package store keeps sites, what was seen of them, changes and deliveries,
// in SQLite or PostgreSQL behind one type.
//
// Both databases run the same queries and the same numbered migrations; they
// differ in a handful of words (dialect.go) and in how a connection is made
// (sqlite.go, postgres.go).
//
// Guarantees:
//   - What Record writes for a batch of results is one transaction: site,
//     observation, body, change, deliveries and standings, or nothing.
//   - A site is leased to one caller at a time, and a result whose lease was
//     lost leaves no trace.
//   - A write that meets a passing fault (a connection lost, a lock held, a
//     disk full) waits a while and is tried again; it is never applied twice,
//     also when the caller tries again after an error.
//   - No read holds a snapshot for long: lists are paged by key.
//
// A Store is safe for concurrent use. Times are kept as Unix milliseconds.
package store
