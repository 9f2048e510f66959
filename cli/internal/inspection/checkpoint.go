package inspection

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/convert"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tracking/aggregate"
)

// Checkpoint is what one file holds.
type Checkpoint struct {
	Stored
	// Kind is for people, for example "checkpoint of a trainer of PPO".
	Kind string `json:"kind"`
	// Agents are the agents whose state the file holds: one, or those of a group.
	Agents []Agent `json:"agents,omitempty"`
	// Trainer is the trainer's part. It is nil if no trainer wrote the file.
	Trainer *Trainer `json:"trainer,omitempty"`
	// Values are the other plain values, by their dotted keys.
	Values map[string]any `json:"values,omitempty"`
	// Metadata are the texts of a safetensors header.
	Metadata map[string]string `json:"metadata,omitempty"`
	Tensors  []Tensor          `json:"tensors"`
	Totals   Totals            `json:"totals"`
}

// Agent is the state of one agent.
type Agent struct {
	// Name is the agent's name among those of IPPO and MAPPO, such as that of its seat.
	Name string `json:"name,omitempty"`
	// Class is "PPO" or "AMP", or the name of a user's own class.
	Class string `json:"class,omitempty"`
	// Timestep counts the timesteps acted, Updates the updates done.
	Timestep int64 `json:"timestep"`
	Updates  int64 `json:"updates"`
	// Settings are the hyperparameters that may change during training.
	Settings map[string]any `json:"settings,omitempty"`
	// Policy describes what the policy computes. If it is nil, Undescribed says why.
	Policy      *Policy `json:"policy,omitempty"`
	Undescribed string  `json:"undescribed,omitempty"`
}

// Policy describes a policy for people.
type Policy struct {
	Observation  string `json:"observation_space"`
	Action       string `json:"action_space"`
	Distribution string `json:"distribution"`
	// Normalized reports whether the policy standardises observations.
	Normalized bool `json:"normalized"`
	// HiddenSize is the width of the state that a recurrent policy keeps from step to step.
	HiddenSize int `json:"hidden_size,omitempty"`
}

// Trainer is the trainer's part of a checkpoint.
type Trainer struct {
	Timestep int64 `json:"timestep"`
	// Best is the best value so far of the metric that chooses the best checkpoint.
	Best *number.JSON `json:"best,omitempty"`
	// Metrics are the latest values. Those of episodes are means over the last 100 episodes.
	Metrics number.Map `json:"metrics,omitempty"`
}

// formats are the kinds of files by their extensions.
var formats = map[string]string{dataSuffix: "safetensors file", manifestSuffix: "safetensors file",
	".pt": "PyTorch file", ".pth": "PyTorch file", ".npz": "NumPy file"}

// file describes one file, in the format of its extension.
func file(path string, o Options) (*Checkpoint, error) {
	ext := filepath.Ext(path)
	kind, ok := formats[ext]
	if !ok {
		return nil, fmt.Errorf("inspection: %s: want a name that ends in .safetensors, .json, .jsonl, .pt or .npz, "+
			"or that of a clip (.bvh, .csv, .pkl, .txt), or a folder", path)
	}
	if ext == dataSuffix || ext == manifestSuffix {
		saved, err := checkpoint.Load(path)
		if err == nil {
			s, err := stored(saved.Path, saved.Manifest, nil)
			return ofSnapshot(s, kind, saved.Snapshot, o), err
		}
		if !errors.Is(err, checkpoint.ErrUncommitted) {
			return nil, err
		}
	}
	snap, err := convert.Read(path)
	if err != nil {
		return nil, err
	}
	s, _ := stored(path, checkpoint.Manifest{}, checkpoint.ErrUncommitted) // which is no error of reading
	return ofSnapshot(s, kind, snap, o), nil
}

