//go:build cgo

package onnx_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/infer/onnx"
	"github.com/gorl-dev/gorl/internal/test/actors"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// batches of observations are compared for every kind of policy.
const batches = 100

// compared is one kind of policy with what its agent does.
type compared struct {
	actors.Case
	policy *infer.Policy
	base   string
	played actors.Played // by the agent
}

// transformed is a policy behind the wrappers normalize_observation and clip_observation: the model reads raw
// observations, the agent what the wrappers made of them.
func transformed(t *testing.T, dir string, i int, c actors.Case) compared {
	t.Helper()
	c.Name += "/transformed"
	w := c.Spaces.Observation.Width()
	mean, variance := make([]float64, w), make([]float64, w)
	for j := range w {
		mean[j], variance[j] = 20*float64(j)-40, 0.01+float64(j*j)
	}
	return prepare(t, dir, i, c, func(snap *checkpoint.Snapshot) {
		d := must.Get(description.Of(snap.Values[layout.Description]))(t)
		d.Transforms = []description.Transform{{Mean: "m", Variance: "v", Epsilon: 1e-8}, {Low: -1.25, High: 2}}
		snap.Values[layout.Description] = d.Values()
		snap.Arrays["m"] = checkpoint.ArrayFloat64([]int64{int64(w)}, mean)
		snap.Arrays["v"] = checkpoint.ArrayFloat64([]int64{int64(w)}, variance)
	}, func(rows []float32) (behind []float32) {
		for k := range rows { // raw rows, of which the drawn ones are roughly what the agent sees
			j := k % w
			rows[k] = float32(mean[j] + float64(rows[k])*math.Sqrt(variance[j]))
			x := (float64(rows[k]) - mean[j]) / math.Sqrt(variance[j]+1e-8)
			behind = append(behind, float32(min(max(x, -1.25), 2)))
		}
		return behind
	})
}

// TestPeersOnnxruntime compares onnxruntime and package infer with agents, for every kind of policy.
func TestPeersOnnxruntime(t *testing.T) {
	python := peers.Python(t, "onnx", "onnxruntime")
	dir := t.TempDir()
	var list []compared
	for i, c := range actors.Cases() {
		list = append(list, prepare(t, dir, i, c, func(*checkpoint.Snapshot) {}, nil))
	}
	for _, c := range actors.Cases() {
		if c.Name == "tanh/ppo" || c.Name == "tanh/ppo/scaled" {
			list = append(list, transformed(t, dir, len(list), c))
		}
	}
	peers.Run(t, python, filepath.Join("testdata", "peer.py"), dir, fmt.Sprint(actors.Rows))
	for _, c := range list {
		t.Run(c.Name, c.check)
	}
}

// prepare lets an agent act, and writes its model, of the changed snapshot, and its observations. The agent is given
// what behind makes of rows, which may change the rows themselves; nil makes nothing of them.
func prepare(t *testing.T, dir string, i int, c actors.Case, change func(*checkpoint.Snapshot),
	behind func(rows []float32) []float32) compared {
	t.Helper()
	agent := c.New(t, int64(i))
	snap := must.Get(agent.Snapshot(agents.SnapshotOptions{}))(t)
	change(snap)
	x := compared{Case: c, policy: must.Get(infer.FromSnapshot(snap))(t),
		base: filepath.Join(dir, fmt.Sprintf("%02d", i))}
	must.Do(t, onnx.WriteFile(x.base+".onnx", x.policy, onnx.Options{}))
	x.played = c.Play(t, agent, rand.New(rand.NewPCG(uint64(i), 9)), batches, behind)
	observations := must.Get(binary.Append(nil, binary.LittleEndian, x.played.Observations))(t)
	masks := must.Get(binary.Append(nil, binary.LittleEndian, x.played.Masks))(t)
	for suffix, data := range map[string][]byte{".in": observations, ".masks": masks, ".ended": x.played.Ended} {
		must.Do(t, os.WriteFile(x.base+suffix, data, 0o644))
	}
	return x
}

func (c compared) output(t *testing.T, name string, width int) []float32 {
	t.Helper()
	data := must.Get(os.ReadFile(c.base + "." + name + ".out"))(t)
	v := make([]float32, len(data)/4)
	must.Do(t, binary.Read(bytes.NewReader(data), binary.LittleEndian, v))
	must.Is(t, len(v), batches*actors.Rows*width, "%q", name)
	return v
}

const tolerance = 1e-5

func (c compared) check(t *testing.T) {
	a, w := c.Spaces.Action, c.Spaces.Observation.Width()
	actions := c.output(t, "actions", a.Width())
	worst, own := 0.0, 0.0
	mine := must.Get(c.played.Replay(c.policy))(t)
	if a.Kind == spaces.Box {
		for i, x := range mine {
			own = max(own, math.Abs(float64(x-c.played.Actions[i])))
		}
		for i, x := range actions {
			worst = max(worst, math.Abs(float64(x-c.played.Actions[i])))
		}
		logStd := c.output(t, "log_std", a.Width())
		c.output(t, "mean", a.Width())
		want := make([]float32, a.Width())
		for i, x := range logStd {
			r := i / a.Width()
			if i%a.Width() == 0 {
				must.Do(t, c.policy.LogStdAt(c.played.Observations[r*w:(r+1)*w], want))
			}
			worst = max(worst, math.Abs(float64(x-want[i%a.Width()])))
		}
	} else {
		n, m := a.Outputs(), c.Spaces.ActionMask.Width()
		logits, probabilities := c.output(t, "logits", n), c.output(t, "probabilities", n)
		want, q := make([]float32, n), make([]float32, n)
		for r := range len(c.played.Observations) / w {
			x := c.played.Observations[r*w : (r+1)*w]
			must.Do(t, c.policy.Outputs(x, want))
			must.Do(t, c.policy.ProbabilitiesMasked(x, c.played.Masks[r*m:(r+1)*m], q))
			for k := range n {
				worst = max(worst, math.Abs(float64(logits[r*n+k]-want[k])),
					math.Abs(float64(probabilities[r*n+k]-q[k])))
			}
			at := 0
			for k, choices := range a.NVec { // two choices may be equally probable
				i := r*a.Width() + k
				agent := float64(want[at+int(c.played.Actions[i])])
				worst = max(worst, math.Abs(float64(want[at+int(actions[i])])-agent))
				own = max(own, math.Abs(float64(want[at+int(mine[i])])-agent))
				at += choices
			}
		}
	}
	t.Logf("%d observations: onnxruntime differs by at most %.2g, infer by %.2g", len(c.played.Observations)/w, worst,
		own)
	if !(worst <= tolerance && own <= tolerance) {
		t.Errorf("onnxruntime differs by up to %g, infer by %g, want at most %g", worst, own, tolerance)
	}
}
