package agents_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/gorl-dev/gorl/internal/test/golden"
)

// trace is the JSON of a case of several updates.
type trace struct {
	Kind    string            `json:"kind"`
	Config  map[string]any    `json:"cfg"`
	Updates []json.RawMessage `json:"updates"`
}

type tracedUpdate struct {
	Rollout    []map[string]json.RawMessage `json:"rollout"`
	Memory     map[string]golden.Tensor     `json:"memory_before"`
	Returns    golden.Tensor                `json:"returns"`
	Advantages golden.Tensor                `json:"advantages"`
	Values     golden.Tensor                `json:"values_after"`
	Trace      []goldenStep                 `json:"trace"`
	Rates      []float64                    `json:"lr"`
	Tracked    map[string][]float64         `json:"tracked"`
	Motions    *golden.Tensor               `json:"motion_dataset"`
	MotionRows []int                        `json:"motion_indexes"`
	ReplayRows []int                        `json:"reply_indexes"`
}

// loadSeveral reads a case of several updates.
func loadSeveral(fsys fs.FS, file string) (*goldenCase, error) {
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, err
	}
	var d trace
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	c := &goldenCase{Name: strings.TrimSuffix(path.Base(file), ".json"), Algorithm: d.Kind, Activation: "elu"}
	if c.Config, err = pythonConfig(d.Config); err != nil {
		return nil, err
	}
	if c.Init, err = readState(data, "init/"); err != nil {
		return nil, err
	}
	var replay []golden.Tensor // every earlier rollout's AMP observations, by row
	for i, raw := range d.Updates {
		var traced tracedUpdate
		if err := json.Unmarshal(raw, &traced); err != nil {
			return nil, fmt.Errorf("update %d: %w", i, err)
		}
		u, err := traced.update(c, replay)
		if err == nil {
			u.State, err = readState(raw, "params/")
		}
		if err != nil {
			return nil, fmt.Errorf("update %d: %w", i, err)
		}
		if amp, ok := u.Rollout["amp_observations"]; ok {
			for row := range c.Steps * c.Envs {
				at, width := row*c.AMPObservationSize, c.AMPObservationSize
				replay = append(replay, golden.Tensor{Shape: []int{1, width}, Data: amp.Data[at : at+width]})
			}
		}
		c.Updates = append(c.Updates, u)
	}
	c.Config["rollouts"] = c.Steps
	return c, c.check()
}

// statistic is the path of one array of a scaler: the scaler's name with or without "_preprocessor", then the array's.
var statistic = regexp.MustCompile(`(?:^|[/_.])((?:amp_)?observation|state|value)(?:_preprocessor)?[/.]` +
	`(running_mean|running_variance|current_count)$`)

// readState reads the parameters below a prefix, and the statistics of scalers from anywhere in the document, under
// the names of a snapshot: net_container.0.weight is net.0.weight.
func readState(document []byte, parameters string) (map[string]golden.Tensor, error) {
	var root map[string]json.RawMessage
	if err := json.Unmarshal(document, &root); err != nil {
		return nil, err
	}
	out := map[string]golden.Tensor{}
	var walk func(path string, raw json.RawMessage)
	walk = func(path string, raw json.RawMessage) {
		var inner map[string]json.RawMessage
		if json.Unmarshal(raw, &inner) == nil && inner["data"] == nil {
			for name, x := range inner {
				walk(path+"/"+name, x)
			}
			return
		}
		name, ok := strings.CutPrefix(path, parameters)
		if s := statistic.FindStringSubmatch(path); s != nil {
			name, ok = s[1]+"_preprocessor/"+s[2], true
		}
		if x, err := stepTensor(raw); ok && err == nil {
			out[strings.Replace(name, "net_container.", "net.", 1)] = x
		}
	}
	for name, x := range root {
		if name != "updates" && name != "rollout" {
			walk(name, x)
		}
	}
	return out, nil
}

