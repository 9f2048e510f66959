package agents_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
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
func loadHead(fsys fs.FS, file string, d any) (map[string]golden.Tensor, error) {
	data, err := fs.ReadFile(fsys, file)
	if err == nil {
		err = json.Unmarshal(data, d)
	}
	if err != nil {
		return nil, err
	}
	return golden.ReadNPZ(fsys, strings.TrimSuffix(file, ".json")+".npz")
}

// loadOne reads a case of one update from NAME.json and NAME.npz in the same folder.
func loadOne(fsys fs.FS, file string) (*goldenCase, error) {
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
	all, err := loadHead(fsys, file, &d)
	if err != nil {
		return nil, err
	}
	for name := range all { // so that nothing goes unchecked; TestRanks shows that before_broadcast does not matter
		if kind, _, _ := strings.Cut(name, "/"); !slices.Contains([]string{"init", "before_broadcast", "rollout",
			"memory", "minibatch_rows", "motion_batches", "replay_batches", "expect"}, kind) {
			return nil, fmt.Errorf("array %q is of no known kind", name)
		}
	}
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
	return c, c.finish()
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
func loadSeveral(fsys fs.FS, file string) (*goldenCase, error) {
	var d struct {
		Kind    string
		Config  map[string]any `json:"cfg"`
		Updates []json.RawMessage
	}
	data, err := fs.ReadFile(fsys, file)
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	c := &goldenCase{Algorithm: d.Kind, Activation: "elu", Init: arrays{}, Ranks: 1}
	if err == nil {
		c.Config, err = pythonConfig(d.Config)
	}
	if err == nil {
		err = readState(c.Init, "init/", data, "init/")
	}
	var seen []golden.Tensor // every earlier rollout's AMP observations, by row
	for i, raw := range d.Updates {
		var traced tracedUpdate
		var u goldenUpdate
		if err == nil {
			err = json.Unmarshal(raw, &traced)
		}
		if err == nil {
			u, err = traced.update(seen, c.Config["mini_batches"])
		}
		if err == nil {
			err = readState(u.arrays, "expect/", raw, "params/")
		}
		if err != nil {
			return nil, fmt.Errorf("update %d: %w", i, err)
		}
		if amp, ok := u.arrays["rollout/amp_observations"]; ok {
			seen = append(seen, rowsOf(amp)...)
		}
		c.Updates = append(c.Updates, u)
	}
	if err != nil {
		return nil, err
	}
	return c, c.finish()
}

// tracedUpdate is an update in the JSON of several.
type tracedUpdate struct {
	Rollout    []map[string]json.RawMessage
	Memory     map[string]golden.Tensor `json:"memory_before"`
	Returns    golden.Tensor
	Advantages golden.Tensor
	Values     golden.Tensor `json:"values_after"`
	Trace      []goldenStep
	Rates      []float64 `json:"lr"`
	Tracked    map[string][]float64
	Motions    *golden.Tensor `json:"motion_dataset"`
	MotionRows []int          `json:"motion_indexes"`
	ReplayRows []int          `json:"reply_indexes"`
}

// update brings a traced update into the form of one update. seen are the rows of the replay buffer.
func (d *tracedUpdate) update(seen []golden.Tensor, miniBatches any) (u goldenUpdate, err error) {
	u = goldenUpdate{Trace: d.Trace, Tracked: map[string]float64{}, arrays: arrays{"expect/scaled_returns": d.Returns,
		"expect/scaled_values": d.Values, "expect/advantages": d.Advantages}}
	for name, x := range d.Memory {
		u.arrays["memory/"+name] = x
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
			all := u.arrays["rollout/"+name]
			all.Shape = append([]int{len(d.Rollout)}, x.Shape...)
			all.Data = append(all.Data, x.Data...)
			u.arrays["rollout/"+name] = all
		}
	}
	if d.Motions == nil {
		return u, nil
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
		if rows.index == nil {
			continue
		}
		for i, span := range memory.Split(int64(len(rows.index)), int64(k)) {
			var x golden.Tensor
			for _, row := range rows.index[span.Start : span.Start+span.Len] {
				if row < 0 || row >= len(rows.of) {
					return u, fmt.Errorf("%s: row %d of %d", kind, row, len(rows.of))
				}
				x.Data = append(x.Data, rows.of[row].Data...)
			}
			x.Shape = []int{int(span.Len), len(x.Data) / int(span.Len)}
			u.arrays[fmt.Sprintf("%s/%d", kind, i)] = x
		}
	}
	return u, nil
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
func readState(all arrays, prefix string, document []byte, parameters string) error {
	var root map[string]json.RawMessage
	if err := json.Unmarshal(document, &root); err != nil {
		return err
	}
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
	return nil
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
func pythonConfig(d map[string]any) (map[string]any, error) {
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
		case strings.HasSuffix(k, "_kwargs") && strings.HasPrefix(text, "{"):
			kwargs := map[string]any{}
			for _, item := range pythonItem.FindAllStringSubmatch(text, -1) {
				x, err := strconv.ParseFloat(item[2], 64)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", k, err)
				}
				if item[1] != "size" && item[1] != "device" { // a scaler's size is its rows'
					kwargs[item[1]] = x
				}
			}
			out[k] = kwargs
		default:
			return nil, fmt.Errorf("%s: %q is neither a class nor keyword arguments", k, text)
		}
	}
	return whole(out), nil
}

// TestFurtherCases reads a folder that GORL_FIXTURES names, here with a copy of the cases of one kind.
func TestFurtherCases(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "skrl"), 0o755))
	for _, name := range []string{"ppo_plain.json", "ppo_plain.npz"} {
		data := check.Get(os.ReadFile(filepath.Join("testdata", "skrl", name)))(t)
		must(t, os.WriteFile(filepath.Join(dir, "skrl", "further_"+name), data, 0o644))
	}
	t.Setenv(golden.Environment, dir)
	var names []string
	each(t, "ppo", func(t *testing.T, c *goldenCase) { names = append(names, t.Name()) })
	if want := "TestFurtherCases/GORL_FIXTURES/skrl/further_ppo_plain"; !slices.Contains(names, want) {
		t.Errorf("subtests %q: want %q among them", names, want)
	}
	t.Setenv(golden.Environment, t.TempDir())
	if _, err := golden.Sources(os.DirFS("testdata")); err == nil {
		t.Error("a folder without cases is no error")
	}
}
