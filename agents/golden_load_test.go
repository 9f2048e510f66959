package agents_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/golden"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
)

// goldenHead is what the JSON of every case of one update begins with.
type goldenHead struct {
	Algorithm, Activation string
	Scalers               bool
	Versions              struct{ SKRL string }
	Config                map[string]any `json:"skrl_config"`
	KLAdaptive            map[string]any `json:"kl_adaptive"`
}

// settings are the configuration in gorl's words, but for the scalers.
func (d *goldenHead) settings() map[string]any {
	config := map[string]any{"compatibility": "skrl-2.0"}
	if strings.HasPrefix(d.Versions.SKRL, "2.1.") {
		config["compatibility"] = "skrl-2.1"
	}
	maps.Copy(config, d.Config)
	if d.KLAdaptive != nil {
		config["learning_rate_scheduler"], config["learning_rate_scheduler_kwargs"] = "KLAdaptiveLR", d.KLAdaptive
	}
	return whole(config)
}

// loadHead reads NAME.json into d and NAME.npz in the same folder.
func loadHead(t *testing.T, fsys fs.FS, file string, d any) map[string]golden.Tensor {
	t.Helper()
	must(t, json.Unmarshal(check.Get(fs.ReadFile(fsys, file))(t), d))
	return check.Get(golden.ReadNPZ(fsys, strings.TrimSuffix(file, ".json")+".npz"))(t)
}

// loadOne reads a case of one update from NAME.json and NAME.npz in the same folder.
func loadOne(t *testing.T, fsys fs.FS, file string) *goldenCase {
	t.Helper()
	var d struct {
		goldenHead
		Repaired  bool
		Discrete  bool `json:"discrete_actions"`
		WorldSize int  `json:"world_size"`
		WarmSteps int  `json:"warm_steps"`
		Recurrent struct {
			Type           string
			HiddenSize     int `json:"hidden_size"`
			Layers         int `json:"num_layers"`
			SequenceLength int `json:"sequence_length"`
		} `json:"rnn"`
		Expect struct {
			LearningRate float64 `json:"learning_rate"`
			Tracked      map[string]float64
		}
	}
	all := loadHead(t, fsys, file, &d)
	const scaler = "RunningStandardScaler"
	config := d.settings()
	if d.Recurrent.SequenceLength > 0 {
		config["sequence_length"] = d.Recurrent.SequenceLength
	}
	algorithm := strings.TrimSuffix(d.Algorithm, "_distributed")
	if d.Scalers {
		config["observation_preprocessor"], config["value_preprocessor"] = scaler, scaler
		if algorithm == "amp" {
			config["amp_observation_preprocessor"] = scaler
		}
	}
	c := &goldenCase{Algorithm: algorithm, Activation: d.Activation, Discrete: d.Discrete, Config: config,
		Init: all, Ranks: max(1, d.WorldSize), WarmSteps: d.WarmSteps, Repaired: d.Repaired,
		Recurrent: models.RecurrentLayer{Kind: d.Recurrent.Type, HiddenSize: d.Recurrent.HiddenSize,
			Layers: d.Recurrent.Layers},
		Updates: []goldenUpdate{{arrays: all, Tracked: d.Expect.Tracked, LearningRate: d.Expect.LearningRate}}}
	c.finish(t)
	return c
}

// whole turns the whole numbers of a JSON document, which are float64, into int, as settings that count want them.
func whole(m map[string]any) map[string]any {
	for k, v := range m {
		switch v := v.(type) {
		case float64:
			if v == float64(int(v)) {
				m[k] = int(v)
			}
		case map[string]any:
			m[k] = whole(v)
		}
	}
	return m
}

// loadSeveral reads a case of several updates.
func loadSeveral(t *testing.T, fsys fs.FS, file string) *goldenCase {
	t.Helper()
	var d struct {
		Kind    string
		Config  map[string]any `json:"cfg"`
		Updates []json.RawMessage
	}
	data := check.Get(fs.ReadFile(fsys, file))(t)
	must(t, json.Unmarshal(data, &d))
	c := &goldenCase{Algorithm: d.Kind, Activation: "elu", Init: arrays{}, Ranks: 1, Config: pythonConfig(t, d.Config)}
	readState(t, c.Init, "init/", data, "init/")
	var seen []golden.Tensor // every earlier rollout's AMP observations, by row
	for _, raw := range d.Updates {
		var traced tracedUpdate
		must(t, json.Unmarshal(raw, &traced))
		u := traced.update(t, seen, c.Config["mini_batches"])
		readState(t, u.arrays, "expect/", raw, "params/")
		if amp, ok := u.arrays["rollout/amp_observations"]; ok {
			seen = append(seen, rowsOf(amp)...)
		}
		c.Updates = append(c.Updates, u)
	}
	c.finish(t)
	return c
}

// tracedUpdate is an update in the JSON of several.
type tracedUpdate struct {
	Rollout    []map[string]json.RawMessage
	Memory     map[string]golden.Tensor `json:"memory_before"`
	Returns    golden.Tensor
	Advantages golden.Tensor
	Values     golden.Tensor `json:"values_after"`
	Trace      []struct {
		GradNorm float64 `json:"grad_norm_before_clip"`
		Loss     float64 `json:"total_loss"`
	}
	Rates      []float64 `json:"lr"`
	Tracked    map[string][]float64
	Motions    *golden.Tensor `json:"motion_dataset"`
	MotionRows []int          `json:"motion_indexes"`
	ReplayRows []int          `json:"reply_indexes"`
}

