package store

import _ "embed"

// Dictionaries hold the words that packed JSON is made of. They are part of the
// format: packed values name one by its id, so another one needs another id, and
// these stay for reading.

// jsonDict is that of evidence, and of events until schema 7.
//
//go:embed dict.txt
var jsonDict []byte

// eventDict is that of events: what summaries, causes and verdicts say, and the
// rules of wide-spread templates. What is frequent stands at the end.
//
//go:embed dict_event.txt
var eventDict []byte

const (
	jsonDictID  = 1
	eventDictID = 2
)
