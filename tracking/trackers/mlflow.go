package trackers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/tracking"
)

// MLflowSettings are the settings of [MLflow]. For servers with authentication the tracker reads the environment
// variables MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, as MLflow's client does.
type MLflowSettings struct {
	// TrackingURI is the address of the tracking server, such as http://localhost:5000; empty is
	// MLFLOW_TRACKING_URI.
	//
	// MLflow's files and databases have no such address: run "mlflow server" for them. A password in the address
	// (http://user:password@host) is used for the connection and written to no file. A run that reads its settings from
	// run.yaml therefore needs the password again, here or in MLflow's environment variables.
	TrackingURI string `yaml:"tracking_uri"`
	// ExperimentName is the experiment of the run, made if it is missing; empty is MLFLOW_EXPERIMENT_NAME, else
	// "Default".
	ExperimentName string `yaml:"experiment_name"`
	// RunName is the run's name; empty is that of its folder.
	RunName string `yaml:"run_name"`
	// Tags are the run's tags. Members of a population, and runs of --seeds or a sweep, also have "group".
	Tags map[string]string `yaml:"tags"`
	// Artifacts keeps the best checkpoint and the films in the run's folder "videos" at the end of the run. The server
	// must pass artifacts on, as "mlflow server" does by default. Default false.
	Artifacts bool `yaml:"artifacts"`
}

// DefaultMLflow returns settings that use MLflow's environment variables.
func DefaultMLflow() MLflowSettings { return MLflowSettings{} }

func (s MLflowSettings) uri() address {
	return address(strings.TrimRight(cmp.Or(s.TrackingURI, os.Getenv("MLFLOW_TRACKING_URI")), "/"))
}

// address is the address of a server. Its text and its JSON omit the password.
type address string

func (a address) String() string { return config.Redact(string(a)) }

// MarshalText implements encoding.TextMarshaler.
func (a address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// checkPassword returns an error if the password is missing in the address and in the environment. gorl removes
// passwords from the files that it writes.
func (a address) checkPassword() error {
	u, err := url.Parse(string(a))
	if err != nil {
		return err
	}
	word, _ := u.User.Password()
	if word != config.Redacted || cmp.Or(os.Getenv("MLFLOW_TRACKING_USERNAME"),
		os.Getenv("MLFLOW_TRACKING_TOKEN")) != "" {
		return nil
	}
	return fmt.Errorf("\"tracking_uri\" is %q, without its password, which gorl writes to no file: give it again, "+
		"or set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD (%w)", a, ErrFinal)
}

// Validate returns an error unless there is an HTTP address.
func (s MLflowSettings) Validate() error {
	uri := s.uri()
	if uri == "" {
		return errors.New(`trackers: mlflow: "tracking_uri" is missing: the address of a server, such as ` +
			`http://localhost:5000, ` +
			"here or in the environment variable MLFLOW_TRACKING_URI")
	}
	if u, err := url.Parse(string(uri)); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("trackers: mlflow: \"tracking_uri\" is %q: want http://host:port or https://host:port; "+
			"for files and databases run `mlflow server --backend-store-uri ...` and give its address", uri)
	}
	return nil
}

// MLflow returns a tracker that writes a run to an MLflow tracking server through its REST interface, without Python.
// The configuration becomes parameters (agent.learning_rate), tracked values become metrics, and the end of the run
// becomes its status (FINISHED, KILLED, FAILED). The file mlflow.json in the run's folder has the id of the run, so
// that a resumed run continues it.
//
// MLflow allows letters, digits and "_-./ :" in names. Parentheses are removed and other characters become "_": "Reward
// / Total reward (mean)" is the metric "Reward / Total reward mean". If two tags would get the same name, the second
// one gets the suffix "_2". Infinite values become the largest finite numbers, as in MLflow.
func MLflow(s MLflowSettings) (Tracker, error) { return newTracker("mlflow", s, openMLflow) }

// The limits of MLflow's server.
const (
	maxMetrics    = 1000 // in a batch
	maxParameters = 100
	maxName       = 250 // characters
	maxParameter  = 6000
	maxTag        = 8000
)

const mlflowFile = "mlflow.json"

