package inspection

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/convert"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/models/description"
)

// Checkpoint is what one file holds.
type Checkpoint struct {
	Stored
	// Kind is for people, e.g. "checkpoint of a trainer".
	Kind string `json:"kind"`
	// Agents are those whose state it is: one, or those of a group.
	Agents []Agent `json:"agents,omitempty"`
	// Trainer says how far training was; nil where no trainer wrote it.
	Trainer *Trainer `json:"trainer,omitempty"`
	// Values are the other plain values, by the keys that lead to them, joined by "/".
	Values map[string]any `json:"values,omitempty"`
	// Metadata are the texts of a safetensors header.
	Metadata map[string]string `json:"metadata,omitempty"`
	Tensors  []Tensor          `json:"tensors"`
	Totals   Totals            `json:"totals"`
}

// Agent is the state of one.
type Agent struct {
	// Class is "PPO" or "AMP", or of another library or one's own.
	Class string `json:"class,omitempty"`
	// Timestep and Updates count what it has done.
	Timestep int64 `json:"timestep"`
	Updates  int64 `json:"updates"`
	// Settings are the hyperparameters that may change while it trains.
	Settings map[string]any `json:"settings,omitempty"`
	// Policy is what it computes; nil where that is not described, and then Undescribed says why.
	Policy      *Policy `json:"policy,omitempty"`
	Undescribed string  `json:"undescribed,omitempty"`
}

// Policy is a described policy, for people.
type Policy struct {
	Observation  string `json:"observation_space"`
	Action       string `json:"action_space"`
	Distribution string `json:"distribution"`
	// Normalized says that observations are standardised first.
	Normalized bool `json:"normalized"`
	// Network is e.g. "4 → 64 tanh → 64 tanh → 2".
	Network string `json:"network"`
	// HiddenSize is the width of the state that it keeps from step to step.
	HiddenSize int `json:"hidden_size,omitempty"`
}

// file describes one file, in the format that its extension says.
func file(path string, o Options) (*Checkpoint, error) {
	switch ext := filepath.Ext(path); ext {
	case dataSuffix, manifestSuffix:
		stored, snap, err := load(path)
		if err != nil {
			return nil, err
		}
		if snap == nil {
			return nil, &checkpoint.DamagedError{Path: path, Reason: stored.Reason}
		}
		return ofSnapshot(stored, snap, o), nil
	case ".pt", ".pth":
		return ofTorch(path, o)
	case ".npz":
	default:
		return nil, fmt.Errorf("inspection: %s: want a name that ends in .safetensors, .json, .jsonl, .pt or .npz, or that "+
			"of a clip (.bvh, .csv, .pkl, .txt), or a folder", path)
	}
	snap, err := convert.Read(path)
	if err != nil {
		return nil, err
	}
	c := ofSnapshot(size(path), snap, o)
	if len(c.Agents) == 0 {
		c.Kind = "NumPy file"
	}
	return c, nil
}

// ofSnapshot describes a snapshot, gorl's or another program's.
func ofSnapshot(stored Stored, snap *checkpoint.Snapshot, o Options) *Checkpoint {
	c := &Checkpoint{Stored: stored, Kind: "safetensors file", Metadata: snap.Metadata}
	c.tensors(snap.Arrays, o)
	values := maps.Clone(snap.Values)
	if values[layout.Alone] == true {
		c.Kind, c.Agents = "policy alone", []Agent{ofAgent(values)}
		delete(values, layout.Alone)
	} else if n, err := snap.Int(layout.GroupSize); err == nil {
		c.Kind = fmt.Sprintf("checkpoint of a group of %d agents", n)
		for i := range min(n, int64(len(values))) {
			key := layout.Member(int(i))
			if own := layout.Map(values, key); own != nil {
				c.Agents = append(c.Agents, ofAgent(own))
				delete(values, key)
			}
		}
	} else if class, err := snap.Text(layout.Agent); err == nil {
		c.Kind, c.Agents = "checkpoint of the agent "+class, []Agent{ofAgent(values)}
	}
	if t := ofTrainer(values[layout.Trainer]); t != nil {
		c.Trainer = t
		if len(c.Agents) == 1 {
			c.Kind = "checkpoint of a trainer of " + c.Agents[0].Class
		}
	}
	for _, shown := range []string{layout.Agent, layout.Hyperparameters, layout.Description, layout.Timestep,
		layout.Updates,
		layout.Trainer, layout.Parameters, layout.Random} {
		if len(c.Agents) > 0 {
			delete(values, shown)
		}
	}
	c.Values = map[string]any{}
	flatten(c.Values, "", values)
	return c
}

// ofAgent describes an agent by the values of its snapshot.
func ofAgent(values map[string]any) Agent {
	a := Agent{}
	a.Class, _ = values[layout.Agent].(string)
	a.Timestep, _ = values[layout.Timestep].(int64)
	a.Updates, _ = values[layout.Updates].(int64)
	a.Settings = maps.Clone(layout.Map(values, layout.Hyperparameters))
	for name, v := range a.Settings {
		a.Settings[name] = writable(v)
	}
	described, ok := values[layout.Description]
	if !ok {
		a.Undescribed = "the checkpoint does not say what the policy computes"
		return a
	}
	p, err := description.Of(described)
	if err != nil {
		a.Undescribed = err.Error()
		return a
	}
	a.Policy = &Policy{
		Observation: p.Observation.String(), Action: p.Action.String(), Distribution: p.Distribution.Kind,
		Normalized: p.Normalizer != nil || slices.ContainsFunc(p.Transforms,
			description.Transform.Normalizes), Network: network(p.Network), HiddenSize: p.Network.HiddenSize(),
	}
	return a
}