// update sorts a traced update in and takes the case's sizes from the first.
func (d *tracedUpdate) update(c *goldenCase, replay []golden.Tensor) (goldenUpdate, error) {
	u := goldenUpdate{
		Rollout: map[string]golden.Tensor{}, Memory: d.Memory, Trace: d.Trace,
		Tracked: map[string]float64{},
		Targets: map[string]golden.Tensor{"scaled_returns": d.Returns, "scaled_values": d.Values,
			"advantages": d.Advantages},
	}
	for tag, values := range d.Tracked {
		if len(values) != 1 {
			return u, fmt.Errorf("%q was tracked %d times, want once", tag, len(values))
		}
		u.Tracked[tag] = values[0]
	}
	if len(d.Rates) == 0 || len(d.Rollout) == 0 {
		return u, fmt.Errorf("there is no learning rate or no rollout")
	}
	u.LearningRate = d.Rates[0]
	for _, step := range d.Rollout {
		for name, raw := range step {
			x, err := stepTensor(raw)
			if err != nil {
				return u, fmt.Errorf("rollout %s: %w", name, err)
			}
			switch name {
			case "rewards":
				name = "rewards_env"
			case "amp_obs":
				name = "amp_observations"
			}
			all := u.Rollout[name]
			all.Shape = append([]int{len(d.Rollout)}, x.Shape...)
			all.Data = append(all.Data, x.Data...)
			u.Rollout[name] = all
		}
	}
	if c.Steps == 0 {
		obs, act := u.Rollout["observations"].Shape, u.Rollout["actions"].Shape
		if len(obs) != 3 || len(act) != 3 {
			return u, fmt.Errorf("observations have shape %v, actions %v", obs, act)
		}
		c.Steps, c.Envs, c.ObservationSize, c.ActionSize = obs[0], obs[1], obs[2], act[2]
		if amp := u.Rollout["amp_observations"].Shape; len(amp) == 3 {
			c.AMPObservationSize = amp[2]
		}
	}
	return u, d.batches(c, &u, replay)
}

// stepTensor reads {"shape", "data"}, a plain list or a number.
func stepTensor(raw json.RawMessage) (golden.Tensor, error) {
	var x golden.Tensor
	if err := json.Unmarshal(raw, &x); err == nil {
		return x, nil
	}
	var number float64
	if err := json.Unmarshal(raw, &number); err == nil {
		return golden.Tensor{Data: []float64{number}}, nil
	}
	err := json.Unmarshal(raw, &x.Data)
	x.Shape = []int{len(x.Data), 1}
	return x, err
}

// batches gathers the discriminator's rows and splits them as numpy's array_split does.
func (d *tracedUpdate) batches(c *goldenCase, u *goldenUpdate, replay []golden.Tensor) error {
	if d.Motions == nil {
		return nil
	}
	k, ok := c.Config["mini_batches"].(int)
	if !ok {
		k = 2
	}
	var motions []golden.Tensor
	for at := 0; at+c.AMPObservationSize <= len(d.Motions.Data); at += c.AMPObservationSize {
		motions = append(motions, golden.Tensor{Data: d.Motions.Data[at : at+c.AMPObservationSize]})
	}
	var err error
	if u.MotionBatches, err = gather(motions, d.MotionRows, k); err != nil {
		return fmt.Errorf("motion_indexes: %w", err)
	}
	if d.ReplayRows != nil {
		if u.ReplayBatches, err = gather(replay, d.ReplayRows, k); err != nil {
			return fmt.Errorf("reply_indexes: %w", err)
		}
	}
	return nil
}

func gather(rows []golden.Tensor, index []int, k int) ([]golden.Tensor, error) {
	var out []golden.Tensor
	for i, at := 0, 0; i < k; i++ {
		n := len(index) / k
		if i < len(index)%k {
			n++
		}
		var x golden.Tensor
		for _, row := range index[at : at+n] {
			if row < 0 || row >= len(rows) {
				return nil, fmt.Errorf("row %d of %d", row, len(rows))
			}
			x.Data = append(x.Data, rows[row].Data...)
		}
		x.Shape = []int{n, len(x.Data) / max(n, 1)}
		out = append(out, x)
		at += n
	}
	return out, nil
}
