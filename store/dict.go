package store

import _ "embed"

// jsonDict holds the words that packed JSON is made of. It is part of the
// format: packed values name it by jsonDictID, so another dictionary needs
// another id, and this one stays for reading.
//
//go:embed dict.txt
var jsonDict []byte

const jsonDictID = 1
