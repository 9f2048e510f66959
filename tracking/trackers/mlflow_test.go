package trackers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// server answers as MLflow's server, and keeps what it gets.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	metrics  []mlflowMetric
	params   []keyValue
	requests []string
	statuses []string
	files    []string // artefacts, with their contents
	// fail is called before each request. It answers the request itself if it returns true.
	fail func(n int, w http.ResponseWriter, r *http.Request) bool
}

func newServer(t *testing.T) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	method := strings.TrimPrefix(r.URL.Path, "/api/2.0/mlflow/")
	s.requests = append(s.requests, method)
	n := len(s.requests)
	s.mu.Unlock()
	if s.fail != nil && s.fail(n, w, r) {
		return
	}
	if r.Method == http.MethodPut {
		body, err := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.files = append(s.files, fmt.Sprint(method, " ", string(body), err))
		return
	}
	var sent struct {
		Metrics []mlflowMetric `json:"metrics"`
		Params  []keyValue     `json:"params"`
		Status  string         `json:"status"`
	}
	if r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(&sent) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch method {
	case "experiments/get-by-name":
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "No experiment"}`)
		return
	case "experiments/create":
		fmt.Fprint(w, `{"experiment_id": "7"}`)
	case "runs/create":
		fmt.Fprint(w, `{"run": {"info": {"run_id": "abc"}}}`)
	case "runs/log-batch":
		s.metrics, s.params = append(s.metrics, sent.Metrics...), append(s.params, sent.Params...)
		fmt.Fprint(w, `{}`)
	case "runs/get":
		fmt.Fprint(w, `{"run": {"info": {"artifact_uri": "mlflow-artifacts:/7/abc/artifacts"}}}`)
	case "runs/update":
		s.statuses = append(s.statuses, sent.Status)
		fmt.Fprint(w, `{}`)
	}
}

func mlflowOf(t *testing.T, uri string) Tracker {
	t.Helper()
	return must.Get(MLflow(MLflowSettings{TrackingURI: uri, ExperimentName: "walker"}))(t)
}

// A server that is not MLflow's gets no second request. If a server does not answer, no caller waits for it.
func TestMLflowIsNotThere(t *testing.T) {
	noGoroutines(t)
	for _, c := range []struct {
		waits  waits
		want   string
		answer func(w http.ResponseWriter, r *http.Request)
	}{
		{eager, "is it an MLflow server?", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }},
		{waits{leaving: eager.leaving}, "in time",
			func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	} {
		srv, asked := newServer(t), make(chan struct{}, 1)
		srv.fail = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			asked <- struct{}{}
			c.answer(w, r)
			return true
		}
		var w warnings
		s, _ := begin(t, mlflowOf(t, srv.URL), Run{}, &w, c.waits)
		s.Scalar("a", 1, 1)
		<-asked
		must.Do(t, s.Close())
		w.are(t, "tracker mlflow ... "+c.want, "not received 1 of the run's 1 values")
		must.Equal(t, "requests", 1, len(srv.requests))
	}
}

// Names, parameters, the password, batches and the status are as MLflow's server expects them.
func TestMLflowSends(t *testing.T) {
	noGoroutines(t)
	t.Setenv("MLFLOW_TRACKING_USERNAME", "me")
	t.Setenv("MLFLOW_TRACKING_PASSWORD", "secret")
	srv := newServer(t)
	srv.fail = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		if user == "me" && password == "secret" {
			return false
		}
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return true
	}
	var w warnings
	run := Run{Dir: t.TempDir(), Config: map[string]any{
		"agent": map[string]any{"rates": []any{1e-3, "x"}, "none": nil}}}
	s, sinks := begin(t, mlflowOf(t, srv.URL+"/"), run, &w, eager)
	s.Scalar("Total reward (mean)", 1, math.NaN())
	s.Scalar("Total reward mean", 1, math.Inf(-1))
	sinks.Finish(fmt.Errorf("stopped: %w", context.Canceled))
	_ = s.Close()
	w.are(t)
	must.Equal(t, "parameters", `[{agent.none null} {agent.rates [0.001,"x"]}]`, fmt.Sprint(srv.params))
	got := [][2]any{{srv.metrics[0].Key, srv.metrics[0].Value}, {srv.metrics[1].Key, srv.metrics[1].Value}}
	must.Equal(t, "metrics", [][2]any{{"Total reward mean", "NaN"}, {"Total reward mean_2", -math.MaxFloat64}}, got)
	must.Equal(t, "statuses", []string{"KILLED"}, srv.statuses)
}

func TestMLflowName(t *testing.T) {
	var n names
	for i, want := range []int{250, 240} { // two long tags with one name
		name := n.of(strings.Repeat("x", 250) + strings.Repeat("y", i))
		must.Equal(t, fmt.Sprint("characters of name ", i), want, len(name))
	}
	for tag, want := range map[string]string{
		"Reward / Total reward (mean)": "Reward / Total reward mean",
		"a//b":                         "_a__b",
		"..":                           "_..",
		strings.Repeat("ü", 300):       strings.Repeat("ü", 250),
	} {
		must.Equal(t, "the name of "+tag, want, mlflowName(tag))
	}
}