// update brings a traced update into the form of one update. seen are the rows of the replay buffer.
func (d *tracedUpdate) update(t *testing.T, seen []golden.Tensor, miniBatches any) goldenUpdate {
	t.Helper()
	u := goldenUpdate{Tracked: map[string]float64{}, LearningRate: d.Rates[0],
		arrays: arrays{"expect/scaled_returns": d.Returns, "expect/scaled_values": d.Values,
			"expect/advantages": d.Advantages}}
	for name, x := range d.Memory {
		u.arrays["memory/"+name] = x
	}
	for tag, values := range d.Tracked {
		check.Is(t, len(values), 1, "values of %q", tag)
		u.Tracked[tag] = values[0]
	}
	for _, step := range d.Trace {
		u.GradNorm += step.GradNorm / float64(len(d.Trace))
		u.Loss += step.Loss / float64(len(d.Trace))
	}
	for _, step := range d.Rollout {
		for name, raw := range step {
			switch name {
			case "rewards":
				name = "rewards_env"
			case "amp_obs":
				name = "amp_observations"
			}
			x, all := check.Get(stepTensor(raw))(t), u.arrays["rollout/"+name]
			all.Shape = append([]int{len(d.Rollout)}, x.Shape...)
			all.Data = append(all.Data, x.Data...)
			u.arrays["rollout/"+name] = all
		}
	}
	if d.Motions == nil {
		return u
	}
	k, ok := miniBatches.(int)
	if !ok {
		k = 2
	}
	// The discriminator's rows are gathered by their indices, and split as numpy's array_split does.
	for kind, rows := range map[string]struct {
		of    []golden.Tensor
		index []int
	}{"motion_batches": {rowsOf(*d.Motions), d.MotionRows}, "replay_batches": {seen, d.ReplayRows}} {
		for i, span := range memory.Split(int64(len(rows.index)), int64(k)) {
			var x golden.Tensor
			for _, row := range rows.index[span.Start : span.Start+span.Len] {
				x.Data = append(x.Data, rows.of[row].Data...)
			}
			x.Shape = []int{int(span.Len), len(x.Data) / int(span.Len)}
			u.arrays[fmt.Sprintf("%s/%d", kind, i)] = x
		}
	}
	return u
}

// rowsOf returns the rows (·, width) of an array, whose last dimension is the width.
func rowsOf(x golden.Tensor) (rows []golden.Tensor) {
	width := x.Shape[len(x.Shape)-1]
	for row := range slices.Chunk(x.Data, width) {
		rows = append(rows, golden.Tensor{Shape: []int{1, width}, Data: row})
	}
	return rows
}

// statistic is the path of one array of a scaler: the scaler's name with or without "_preprocessor", then the array's.
var statistic = regexp.MustCompile(`(?:^|[/_.])((?:amp_)?observation|state|value)(?:_preprocessor)?[/.]` +
	`(running_mean|running_variance|current_count)$`)

// readState reads into all, under a prefix, the parameters below a path of a document, and the statistics of scalers
// from anywhere in it, by the names of a snapshot: net_container.0.weight is net.0.weight.
func readState(t *testing.T, all arrays, prefix string, document []byte, parameters string) {
	t.Helper()
	var root map[string]json.RawMessage
	must(t, json.Unmarshal(document, &root))
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
			all[prefix+strings.Replace(name, "net_container.", "net.", 1)] = x
		}
	}
	for name, x := range root {
		if name != "updates" && name != "rollout" {
			walk(name, x)
		}
	}
}

// stepTensor reads {"shape", "data"}, a plain list or a number.
func stepTensor(raw json.RawMessage) (x golden.Tensor, err error) {
	var number float64
	switch {
	case json.Unmarshal(raw, &x) == nil:
	case json.Unmarshal(raw, &number) == nil:
		x.Data = []float64{number}
	default:
		err = json.Unmarshal(raw, &x.Data)
		x.Shape = []int{len(x.Data), 1}
	}
	return x, err
}

var (
	pythonClass = regexp.MustCompile(`^<class '(?:[\w.]*\.)?(\w+)'>$`)
	pythonItem  = regexp.MustCompile(`'(\w+)': ([-+0-9.eE]+)\s*[,}]`)
)

// pythonConfig reads the configuration, in which classes and dictionaries are as Python prints them.
func pythonConfig(t *testing.T, d map[string]any) map[string]any {
	t.Helper()
	out := map[string]any{"compatibility": "skrl-2.0"}
	for k, v := range d {
		text, ok := v.(string)
		class := pythonClass.FindStringSubmatch(text)
		switch {
		case v == nil:
		case !ok:
			out[k] = v
		case class != nil:
			out[k] = class[1]
		default: // keyword arguments
			kwargs := map[string]any{}
			for _, item := range pythonItem.FindAllStringSubmatch(text, -1) {
				if item[1] != "size" && item[1] != "device" { // a scaler's size is its rows'
					kwargs[item[1]] = check.Get(strconv.ParseFloat(item[2], 64))(t)
				}
			}
			out[k] = kwargs
		}
	}
	return whole(out)
}
