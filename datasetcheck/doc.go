// Package datasetcheck reads exported datasets with a reader that has nothing
// in common with what wrote them (DuckDB), and compares them with the API. It
// is a module of its own: its dependencies, which need a C compiler, are not
// those of robotswatch.
package datasetcheck
