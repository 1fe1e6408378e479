package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

const (
	apiPath = "/api/v1"

	// defaultPage and maxPage are how many entries a list answers at once.
	defaultPage = 100
	maxPage     = 1000
)

// api registers every operation of the API and gives the document that
// describes them.
func (s *Server) api(mux *http.ServeMux) ([]byte, error) {
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "robotswatch", Version: "1",
			Description: "Who may fetch what, by the robots.txt of the sites that are watched. " +
				"Lists take limit and cursor and answer CSV to Accept: text/csv or format=csv. Times are RFC 3339 in UTC.",
		},
		Servers:    []*huma.Server{{URL: s.prefix + apiPath}},
		Components: &huma.Components{Schemas: huma.NewMapRegistry("#/components/schemas/", schemaName)},
	}
	if s.set.ReadToken != "" || s.set.AdminToken != "" {
		doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	}
	api := humago.NewWithPrefix(mux, apiPath, huma.Config{
		OpenAPI:                      doc,
		Formats:                      map[string]huma.Format{formatJSON: huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat, formatCSV: {Marshal: marshalCSV}},
		DefaultFormat:                formatJSON,
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{ownErrors},
	})
	api.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) { next(plainStatus{ctx}) })
	s.apiSites(api)
	s.apiAccess(api)
	s.apiExpectations(api)
	s.apiChanges(api)
	s.apiAgents(api)
	s.apiAdoption(api)
	s.apiSignals(api)
	for name := range doc.Components.Schemas.Map() {
		if strings.HasPrefix(name, libraryPrefix) {
			delete(doc.Components.Schemas.Map(), name) // shapes that we never answer
		}
	}
	return json.Marshal(doc)
}

// libraryPrefix sets the library's own types apart from ours.
const libraryPrefix = "Huma"

// schemaName keeps the names of our types, upper case first as clients like
// them.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.PkgPath() == reflect.TypeFor[huma.ErrorModel]().PkgPath() {
		return libraryPrefix + name
	}
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// plainStatus answers what the library cannot read with 400, as our own
// handlers answer what they cannot make sense of: one mistake, one status.
type plainStatus struct{ request }

type request = huma.Context // by another name: it has a method Context

func (c plainStatus) SetStatus(code int) {
	if code == http.StatusUnprocessableEntity {
		code = http.StatusBadRequest
	}
	c.request.SetStatus(code)
}

// ownErrors turns the library's errors, which it makes while it reads a
// request, into ours.
func ownErrors(ctx huma.Context, _ string, v any) (any, error) {
	var e *apiError
	switch v := v.(type) {
	case *apiError:
		e = v
	case table:
		return v, nil
	case *huma.ErrorModel:
		e = &apiError{status: v.Status, Code: errorCode(v.Status), Message: v.Detail}
		for i, d := range v.Errors {
			sep := "; "
			if i == 0 {
				sep = ": "
			}
			e.Message += sep + strings.TrimSpace(d.Location+" "+d.Message)
		}
	default: // not a table: JSON, whatever was asked for
		ctx.SetHeader("Content-Type", "application/json")
		return v, nil
	}
	ctx.SetHeader("Content-Type", "application/json")
	return errorBody{errorDetail{e.Code, e.Message}}, nil
}

// errorCode names a status of the library for programs.
func errorCode(status int) string {
	switch status {
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		return "bad_request"
	case http.StatusRequestEntityTooLarge:
		return "too_large"
	}
	return strings.ReplaceAll(strings.ToLower(http.StatusText(status)), " ", "_")
}

// operation registers a typed handler. Errors that are ours to mend are
// logged here, once, and answered without details.
func operation[I, O any](s *Server, api huma.API, op huma.Operation, handle func(context.Context, *I) (*O, error)) {
	schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[errorBody](), true, "Error")
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	op.Responses["default"] = &huma.Response{
		Description: "What went wrong",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: schema}},
	}
	if _, ok := any(*new(O)).(interface{ tabular() }); ok {
		op.Responses["200"] = &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{
			"application/json": {}, "text/csv": {Schema: &huma.Schema{Type: huma.TypeString}}}}
	}
	huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err == nil {
			return out, nil
		}
		e, ours := asAPIError(err)
		if ours && !errors.Is(err, context.Canceled) {
			s.deps.Log.Error("request failed", "operation", op.OperationID, "err", err)
		}
		return nil, e
	})
}

// list is the one shape of lists. next_cursor is "" at the end.
type list[T csvRow] struct {
	Data       []T    `json:"data" nullable:"false"`
	NextCursor string `json:"next_cursor" doc:"Give it as cursor to get what follows; empty at the end"`
}

type listOutput[T csvRow] struct {
	Body list[T]
}

func (listOutput[T]) tabular() {}

// listOf makes an answer out of up to limit+1 entries: one more than asked
// for means that there is a next page, whose cursor comes from the last entry
// that is shown.
func listOf[S any, T csvRow](entries []S, limit int, cursor func(S) string, show func(S) T) *listOutput[T] {
	out := &listOutput[T]{Body: list[T]{Data: make([]T, 0, min(len(entries), limit))}}
	for i, e := range entries {
		if i == limit {
			out.Body.NextCursor = cursor(entries[i-1])
			break
		}
		out.Body.Data = append(out.Body.Data, show(e))
	}
	return out
}

// Paging is part of the parameters of every list. It is exported because the
// library only reads exported fields.
type Paging struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Entries at once"`
	Cursor string `query:"cursor" maxLength:"4096" doc:"next_cursor of the page before"`
	Format string `query:"format" enum:"json,csv" doc:"As the Accept header application/json or text/csv"`
}

// moment is a time in a parameter: RFC 3339, or a day, which means its first
// instant in UTC.
type moment struct{ time.Time }

// UnmarshalText reads both forms.
func (m *moment) UnmarshalText(b []byte) (err error) {
	if m.Time, err = time.Parse(time.RFC3339, string(b)); err == nil {
		return nil
	}
	if m.Time, err = time.Parse(time.DateOnly, string(b)); err == nil {
		return nil
	}
	return errors.New("want a time like 2026-05-01T12:00:00Z or a day like 2026-05-01, not " + strconv.Quote(string(b)))
}

// UnmarshalJSON reads both forms as a JSON string.
func (m *moment) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	return m.UnmarshalText([]byte(text))
}

// Schema describes both forms to readers of the document.
func (moment) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Description: "RFC 3339, or a day as 2026-05-01", Examples: []any{"2026-05-01T12:00:00Z"}}
}

// never turns the zero time into null.
func never(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// orAPIError answers what the router refuses (no such path, wrong method) in
// the shape of the API.
func orAPIError(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		refused := &heldAnswer{ResponseWriter: w, status: http.StatusOK}
		mux.ServeHTTP(refused, r) // sets Allow where the method is wrong
		if refused.status == http.StatusMethodNotAllowed {
			writeAPIError(w, &apiError{refused.status, "method_not_allowed", "This path does not take " + r.Method + "."})
			return
		}
		writeAPIError(w, notFound("There is no such path in the API; "+apiPath+"/openapi.json lists them."))
	})
}