// network writes a chain of layers, e.g. "4 → gru 64 → 64 tanh → 2"; of any other network only the number of
// operations.
func network(n description.Network) string {
	parts, last := []string{fmt.Sprint(n.Inputs)}, 0 // last is the result that the next layer must read
	for i, s := range n.Steps {
		from := n.Sources(i)
		scaled := s.Op == description.Div && len(from) == 2 && from[0] == last && from[1] > 0 &&
			n.Steps[from[1]-1].Op == description.Number
		switch chained := len(from) == 1 && from[0] == last; {
		case s.Op == description.Number:
			continue
		case scaled:
			parts[len(parts)-1] += fmt.Sprintf(" / %g", n.Steps[from[1]-1].Number)
		case chained && s.Op == description.Linear:
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s", s.Outputs, s.Activation)))
		case chained && s.Op == description.Conv2d:
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d of %d×%d %s", s.Outputs, s.Kernel[0], s.Kernel[1],
				s.Activation)))
		case chained && s.Recurrent():
			parts = append(parts, fmt.Sprintf("%s %d", s.Op, s.Outputs))
			if layers := len(s.Weights) / 4; layers > 1 {
				parts[len(parts)-1] += fmt.Sprintf(" × %d", layers)
			}
		case chained && s.Op == description.Permute: // the same pixels
		case chained && s.Op == description.Activate:
			parts[len(parts)-1] += " " + s.Activation
		case s.Op == description.Conv2d && len(s.Inputs) == 0:
			p := s.Picture()
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("conv2d %d×%d×%d %s", p[0], p[1], p[2], s.Activation)))
		case s.Op == description.Permute && len(s.Inputs) == 0:
			parts = append(parts, description.Permute)
		case s.Recurrent() && len(s.Inputs) == 0:
			text := fmt.Sprintf("%s %d", s.Op, s.Outputs)
			if layers := len(s.Weights) / 4; layers > 1 {
				text += fmt.Sprintf(" in %d layers", layers)
			}
			parts = append(parts, text)
		default:
			return fmt.Sprintf("%d inputs, %d operations", n.Inputs, len(n.Steps))
		}
		last = i + 1
	}
	return strings.Join(parts, " → ")
}

// longest is the number of values up to which a list is shown. Of longer ones, such as the readings of a metric, only
// the number of values is of interest.
const longest = 16

// under returns the key of a value below the one at a key, which is "" for the root.
func under(at string, key any) string {
	if at == "" {
		return fmt.Sprint(key)
	}
	return fmt.Sprintf("%s/%v", at, key)
}

// flatten puts the plain values of a tree under the keys that lead to them.
func flatten(into map[string]any, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			flatten(into, under(at, key), x)
		}
	case []any:
		if len(v) > longest {
			into[at] = fmt.Sprintf("%d values", len(v))
			return
		}
		for i, x := range v {
			flatten(into, under(at, i), x)
		}
	case nil:
	case string:
		if len(v) > 200 {
			v = fmt.Sprintf("%.40s… (%d bytes)", v, len(v))
		}
		into[at] = v
	default:
		into[at] = writable(v)
	}
}

// writable returns a value that JSON can hold: NaN and the infinities, which checkpoints of other programs may have,
// become a [number.JSON].
func writable(v any) any {
	if x, ok := v.(float64); ok && x-x != 0 {
		return number.JSON(x)
	}
	return v
}

// tensors describes the arrays that the options choose, in the order of their names, and adds up the totals of all.
func (c *Checkpoint) tensors(arrays map[string]checkpoint.Array, o Options) {
	c.Tensors = []Tensor{}
	for _, name := range slices.SortedFunc(maps.Keys(arrays), naturally) {
		chosen := o.Tensor == nil || o.Tensor(name)
		t := tensor(name, arrays[name], o.Stats && chosen)
		c.Totals.Tensors++
		c.Totals.Elements += t.Count
		c.Totals.Bytes += t.Bytes
		c.Totals.NaNs += t.NaNs
		c.Totals.Infinities += t.Infinities
		if chosen {
			c.Tensors = append(c.Tensors, t)
		}
	}
}

// OfGroup returns the snapshot of agent i, from 0, of a checkpoint of a group (trainers.Group). A checkpoint of one
// agent, or a number that the group does not have, is an error.
func OfGroup(snap *checkpoint.Snapshot, i int) (*checkpoint.Snapshot, error) {
	n, err := snap.Int(layout.GroupSize)
	if err != nil {
		return nil, fmt.Errorf("inspection: the checkpoint is of one agent, so it has no member %d", i)
	}
	own, ok := layout.MemberOf(snap, i)
	if !ok {
		return nil, fmt.Errorf("inspection: the checkpoint is of a group of %d agents, 0 to %d; there is no %d", n, n-1, i)
	}
	return own, nil
}
