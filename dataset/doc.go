// Package dataset writes what is known as tables for notebooks: observations,
// policies and changes, as CSV, JSON Lines or Parquet. docs/datasets.md says
// what the columns mean. Rows are written as they come; nothing is collected.
package dataset
