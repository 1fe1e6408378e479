package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"unicode"
	"unicode/utf8"

	"github.com/robotswatch/robotswatch/watcher"
)

// apiError is an answer that is not what was asked for: a stable code for
// programs, a sentence for people.
type apiError struct {
	status  int
	Code    string
	Message string
}

func (e *apiError) Error() string  { return e.Message }
func (e *apiError) GetStatus() int { return e.status }

func notFound(message string) *apiError {
	return &apiError{http.StatusNotFound, "not_found", message}
}

func adminOnly() *apiError {
	return &apiError{http.StatusForbidden, "forbidden", "The admin token is needed for this."}
}

func badRequest(message string) *apiError {
	return &apiError{http.StatusBadRequest, "bad_request", message}
}

// sentence makes an error message one.
func sentence(err error) string {
	r, n := utf8.DecodeRuneInString(err.Error())
	return string(unicode.ToUpper(r)) + err.Error()[n:] + "."
}

// asAPIError gives what the outside may know of an error. Its second result
// is true when the error is ours and has to be logged.
func asAPIError(err error) (*apiError, bool) {
	var e *apiError
	switch {
	case errors.As(err, &e):
		return e, false
	case errors.Is(err, watcher.ErrNotFound):
		return notFound("There is nothing of that name here."), false
	case errors.Is(err, watcher.ErrBusy):
		return &apiError{http.StatusConflict, "busy", "The site is being looked at just now."}, false
	case errors.Is(err, watcher.ErrNotNow):
		return &apiError{http.StatusServiceUnavailable, "not_now", "The look could not be made just now; it is put off by a little."}, false
	}
	return &apiError{http.StatusInternalServerError, "internal", "Something went wrong on our side; the log says what."}, true
}

// errorBody is the one shape of errors of the API.
type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Code    string `json:"code" doc:"Stable identifier" example:"not_found"`
	Message string `json:"message" doc:"A sentence for people"`
}

func writeAPIError(w http.ResponseWriter, e *apiError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.status)
	// The client may be gone; there is nobody left to tell.
	_ = json.NewEncoder(w).Encode(errorBody{errorDetail{e.Code, e.Message}})
}
