// Package watcher decides when and how to look at sites, and what an answer
// means: schedules, the state machine of a site, and one check from due to
// recorded. Pure cores (Decide, schedule) and a thin shell (Daemon) round
// them; storage, delivery and metrics stand behind interfaces of this package.
package watcher
