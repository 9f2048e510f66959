package models_test

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/golden"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// modelCase is what a case of skrl_models says beside its arrays.
type modelCase struct {
	Kind        string                 `json:"kind"`
	Observation *modelSpace            `json:"observation_space"`
	State       *modelSpace            `json:"state_space"`
	Action      *modelSpace            `json:"action_space"`
	Network     []any                  `json:"network"`
	Output      string                 `json:"output"`
	Kwargs      map[string]any         `json:"kwargs"`
	Choices     int                    `json:"num_observations"`
	Width       int                    `json:"occupied_size"`
	Batch       int64                  `json:"batch"`
	Expect      struct{ Loss float64 } `json:"expect"`
}

// modelSpace is a space as the cases write it.
type modelSpace struct {
	Type, DType string
	Shape       []int
	N           int
	NVec        []int
	Spaces      json.RawMessage
}

func (m *modelSpace) space(t *testing.T) spaces.Space {
	t.Helper()
	switch {
	case m == nil:
		return spaces.Space{}
	case m.Type == "Discrete":
		return spaces.NewDiscrete(m.N)
	case m.Type == "MultiDiscrete":
		return spaces.NewMultiDiscrete(m.NVec...)
	case m.Type == "Box" && m.DType == "uint8":
		return spaces.Space{Kind: spaces.Box, Shape: m.Shape, DType: spaces.Uint8}
	case m.Type == "Box":
		return spaces.Unbounded(m.Shape...)
	case m.Type == "Dict":
		var parts map[string]*modelSpace
		must(t, json.Unmarshal(m.Spaces, &parts))
		entries := map[string]spaces.Space{}
		for name, p := range parts {
			entries[name] = p.space(t)
		}
		return spaces.NewDict(entries)
	}
	var parts []*modelSpace
	must(t, json.Unmarshal(m.Spaces, &parts))
	var entries []spaces.Space
	for _, p := range parts {
		entries = append(entries, p.space(t))
	}
	return spaces.NewTuple(entries...)
}

// TestGoldenModels builds the networks that skrl has built and compares outputs, log-probabilities, gradients, and
// parameters after one step of Adam.
func TestGoldenModels(t *testing.T) {
	golden.Models(t, os.DirFS("testdata"), func(t *testing.T, about []byte, arrays map[string]golden.Tensor) {
		var c modelCase
		must(t, json.Unmarshal(about, &c))
		sp := spaces.Set{Observation: c.Observation.space(t), State: c.State.space(t), Action: c.Action.space(t)}
		check.Is(t, sp.Observation.Width(), c.Width, "columns of %v", sp.Observation)
		check.Is(t, sp.Observation.Outputs(), c.Choices, "columns of %v in one-hot", sp.Observation)
		dict := map[string]any{"class": c.Kind, "network": c.Network, "output": c.Output}
		maps.Copy(dict, c.Kwargs)
		spec := check.Get(models.ParseSpec(dict))(t)
		p := part{t, arrays, golden.NewComparison(t), tensor.NewScope()}
		defer p.s.Close()
		in := models.Inputs{Observations: p.rows("input/flat")}
		if sp.State.Kind != spaces.None {
			in.States = p.rows("input/states_flat")
		}
		var params []tensor.Parameter
		var forward func() (out, loss tensor.Tensor)
		weights := p.rows("input/weights")
		if c.Kind == "deterministic" {
			net := tensortest.Opened[models.Network](t)(spec.BuildNetwork(sp, 1))
			params = net.Parameters()
			forward = func() (out, loss tensor.Tensor) {
				out = net.Forward(p.s, in)
				return out, p.s.Sum(p.s.Mul(out, weights))
			}
		} else {
			policy := tensortest.Opened[models.Policy](t)(spec.BuildPolicy(sp, 1))
			params = policy.Parameters()
			actions := p.get("input/actions")
			taken := tensor.From(p.s, actions.Float32s(), c.Batch, int64(sp.Action.Width()))
			forward = func() (out, loss tensor.Tensor) {
				out = policy.(*models.Stochastic).Net.Forward(p.s, in)
				logProb := policy.(*models.Stochastic).Dist.Evaluate(p.s, out, taken).LogProb
				p.check("expect/log_prob", logProb)
				return out, p.s.Add(p.s.Sum(p.s.Mul(out, weights)), p.s.Sum(logProb))
			}
		}
		// skrl's names have "_container" after the container's.
		given := 0
		for name := range arrays {
			if strings.HasPrefix(name, "init/policy/") {
				given++
			}
		}
		check.Is(t, len(params), given, "number of parameters")
		theirs := func(name string) string {
			if container, rest, ok := strings.Cut(name, "."); ok {
				return container + "_container." + rest
			}
			return name
		}
		for _, q := range params {
			must(t, tensor.Write(q.Tensor, p.get("init/policy/"+theirs(q.Name)).Float32s()))
		}
		flat := tensortest.Opened[*tensor.Flat](t)(tensor.NewFlat(params, tensor.CPU))
		adam := tensortest.Opened[*tensor.Optimizer](t)(tensor.NewOptimizer(flat, tensor.OptimizerConfig{},
			[]tensor.Group{{Begin: 0, End: flat.Len(), LearningRate: 1e-3}}, nil))
		out, loss := forward()
		p.check("expect/output", out)
		flat.ZeroGrad(p.s)
		p.s.Backward(loss)
		value := check.Get(tensor.Item(loss))(t)
		p.compare.Scalar("loss", value, c.Expect.Loss)
		each := func(kind string, of tensor.Tensor) {
			for _, e := range flat.Entries() {
				values := check.Get(tensor.Float32s(p.s.Narrow(of, 0, e.Offset, e.Size)))(t)
				golden.Compare(p.compare, kind+e.Name, values, p.get(kind+theirs(e.Name)))
			}
		}
		each("expect/gradient/", flat.Grads)
		adam.Step(p.s)
		each("expect/policy/", flat.Values)
		must(t, p.s.Err())
	})
}
