package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// document is the API's own description, read as a client would.
type document struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Parameters  []parameter
		RequestBody *struct {
			Content map[string]struct {
				Schema json.RawMessage
			}
		} `json:"requestBody"`
		Responses map[string]struct {
			Content map[string]struct {
				Schema json.RawMessage
			}
		}
	}
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

type parameter struct {
	Name, In string
	Required bool
	Schema   struct {
		Type      any
		Enum      []any
		Items     *struct{ Enum []any }
		MaxLength int
		Minimum   *float64
		Maximum   *float64
	}
}

func readDocument(t testing.TB, h http.Handler) *document {
	t.Helper()
	got := get(t, h, "GET", "http://localhost/api/v1/openapi.json")
	var d document
	if err := json.Unmarshal(got.Body.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	d.compiler, d.schemas = jsonschema.NewCompiler(), map[string]*jsonschema.Schema{}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("openapi.json", whole); err != nil {
		t.Fatal(err)
	}
	if len(d.Paths) < 8 {
		t.Fatalf("only %d paths are described", len(d.Paths))
	}
	return &d
}

// check reports what about an answer the document does not promise.
func (d *document) check(method, path string, got *httptest.ResponseRecorder) error {
	op, ok := d.Paths[path][strings.ToLower(method)]
	if !ok {
		return fmt.Errorf("%s %s is not described", method, path)
	}
	status := fmt.Sprint(got.Code)
	if _, ok := op.Responses[status]; !ok {
		status = "default"
	}
	if answer, ok := op.Responses[status]; ok && len(answer.Content) == 0 && got.Body.Len() == 0 {
		return nil
	}
	media, _, _ := strings.Cut(got.Header().Get("Content-Type"), ";")
	if _, ok := op.Responses[status].Content[media]; !ok {
		return fmt.Errorf("status %d with %q is not described", got.Code, media)
	}
	if media != "application/json" {
		return nil
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	at := "openapi.json#/paths/" + escape.Replace(path) + "/" + strings.ToLower(method) + "/responses/" + status + "/content/application~1json/schema"
	schema := d.schemas[at]
	if schema == nil {
		var err error
		if schema, err = d.compiler.Compile(at); err != nil {
			return err
		}
		d.schemas[at] = schema
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.Body.Bytes()))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
