package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// description is the JSON of a case of one update.
type description struct {
	Algorithm          string `json:"algorithm"`
	Steps              int    `json:"T"`
	Envs               int    `json:"N"`
	ObservationSize    int    `json:"observation_size"`
	ActionSize         int    `json:"action_size"`
	AMPObservationSize int    `json:"amp_observation_size"`
	Discrete           bool   `json:"discrete_actions"`
	Activation         string `json:"activation"`
	Scalers            bool   `json:"scalers"`

	Config     map[string]any `json:"skrl_config"`
	KLAdaptive map[string]any `json:"kl_adaptive"`
	Expect     struct {
		LearningRate float64            `json:"learning_rate"`
		Tracked      map[string]float64 `json:"tracked"`
	} `json:"expect"`
}

// loadOne reads NAME.json and the NAME.npz beside it.
func loadOne(fsys fs.FS, file string) (*Case, error) {
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, err
	}
	var d description
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&d); err != nil {
		return nil, err
	}
	arrays, err := readNPZ(fsys, strings.TrimSuffix(file, ".json")+".npz")
	if err != nil {
		return nil, err
	}
	c := &Case{
		Name: strings.TrimSuffix(path.Base(file), ".json"), Algorithm: d.Algorithm, Steps: d.Steps, Envs: d.Envs,
		ObservationSize: d.ObservationSize, ActionSize: d.ActionSize, AMPObservationSize: d.AMPObservationSize,
		Discrete: d.Discrete, Activation: d.Activation, Init: map[string]Tensor{},
	}
	if c.Config, err = d.config(); err != nil {
		return nil, err
	}
	u := Update{Rollout: map[string]Tensor{}, Memory: map[string]Tensor{}, Targets: map[string]Tensor{}, State: map[string]Tensor{},
		Tracked: d.Expect.Tracked, LearningRate: d.Expect.LearningRate}
	for _, name := range sortedKeys(arrays) {
		if err := sortIn(c, &u, name, arrays[name]); err != nil {
			return nil, err
		}
	}
	c.Updates = []Update{u}
	return c, c.check()
}

// config brings the configuration into the form that agents read.
func (d *description) config() (map[string]any, error) {
	out := map[string]any{"compatibility": "skrl-2.0", "rollouts": d.Steps}
	for k, v := range d.Config {
		out[k] = v
	}
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
	plain, err := plainNumbers(out)
	if err != nil {
		return nil, err
	}
	return plain.(map[string]any), nil
}

// plainNumbers turns numbers as JSON spells them into int, where they are whole, and float64.
func plainNumbers(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n, nil
		}
		return v.Float64()
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			y, err := plainNumbers(x)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			out[k] = y
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			y, err := plainNumbers(x)
			if err != nil {
				return nil, err
			}
			out[i] = y
		}
		return out, nil
	}
	return v, nil
}

// sortIn puts an array where it belongs. What it does not know is an error, so that nothing goes unchecked.
func sortIn(c *Case, u *Update, name string, x Tensor) error {
	kind, rest, _ := strings.Cut(name, "/")
	switch kind {
	case "init":
		c.Init[rest] = x
	case "rollout":
		u.Rollout[rest] = x
	case "memory":
		u.Memory[rest] = x
	case "motion_batches":
		return place(&u.MotionBatches, rest, x)
	case "replay_batches":
		return place(&u.ReplayBatches, rest, x)
	case "expect":
		part, which, nested := strings.Cut(rest, "/")
		switch {
		case !nested:
			u.Targets[rest] = x
		case part == "optimizer":
			index, moment, _ := strings.Cut(which, "/")
			return placeMoment(&u.Moments, index, moment, x)
		default:
			u.State[rest] = x
		}
	default:
		return fmt.Errorf("array %q is of no known kind", name)
	}
	return nil
}

// place puts x at an index that is given in decimal; names come in the order of strings (10 before 2).
func place(list *[]Tensor, index string, x Tensor) error {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i > 1<<16 {
		return fmt.Errorf("batch number %q: want a small whole number", index)
	}
	for len(*list) <= i {
		*list = append(*list, Tensor{})
	}
	(*list)[i] = x
	return nil
}

func placeMoment(list *[]map[string]Tensor, index, moment string, x Tensor) error {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i > 1<<16 {
		return fmt.Errorf("optimizer parameter %q: want a small whole number", index)
	}
	for len(*list) <= i {
		*list = append(*list, map[string]Tensor{})
	}
	(*list)[i][moment] = x
	return nil
}