// mlflowRun is the content of mlflow.json.
type mlflowRun struct {
	TrackingURI  address `json:"tracking_uri"`
	ExperimentID string  `json:"experiment_id"`
	RunID        string  `json:"run_id"`
}

// mlflow is the sink of a run on a server.
type mlflow struct {
	mlflowServer
	run    mlflowRun
	status string
	names  names
	// parameters and metrics have not been sent.
	parameters []keyValue
	metrics    []mlflowMetric
}

type mlflowMetric struct {
	Key       string `json:"key"`
	Value     any    `json:"value"` // a number, or "NaN"
	Timestamp int64  `json:"timestamp"`
	Step      int64  `json:"step"`
}

type keyValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func openMLflow(ctx context.Context, run Run, s MLflowSettings) (sink tracking.Sink, err error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	client := http.Client{Timeout: 10 * time.Second, Transport: transport}
	m := &mlflow{mlflowServer: mlflowServer{ctx: ctx, client: client, uri: s.uri()}, status: "FINISHED"}
	defer func() {
		if err != nil {
			m.client.CloseIdleConnections()
		}
	}()
	if err := m.uri.checkPassword(); err != nil {
		return nil, err
	}
	file := filepath.Join(run.Dir, mlflowFile)
	if run.Resumed {
		err := m.resume(file)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return m, err
		}
	}
	id, err := m.experiment(cmp.Or(s.ExperimentName, os.Getenv("MLFLOW_EXPERIMENT_NAME"), "Default"))
	if err != nil {
		return nil, err
	}
	if err := m.begin(id, run, s); err != nil {
		return nil, err
	}
	if err := writeRunFile(file, m.run); err != nil {
		return nil, err
	}
	var keys names
	config.Flatten(run.Config, func(key string, value any) {
		m.parameters = append(m.parameters, keyValue{keys.of(key), cut(fmt.Sprint(value), maxParameter)})
	})
	return m, nil
}

// writeRunFile writes the file with the id of a tracker's run.
func writeRunFile(path string, run any) error {
	text, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return err
	}
	err = durable.WriteFile(path, func(w io.Writer) error { _, err := w.Write(append(text, '\n')); return err })
	if err != nil {
		return fmt.Errorf("keeping the id of its run: %w", err)
	}
	return nil
}

// resume continues the run in a file. The error is fs.ErrNotExist if there is none of this server.
func (m *mlflow) resume(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &m.run); err != nil || m.run.RunID == "" {
		return fmt.Errorf("%s names no run; remove it to begin a new one (%w)", file, ErrFinal)
	}
	if m.run.TrackingURI.String() != m.uri.String() {
		return fs.ErrNotExist
	}
	if err := m.call("runs/update", map[string]any{"run_id": m.run.RunID, "status": "RUNNING"}, nil); err != nil {
		return fmt.Errorf("continuing the run of %s: %w", file, err)
	}
	return nil
}

// experiment returns the id of an experiment. It creates a missing one.
func (m *mlflow) experiment(name string) (string, error) {
	var found struct {
		Experiment struct {
			ID    string `json:"experiment_id"`
			Stage string `json:"lifecycle_stage"`
		} `json:"experiment"`
	}
	err := m.get("experiments/get-by-name", url.Values{"experiment_name": {name}}, &found)
	if err == nil {
		if found.Experiment.Stage == "deleted" {
			return "", fmt.Errorf("the experiment %q is deleted; restore it, or give another experiment_name (%w)",
				name, ErrFinal)
		}
		return found.Experiment.ID, nil
	}
	if refused, ok := errors.AsType[*refusal](err); !ok || refused.Code != "RESOURCE_DOES_NOT_EXIST" {
		return "", err
	}
	var made struct {
		ID string `json:"experiment_id"`
	}
	err = m.call("experiments/create", map[string]any{"name": name}, &made)
	if r, ok := errors.AsType[*refusal](err); ok && r.Code == "RESOURCE_ALREADY_EXISTS" { // another run was faster
		err = m.get("experiments/get-by-name", url.Values{"experiment_name": {name}}, &found)
		made.ID = found.Experiment.ID
	}
	return made.ID, err
}

