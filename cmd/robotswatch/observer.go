package main

import "github.com/robotswatch/robotswatch/notify"

// observer tells the metrics what the watcher does.
type observer struct{ *notify.Metrics }

func (observer) OwnOutage(bool)    {}
func (observer) Recording(error)   {} // the store tells of its errors itself
func (observer) Recorded(int, int) {}
