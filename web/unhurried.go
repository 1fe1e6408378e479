package web

import (
	"net/http"
	"time"
)

// pieceTimeout is how long a client may take to receive a piece of an answer
// that is unhurried.
const pieceTimeout = 2 * time.Minute

// unhurriedWriter frees an answer that may rightly take long from the time
// that the listener gives each: it counts for each piece instead, so that a
// client that stops reading is let go all the same.
type unhurriedWriter struct {
	http.ResponseWriter
	connection *http.ResponseController
}

// unhurried begins such an answer. Not every ResponseWriter has a connection;
// those without have no limit.
func unhurried(w http.ResponseWriter) http.ResponseWriter {
	u := unhurriedWriter{w, http.NewResponseController(w)}
	_ = u.connection.SetWriteDeadline(time.Time{})
	return u
}

func (u unhurriedWriter) Write(b []byte) (int, error) {
	_ = u.connection.SetWriteDeadline(time.Now().Add(pieceTimeout))
	return u.ResponseWriter.Write(b)
}

// Unwrap serves http.ResponseController.
func (u unhurriedWriter) Unwrap() http.ResponseWriter { return u.ResponseWriter }