// ofSnapshot describes a snapshot of gorl, or of another program as a file of a kind.
func ofSnapshot(s Stored, kind string, snap *checkpoint.Snapshot, o Options) *Checkpoint {
	c := &Checkpoint{Stored: s, Kind: kind, Metadata: snap.Metadata, Values: map[string]any{}}
	c.addTensors(snap.Arrays, o)
	values := maps.Clone(snap.Values)
	if values[layout.Alone] == true {
		c.Kind, c.Agents = "policy alone", []Agent{ofAgent(values)}
		delete(values, layout.Alone)
	} else if n, err := snap.Int(layout.GroupSize); err == nil {
		c.Kind = fmt.Sprintf("checkpoint of a group of %d agents", n)
		names := layout.NamesIn(snap)
		if names != nil {
			class, _ := snap.Text(layout.Agent)
			c.Kind = fmt.Sprintf("checkpoint of %s with the agents %v", class, names)
		}
		for i := range int(min(n, int64(len(values)))) { // n may be any number in a damaged file
			if own := layout.Map(values, layout.Member(i)); own != nil {
				a := ofAgent(own)
				if i < len(names) {
					a.Name = names[i]
				}
				c.Agents = append(c.Agents, a)
				delete(values, layout.Member(i))
			}
		}
	} else if class, err := snap.Text(layout.Agent); err == nil {
		c.Kind, c.Agents = "checkpoint of the agent "+class, []Agent{ofAgent(values)}
	}
	if t := layout.Map(values, layout.Trainer); t != nil {
		c.Trainer = ofTrainer(t)
		if len(c.Agents) == 1 && c.Agents[0].Name == "" {
			c.Kind = "checkpoint of a trainer of " + c.Agents[0].Class
		}
	}
	if len(c.Agents) > 0 {
		for _, shown := range []string{layout.Agent, layout.Hyperparameters, layout.Description, layout.Timestep,
			layout.Updates, layout.Trainer, layout.Parameters, layout.Random, layout.GroupNames} {
			delete(values, shown)
		}
	}
	config.Flatten(values, func(key string, value any) {
		if text, ok := value.(string); ok && len(text) > 200 {
			value = fmt.Sprintf("%.40s… (%d bytes)", text, len(text))
		}
		c.Values[key] = value
	})
	return c
}

// ofAgent describes an agent by the values of its snapshot.
func ofAgent(values map[string]any) (a Agent) {
	a.Class, _ = values[layout.Agent].(string)
	a.Timestep, _ = values[layout.Timestep].(int64)
	a.Updates, _ = values[layout.Updates].(int64)
	a.Settings = layout.Map(values, layout.Hyperparameters)
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
	normalized := p.Normalizer != nil || slices.ContainsFunc(p.Transforms, description.Transform.Normalizes)
	a.Policy = &Policy{p.Observation.String(), p.Action.String(), p.Distribution.Kind, normalized,
		p.Network.HiddenSize()}
	return a
}

// ofTrainer describes a trainer by its values in a snapshot.
func ofTrainer(values map[string]any) *Trainer {
	t := &Trainer{Metrics: number.Map{}}
	t.Timestep, _ = values["timestep"].(int64)
	t.Best = number.Optional(toFloat(values["best"]))
	for _, kind := range []string{"steps", "tracked", "episodes"} {
		for name := range layout.Map(values, kind) {
			list, count := readings(layout.Map(layout.Map(values, kind), name))
			switch n := int64(len(list)); {
			case n == 0 || count < n: // not a metric
			case kind == "episodes":
				t.Metrics[name] = aggregate.Mean(list)
			default:
				t.Metrics[name] = list[(count-1)%n]
			}
		}
	}
	return t
}

// readings returns the latest values of a metric, and how many it has had. The values lie in a ring buffer: value k is
// at k modulo its length.
func readings(metric map[string]any) (latest []float64, count int64) {
	list, _ := metric["values"].([]any)
	for _, v := range list {
		x, ok := toFloat(v)
		if !ok {
			return nil, 0
		}
		latest = append(latest, x)
	}
	count, _ = metric["count"].(int64)
	return latest, count
}

func toFloat(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, true
	case int64:
		return float64(x), true
	case uint64:
		return float64(x), true
	}
	return 0, false
}
