package agents_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/internal/test/golden"
	"github.com/gorl-dev/gorl/models"
)

// updateCase is the JSON of a case of one update.
type updateCase struct {
	Algorithm          string `json:"algorithm"`
	Steps              int    `json:"T"`
	Envs               int    `json:"N"`
	ObservationSize    int    `json:"observation_size"`
	ActionSize         int    `json:"action_size"`
	AMPObservationSize int    `json:"amp_observation_size"`
	Discrete           bool   `json:"discrete_actions"`
	Activation         string `json:"activation"`
	Scalers            bool   `json:"scalers"`

	Versions struct {
		SKRL string `json:"skrl"`
	} `json:"versions"`
	Recurrent struct {
		Type           string `json:"type"`
		HiddenSize     int    `json:"hidden_size"`
		Layers         int    `json:"num_layers"`
		SequenceLength int    `json:"sequence_length"`
	} `json:"rnn"`
	WorldSize int  `json:"world_size"`
	WarmSteps int  `json:"warm_steps"`
	Repaired  bool `json:"repaired"`

	Config     map[string]any `json:"skrl_config"`
	KLAdaptive map[string]any `json:"kl_adaptive"`
	Expect     struct {
		LearningRate float64            `json:"learning_rate"`
		Tracked      map[string]float64 `json:"tracked"`
	} `json:"expect"`
}

// loadOne reads NAME.json and the NAME.npz beside it.
func loadOne(fsys fs.FS, file string) (*goldenCase, error) {
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, err
	}
	var d updateCase
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	d.Algorithm = strings.TrimSuffix(d.Algorithm, "_distributed")
	arrays, err := golden.ReadNPZ(fsys, strings.TrimSuffix(file, ".json")+".npz")
	if err != nil {
		return nil, err
	}
	c := &goldenCase{
		Name: strings.TrimSuffix(path.Base(file), ".json"), Algorithm: d.Algorithm, Steps: d.Steps, Envs: d.Envs,
		ObservationSize: d.ObservationSize, ActionSize: d.ActionSize, AMPObservationSize: d.AMPObservationSize,
		Discrete: d.Discrete, Activation: d.Activation, Config: d.config(), Init: map[string]golden.Tensor{},
		Ranks: max(1, d.WorldSize),
		Recurrent: models.RecurrentLayer{Kind: d.Recurrent.Type, HiddenSize: d.Recurrent.HiddenSize,
			Layers: d.Recurrent.Layers},
		WarmSteps: d.WarmSteps, Repaired: d.Repaired, Hidden: map[string]golden.Tensor{},
	}
	u := goldenUpdate{Rollout: map[string]golden.Tensor{}, Memory: map[string]golden.Tensor{},
		Targets: map[string]golden.Tensor{}, State: map[string]golden.Tensor{},
		Before: map[string]golden.Tensor{}, Stored: map[string]golden.Tensor{}, After: map[string]golden.Tensor{},
		Tracked: d.Expect.Tracked, LearningRate: d.Expect.LearningRate}
	for _, name := range sortedKeys(arrays) {
		if err := sortIn(c, &u, name, arrays[name]); err != nil {
			return nil, err
		}
	}
	if c.Config["learning_epochs"] != nil {
		u.Epochs, _ = c.Config["learning_epochs"].(int)
	}
	c.Updates = []goldenUpdate{u}
	return c, c.check()
}

// config brings the configuration into the form that agents read.
func (d *updateCase) config() map[string]any {
	out := map[string]any{"compatibility": "skrl-2.0", "rollouts": d.Steps,
		"sequence_length": d.Recurrent.SequenceLength}
	if strings.HasPrefix(d.Versions.SKRL, "2.1.") {
		out["compatibility"] = "skrl-2.1"
	}
	maps.Copy(out, d.Config)
	if d.KLAdaptive != nil {
		out["learning_rate_scheduler"] = "KLAdaptiveLR"
		out["learning_rate_scheduler_kwargs"] = d.KLAdaptive
	}
	if d.Scalers {
		out["observation_preprocessor"] = "RunningStandardScaler"
		out["value_preprocessor"] = "RunningStandardScaler"
		if d.Algorithm == "amp" {
			out["amp_observation_preprocessor"] = "RunningStandardScaler"
		}
	}
	return whole(out).(map[string]any)
}

// whole turns the whole numbers of a JSON document, which are float64, into int, as settings that count want them.
func whole(v any) any {
	switch v := v.(type) {
	case float64:
		if v == float64(int(v)) {
			return int(v)
		}
	case map[string]any:
		for k, x := range v {
			v[k] = whole(x)
		}
	case []any:
		for i, x := range v {
			v[i] = whole(x)
		}
	}
	return v
}

// sortIn puts an array where it belongs. What it does not know is an error, so that nothing goes unchecked.
func sortIn(c *goldenCase, u *goldenUpdate, name string, x golden.Tensor) error {
	kind, rest, _ := strings.Cut(name, "/")
	if states, ok := strings.CutPrefix(rest, "rnn_"); ok { // of networks with memory
		before := strings.Replace(states, "_before_", "_", 1)
		of := map[string]map[string]golden.Tensor{"init": c.Hidden, "rollout": u.Before, "memory": u.Stored,
			"expect": u.After}[kind]
		if of == nil || (kind == "rollout") != (before != states) {
			return fmt.Errorf("array %q is of no known kind", name)
		}
		of[before] = x
		return nil
	}
	switch kind {
	case "init":
		c.Init[rest] = x
	case "before_broadcast": // what a rank began with; TestRanks shows that it does not matter
	case "rollout":
		u.Rollout[rest] = x
	case "memory":
		u.Memory[rest] = x
	case "minibatch_rows":
		return place(&u.MinibatchRows, rest, func(slot *golden.Tensor) { *slot = x })
	case "motion_batches":
		return place(&u.MotionBatches, rest, func(slot *golden.Tensor) { *slot = x })
	case "replay_batches":
		return place(&u.ReplayBatches, rest, func(slot *golden.Tensor) { *slot = x })
	case "expect":
		part, which, nested := strings.Cut(rest, "/")
		switch {
		case !nested:
			u.Targets[rest] = x
		case part == "optimizer":
			index, moment, _ := strings.Cut(which, "/")
			return place(&u.Moments, index, func(slot *map[string]golden.Tensor) {
				if *slot == nil {
					*slot = map[string]golden.Tensor{}
				}
				(*slot)[moment] = x
			})
		default:
			u.State[rest] = x
		}
	default:
		return fmt.Errorf("array %q is of no known kind", name)
	}
	return nil
}

// place has put fill the slot at an index that is given in decimal; names come in the order of strings (10 before 2).
func place[T any](list *[]T, index string, put func(slot *T)) error {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i > 1<<16 {
		return fmt.Errorf("number %q of a batch or a parameter: want a small whole number", index)
	}
	if len(*list) <= i {
		*list = append(*list, make([]T, i+1-len(*list))...)
	}
	put(&(*list)[i])
	return nil
}
