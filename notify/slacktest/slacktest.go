// Package slacktest is a small Slack on loopback for tests: incoming webhook,
// chat.postMessage, chat.update and file upload, with Slack's documented
// limits enforced on everything that arrives.
package slacktest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// Token is the one that the server knows.
const Token = "xoxb-slacktest-token"

// Message is one that arrived.
type Message struct {
	Channel string
	TS      string
	Thread  string // ts of the message it replies to
	Text    string // fallback
	Blocks  json.RawMessage
	Updates int    // how often it was rewritten
	File    string // content of an uploaded file
}

// Shown is all the text that a reader of the message sees.
func (m Message) Shown() string {
	var blocks []block
	if json.Unmarshal(m.Blocks, &blocks) != nil || len(blocks) == 0 {
		return m.Text + m.File
	}
	var parts []string
	for _, b := range blocks {
		for _, t := range b.texts() {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Server is the Slack. Its zero value is not usable; see New.
type Server struct {
	*httptest.Server
	Channels []string // known ones

	mu       sync.Mutex
	messages []Message
	problems []string
	uploads  map[string]string
	fault    func(w http.ResponseWriter, r *http.Request) bool
	arrived  chan struct{}
}

// New starts a server that knows a channel, "#policy".
func New() *Server {
	s := &Server{Channels: []string{"#policy"}, uploads: map[string]string{}, arrived: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /services/", s.webhook)
	mux.HandleFunc("POST /api/chat.postMessage", s.api(s.post))
	mux.HandleFunc("POST /api/chat.update", s.api(s.update))
	mux.HandleFunc("POST /api/files.getUploadURLExternal", s.api(s.uploadURL))
	mux.HandleFunc("POST /upload/{id}", s.upload)
	mux.HandleFunc("POST /api/files.completeUploadExternal", s.api(s.completeUpload))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		fault := s.fault
		s.mu.Unlock()
		if fault != nil && fault(w, r) {
			return
		}
		mux.ServeHTTP(w, r)
	}))
	return s
}

// WebhookURL is the address of the incoming webhook.
func (s *Server) WebhookURL() string { return s.URL + "/services/T000/B000/slacktest-webhook" }

// APIURL is what api_url is to be set to.
func (s *Server) APIURL() string { return s.URL + "/api/" }

// Fault lets f answer requests in the server's place, as long as it returns
// true; nil ends that.
func (s *Server) Fault(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Messages are those that were accepted, oldest first.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Problems are the violations of Slack's limits, which it refused.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// Arrived gets a value after a message was accepted or rewritten.
func (s *Server) Arrived() <-chan struct{} { return s.arrived }

// accept checks and keeps a message; problem is "" when it is fine.
func (s *Server) accept(m Message) (ts, problem string) {
	if list := Check(m.Text, m.Blocks); len(list) > 0 {
		s.problems = append(s.problems, list...)
		return "", "invalid_blocks"
	}
	m.TS = fmt.Sprintf("1700000000.%06d", len(s.messages)+1)
	s.messages = append(s.messages, m)
	s.tell()
	return m.TS, ""
}

func (s *Server) tell() {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

func (s *Server) webhook(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Text   string          `json:"text"`
		Blocks json.RawMessage `json:"blocks"`
	}
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, "invalid_payload", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, problem := s.accept(Message{Text: in.Text, Blocks: in.Blocks}); problem != "" {
		http.Error(w, problem, http.StatusBadRequest)
		return
	}
	io.WriteString(w, "ok")
}

type fields func(string) string

// api wraps a method: token, fields from a form, answer as JSON.
func (s *Server) api(method func(get fields) (answer map[string]any, problem string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		get := r.PostFormValue
		if t := get("token"); t != "" {
			token = t
		}
		answer, problem := map[string]any(nil), "invalid_auth"
		if token == Token {
			s.mu.Lock()
			answer, problem = method(get)
			s.mu.Unlock()
		}
		if answer == nil {
			answer = map[string]any{}
		}
		answer["ok"] = problem == ""
		if problem != "" {
			answer["error"] = problem
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(answer)
	}
}

const channelID = "C0000001"

func (s *Server) post(get fields) (map[string]any, string) {
	if c := get("channel"); !slices.Contains(s.Channels, c) && c != channelID {
		return nil, "channel_not_found"
	}
	ts, problem := s.accept(Message{
		Channel: channelID, Thread: get("thread_ts"), Text: get("text"), Blocks: json.RawMessage(get("blocks")),
	})
	return map[string]any{"channel": channelID, "ts": ts}, problem
}

func (s *Server) update(get fields) (map[string]any, string) {
	i := slices.IndexFunc(s.messages, func(m Message) bool { return m.TS == get("ts") })
	if i < 0 || get("channel") != channelID {
		return nil, "message_not_found"
	}
	if list := Check(get("text"), json.RawMessage(get("blocks"))); len(list) > 0 {
		s.problems = append(s.problems, list...)
		return nil, "invalid_blocks"
	}
	m := &s.messages[i]
	m.Text, m.Blocks = get("text"), json.RawMessage(get("blocks"))
	m.Updates++
	s.tell()
	return map[string]any{"channel": channelID, "ts": m.TS}, ""
}

func (s *Server) uploadURL(get fields) (map[string]any, string) {
	id := fmt.Sprintf("F%07d", len(s.uploads)+1)
	s.uploads[id] = ""
	return map[string]any{"upload_url": s.URL + "/upload/" + id, "file_id": id}, ""
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	f, _, err := r.FormFile("file")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	defer f.Close()
	content, _ := io.ReadAll(f)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uploads[r.PathValue("id")] = string(content)
	io.WriteString(w, "OK")
}

func (s *Server) completeUpload(get fields) (map[string]any, string) {
	var files []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	if err := json.Unmarshal([]byte(get("files")), &files); err != nil || len(files) != 1 {
		return nil, "invalid_arguments"
	}
	if get("channel_id") != channelID {
		return nil, "channel_not_found"
	}
	s.messages = append(s.messages, Message{
		Channel: channelID, Thread: get("thread_ts"), Text: files[0].Title, File: s.uploads[files[0].ID],
		TS: fmt.Sprintf("1700000000.%06d", len(s.messages)+1),
	})
	s.tell()
	return map[string]any{"files": files}, ""
}
