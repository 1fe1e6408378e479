// Package evidence makes later edits of what was recorded evident. Each run of
// answers is a record; the records of a site form a chain of hashes in the
// order in which they were recorded; and a bundle proves one record to somebody
// else. docs/evidence.md describes the formats, and what a chain of hashes can
// prove and what not.
//
// The package is pure: no clock, no files, no store.
package evidence
