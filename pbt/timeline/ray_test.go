package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/test/must"
)

type values = map[string]float64

// Three rows: the first chain ends where the second row's target is not the third's source.
const rayFile = `["0_lr=1", "9_lr=1", 5, 5, {"lr": 1}, {"lr": 0.5}]
["3_lr=0.1", "1_lr=0.2", 10, 8, {"lr": 0.2, "env": "Ant"}, {"lr": 0.16, "env": "Ant"}]
["2_lr=0.3", "3_lr=0.1", 20, 20, {"lr": 0.16, "env": "Ant"}, {"lr": 0.2, "env": "Ant"}]
`

func TestReadRay(t *testing.T) {
	got, err := ReadRay(strings.NewReader(rayFile), 1000)
	must.Do(t, err)
	want := Timeline{Steps: 20_000, Phases: []Phase{
		{From: 0, Hyperparameters: values{"learning_rate": 0.2}},
		{From: 8000, Hyperparameters: values{"learning_rate": 0.16}},
		{From: 20_000, Hyperparameters: values{"learning_rate": 0.2}},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for text, want := range map[string]string{
		"": "no rows",
		strings.Replace(rayFile, "20, 20", "20, 7", 1): "give them in ascending order",
	} {
		if _, err := ReadRay(strings.NewReader(text), 1000); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q", text, err, want)
		}
	}
	if _, err := ReadRay(strings.NewReader(rayFile), 0); err == nil {
		t.Error("iterations of no steps")
	}
	if _, err := ReadRay(strings.NewReader(rayFile), math.MaxInt64/2); err == nil {
		t.Error("more steps than can be counted")
	}
}

func TestRayRows(t *testing.T) {
	// As Ray writes them: configurations hold all sorts of things, numbers have no type, and there may be no iteration
	// yet.
	rows, err := readRayRows(strings.NewReader(
		`["0_lr=0.1", "1_lr=0.2", 0, 10, {"lr": 0.1, "env": "Ant", "model": {"hiddens": [64], "std": true}}, {"lr": 1}]

["2", "0", 3.0, 4, {}, {"clip_param": 0.2}]
["cut`))
	want := []rayRow{
		{"0_lr=0.1", "1_lr=0.2", 10, values{"learning_rate": 0.1, "model.hiddens.0": 64, "model.std": 1},
			values{"learning_rate": 1}},
		{"2", "0", 4, values{}, values{"ratio_clip": 0.2}},
	}
	if diff := cmp.Diff(want, rows, cmp.AllowUnexported(rayRow{})); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"[]\n":                           "line 1: want [target tag",
		"[1,\"a\",1,1,{},{}]\n":          "field 1",
		"[\"a\",\"b\",1,0.5,{},{}]\n":    "iteration 0.5",
		"cut\n[\"a\",\"b\",1,1,{},{}]\n": "line 1",
	} {
		if _, err := ReadRay(strings.NewReader(text), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: the error is %v, want %q", text, err, want)
		}
	}
}

// Rows that are read, written with gorl's names and read again are the same.
func FuzzReadRay(f *testing.F) {
	f.Add([]byte(rayFile))
	f.Add(
		[]byte(
			`["a", "b", 1, 2, {"env_config": {"x": [1, {"y": true}], "z": "NaN"}, "a": 1, "a.b": 2}, ` +
				`{"lr": "-Inf", "": 1, ".": 2, "lambda_": 3}]` + "\n"))
	f.Add([]byte(`["a", "b", 1, 2, {"lambda": 1, "lambda_": 2, "a": {"b": 3}, "a.b": 4}, {}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := ReadRay(bytes.NewReader(data), 10); err == nil && s.Validate() != nil {
			t.Errorf("%+v: %v", s, s.Validate())
		}
		rows, err := readRayRows(bytes.NewReader(data))
		if err != nil {
			return
		}
		var written []byte
		for _, r := range rows {
			line, err := json.Marshal([]any{r.target, r.source, 0, r.iteration, plain(r.before), plain(r.after)})
			must.Do(t, err)
			written = append(append(written, line...), '\n')
		}
		again, err := readRayRows(bytes.NewReader(written))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, written)
		}
		if diff := cmp.Diff(rows, again, cmp.AllowUnexported(rayRow{}), cmpopts.EquateNaNs(),
			cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("-read +read again:\n%s\n%s", diff, written)
		}
	})
}

// plain is a configuration as JSON holds it: numbers that it cannot hold are texts.
func plain(values map[string]float64) map[string]any {
	m := make(map[string]any, len(values))
	for key, v := range values {
		m[key] = v
		if math.IsNaN(v) || math.IsInf(v, 0) {
			m[key] = fmt.Sprint(v)
		}
	}
	return m
}