// begin creates the run.
func (m *mlflow) begin(experiment string, run Run, s MLflowSettings) error {
	given := map[string]string{"mlflow.source.name": filepath.Base(os.Args[0]), "mlflow.source.type": "LOCAL"}
	if user := cmp.Or(os.Getenv("USER"), os.Getenv("LOGNAME")); user != "" {
		given["mlflow.user"] = user
	}
	if run.Group != "" {
		given["group"] = run.Group
	}
	maps.Copy(given, s.Tags)
	tags := []keyValue{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		tags = append(tags, keyValue{key, cut(given[key], maxTag)})
	}
	var made struct {
		Run struct {
			Info struct {
				ID string `json:"run_id"`
			} `json:"info"`
		} `json:"run"`
	}
	if err := m.call("runs/create", map[string]any{"experiment_id": experiment, "start_time": time.Now().UnixMilli(),
		"run_name": cmp.Or(s.RunName, run.Name), "tags": tags}, &made); err != nil {
		return err
	}
	if made.Run.Info.ID == "" {
		return fmt.Errorf("%s has made a run without an id; is it an MLflow server? (%w)", m.uri, ErrFinal)
	}
	m.run = mlflowRun{TrackingURI: m.uri, ExperimentID: experiment, RunID: made.Run.Info.ID}
	return nil
}

// Scalar implements [tracking.Sink].
func (m *mlflow) Scalar(tag string, step int64, value float64) {
	m.scalar(tracking.Scalar{Time: time.Now(), Step: step, Tag: tag, Value: value})
}

func (m *mlflow) scalar(s tracking.Scalar) {
	metric := mlflowMetric{Key: m.names.of(s.Tag), Value: s.Value, Timestamp: s.Time.UnixMilli(), Step: s.Step}
	switch {
	case math.IsNaN(s.Value):
		metric.Value = "NaN"
	case math.IsInf(s.Value, 0):
		metric.Value = math.Copysign(math.MaxFloat64, s.Value)
	}
	m.metrics = append(m.metrics, metric)
}

// Flush sends all values. After a failure the next call sends the rest.
func (m *mlflow) Flush() error {
	for len(m.parameters) > 0 {
		n := min(len(m.parameters), maxParameters)
		if err := m.logBatch("params", m.parameters[:n]); err != nil {
			return err
		}
		m.parameters = m.parameters[n:]
	}
	for len(m.metrics) > 0 {
		n := min(len(m.metrics), maxMetrics)
		if err := m.logBatch("metrics", m.metrics[:n]); err != nil {
			return err
		}
		m.metrics = append(m.metrics[:0], m.metrics[n:]...)
	}
	return nil
}

func (m *mlflow) logBatch(kind string, values any) error {
	return m.call("runs/log-batch", map[string]any{"run_id": m.run.RunID, kind: values}, nil)
}

// upload sends files to the run's artifacts, through the server.
func (m *mlflow) upload(dir string, files []string) error {
	var got struct {
		Run struct {
			Info struct {
				URI string `json:"artifact_uri"`
			} `json:"info"`
		} `json:"run"`
	}
	if err := m.get("runs/get", url.Values{"run_id": {m.run.RunID}}, &got); err != nil {
		return err
	}
	place, err := url.Parse(got.Run.Info.URI)
	if err != nil || place.Scheme != "mlflow-artifacts" {
		return fmt.Errorf("the server keeps them in %q and does not pass them on; start it with --serve-artifacts and "+
			"without --default-artifact-root (%w)", got.Run.Info.URI, ErrFinal)
	}
	for _, file := range files {
		if err := m.put(place.JoinPath(file).EscapedPath(), filepath.Join(dir, filepath.FromSlash(file))); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// Finish implements [Finisher].
func (m *mlflow) Finish(err error) {
	switch {
	case errors.Is(err, context.Canceled):
		m.status = "KILLED"
	case err != nil:
		m.status = "FAILED"
	}
}

// Close sets the run's status.
func (m *mlflow) Close() error {
	defer m.client.CloseIdleConnections()
	return m.call("runs/update", map[string]any{"run_id": m.run.RunID, "status": m.status,
		"end_time": time.Now().UnixMilli()}, nil)
}
