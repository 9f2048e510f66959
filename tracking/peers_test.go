package tracking_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/tracking"
)

// specials are values that single precision rounds, or rounds to 0 or to infinity, and values of every kind.
var specials = []float64{0, math.Copysign(0, -1), 1, -1, 0.1, math.Pi, 1 << 24, 1<<24 + 1, math.SmallestNonzeroFloat32,
	-math.SmallestNonzeroFloat32, math.SmallestNonzeroFloat64, math.MaxFloat32, math.MaxFloat64, math.Inf(1),
	math.Inf(-1),
	math.NaN()}

var peculiar = []string{"Reward / Total reward (mean)", "Größe/速度 🚶", "a \"quoted\" <b>tag</b> & 100% ?x=1#y",
	"../up\\and/down", "no UTF-8: \xff\xfe", "tab\tand\nline", strings.Repeat("long ", 200), "x"}

// curves are the values of tags by run. A value is a line of step, wall time and value without loss, so that -0 and NaN
// compare as well.
type curves map[string]map[string][]string

func (c curves) add(run, tag string, step int64, at, value float64) {
	if c[run] == nil {
		c[run] = map[string][]string{}
	}
	c[run][tag] = append(c[run][tag], fmt.Sprintf("step %d at %x: %x", step, at, value))
}

// TensorBoard's own reader finds the tags, steps, wall times and values that were written, also in a run that was
// interrupted within a record and resumed twice.
func TestPeersEventAccumulator(t *testing.T) {
	python := peers.Python(t, "tensorboard")
	dir, now, want := t.TempDir(), time.UnixMicro(1_700_000_000_000_001), curves{}
	const interrupted = "members/αβγ run 1"
	write := func(run string, resume, from, to, every, kept int64) {
		r := must.Get(tracking.OpenRun(filepath.Join(dir, run),
			tracking.Options{Now: func() time.Time { return now }, ResumeStep: resume}))(t)
		for step := from; step < to; step += every {
			for i, tag := range peculiar {
				now = now.Add(1_234_567 * time.Microsecond)
				value := specials[(int(step/every)+i)%len(specials)]
				r.Scalar(tag, step, value)
				if step <= kept { // later steps are discarded by the resume that follows
					want.add(run, strings.ToValidUTF8(tag, "\uFFFD"), step, float64(now.UnixMicro())/1e6,
						float64(float32(value)))
				}
			}
		}
		must.Do(t, r.Close())
	}
	write(interrupted, 0, 0, 400, 1, 300)
	files, err := filepath.Glob(filepath.Join(dir, interrupted, "*tfevents*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	whole := must.Read(t, files[0])
	must.Do(t, os.WriteFile(files[0], append(whole, whole[:20]...), 0o644))
	write(interrupted, 300, 301, 600, 1, 600)
	write(interrupted, 5_000_000_000, 5_000_000_001, 6_000_000_000, 10_000_000, math.MaxInt64)
	write(".", 0, -1, 5_000, 7, math.MaxInt64) // the folder itself is a run, too

	var runs map[string]map[string][][3]any
	path := filepath.Join(t.TempDir(), "runs.json")
	peers.Run(t, python, "testdata/accumulator.py", dir, path)
	text := must.Read(t, path)
	must.Do(t, json.Unmarshal(text, &runs))
	got := curves{}
	for run, tags := range runs {
		for tag, rows := range tags {
			for _, row := range rows {
				got.add(run, tag, int64(row[0].(float64)), number(t, row[1]), number(t, row[2]))
			}
		}
	}
	must.Equal(t, "what TensorBoard reads", want, got)
}

// TensorBoard's plugins show the configuration: the tab TEXT a table, and the tab HPARAMS numbers as numbers, and how
// the run ended. Its steps are environment steps.
func TestPeersHyperparameters(t *testing.T) {
	python := peers.Python(t, "tensorboard")
	dir := t.TempDir()
	for name, ended := range map[string]error{"good": nil, "bad": errors.New("it failed")} {
		r := must.Get(tracking.OpenRun(filepath.Join(dir, name),
			tracking.Options{StepsPerTimestep: 8, Config: map[string]any{
				"seed": 3, "agent": map[string]any{"learning_rate": 3e-4, "class": "PPO", "a|b": true,
					"layers": []any{4, 2}}}}))(t)
		r.Scalar(tracking.TagReturn, 10_240, 7)
		r.Finish(ended)
		must.Do(t, r.Close())
	}
	var got map[string]any
	must.Do(t, json.Unmarshal([]byte(peers.Run(t, python, "testdata/hparams.py", dir)), &got))
	const table = "|param|value|\n|-|-|\n|agent.a\\|b|true|\n|agent.class|PPO|\n|agent.layers|[4,2]|\n" +
		"|agent.learning_rate|0.0003|\n|seed|3|\n"
	params := map[string]any{"seed": 3.0, "agent.learning_rate": 3e-4, "agent.class": "PPO", "agent.a|b": true,
		"agent.layers": "[4,2]"}
	want := map[string]any{}
	for name, status := range map[string]string{"good": "STATUS_SUCCESS", "bad": "STATUS_FAILURE"} {
		want[name] = map[string]any{"text": table, "hparams": params, "status": status, "return": 7.0, "step": 81_920.0}
	}
	must.Equal(t, "what TensorBoard reads", want, got)
}

// number reads a number of JSON, or a string with one.
func number(t *testing.T, x any) float64 {
	t.Helper()
	if f, ok := x.(float64); ok {
		return f
	}
	f, err := strconv.ParseFloat(fmt.Sprint(x), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		t.Fatal(err)
	}
	return f
}
