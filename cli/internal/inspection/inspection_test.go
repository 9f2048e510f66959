package inspection_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/convert"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// snapshot is that of a trainer of a small policy.
func snapshot() *checkpoint.Snapshot {
	s := checkpoint.NewSnapshot()
	s.Arrays["policy/net.0.weight"] = checkpoint.ArrayFloat32([]int64{2, 3}, []float32{-1, 0, 1, 2, 3, 4})
	s.Arrays["policy/net.0.bias"] = checkpoint.ArrayFloat32([]int64{2}, []float32{5, 7})
	s.Arrays["optimizer/exp_avg/policy/net.10.bias"] = checkpoint.ArrayFloat64(nil, []float64{0.5})
	s.Arrays["optimizer/exp_avg/policy/net.2.bias"] = checkpoint.ArrayInt64([]int64{2}, []int64{-3, 4})
	s.Values = map[string]any{
		"agent": "PPO", "format": int64(1), "timestep": int64(40), "updates": int64(5), "random": "state",
		"hyperparameters": map[string]any{"learning_rate": 0.001, "ratio_clip": 0.2},
		"policy": map[string]any{
			"format": int64(1), "inputs": int64(3),
			"observation_space": map[string]any{"kind": "Box", "shape": []any{int64(3)}},
			"action_space":      map[string]any{"kind": "Discrete", "nvec": []any{int64(2)}},
			"network": []any{map[string]any{"op": "linear", "weight": "policy/net.0.weight",
				"bias": "policy/net.0.bias", "outputs": int64(2)}},
			"distribution": map[string]any{"kind": "categorical"},
		},
		"trainer": map[string]any{
			"timestep": int64(40), "best": 2.5,
			"episodes": map[string]any{"episode.return": map[string]any{"count": int64(3),
				"values": []any{1.0, int64(2), 6.0}}},
			"tracked": map[string]any{"Loss / Policy loss": map[string]any{"count": int64(5),
				"values": []any{0.5, 0.25, 0.125}}},
		},
		"optimizer_steps": map[string]any{"optimizer": int64(20)},
	}
	return s
}

// run makes the folder of a run with three checkpoints, of which that of step 20 is the best.
func run(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	store := must.Get(checkpoint.NewStore(filepath.Join(dir, "checkpoints"), checkpoint.Options{}))(t)
	for _, step := range []int64{20, 30, 100} {
		save := store.Save
		if step == 20 {
			save = store.SaveBest
		}
		must.Get(save(fmt.Sprintf("agent_%d", step), step, snapshot()))(t)
	}
	return dir
}

func of(t *testing.T, path string, o inspection.Options) *inspection.Report {
	t.Helper()
	return must.Get(inspection.Of(path, o))(t)
}

func TestRun(t *testing.T) {
	dir := run(t)
	r := of(t, dir, inspection.Options{})
	var files []string
	for _, s := range r.Checkpoints {
		files = append(files, fmt.Sprintf("%s %d %s", s.File, s.Step, s.State))
	}
	same(t, strings.Join(files, "\n"), "checkpoints/agent_30.safetensors 30 verified\n"+
		"checkpoints/agent_100.safetensors 100 verified\ncheckpoints/best/agent_20.safetensors 20 verified")
	c := r.Checkpoint
	same(t, fmt.Sprint(r.Kind, ", ", c.Kind, ", ", c.State, ", ", c.File),
		"run, checkpoint of a trainer of PPO, verified, "+
			filepath.Join(dir, "checkpoints", "best", "agent_20.safetensors"))
	a := c.Agents[0]
	same(t, fmt.Sprintf("%s %d %v %+v", a.Class, a.Updates, a.Settings["ratio_clip"], *a.Policy), "PPO 5 0.2 "+
		"{Observation:Box(3) Action:Discrete(2) Distribution:categorical Normalized:false HiddenSize:0}")
	// Of five values in a ring of three the last is at place 1. Episodes have their mean.
	same(t, fmt.Sprint(c.Trainer.Timestep, *c.Trainer.Best, c.Trainer.Metrics, c.Values),
		"40 2.5 map[Loss / Policy loss:0.25 episode.return:3] map[format:1 optimizer_steps.optimizer:20]")
	var tensors []string
	for _, x := range c.Tensors {
		tensors = append(tensors, fmt.Sprintf("%s %s %v %d %d", x.Name, x.DType, x.Shape, x.Count, x.Bytes))
	}
	same(t, strings.Join(tensors, "\n"), "optimizer/exp_avg/policy/net.2.bias I64 [2] 2 16\n"+
		"optimizer/exp_avg/policy/net.10.bias F64 [] 1 8\n"+
		"policy/net.0.bias F32 [2] 2 8\npolicy/net.0.weight F32 [2 3] 6 24")
	same(t, fmt.Sprint(c.Totals), "{4 11 56 0 0}")
	// One tensor is listed, all are counted.
	chosen := func(name string) bool { return strings.HasSuffix(name, "weight") }
	few := of(t, dir, inspection.Options{Tensor: chosen}).Checkpoint
	if len(few.Tensors) != 1 || few.Totals != c.Totals {
		t.Errorf("%+v, %+v", few.Tensors, few.Totals)
	}
}

func TestFind(t *testing.T) {
	dir := run(t)
	find := func(path string) string {
		t.Helper()
		got := must.Get(inspection.Find(filepath.Join(dir, path)))(t)
		return filepath.ToSlash(must.Get(filepath.Rel(dir, got))(t))
	}
	for path, want := range map[string]string{
		"": "checkpoints/best/agent_20.safetensors", "checkpoints": "checkpoints/best/agent_20.safetensors",
		"checkpoints/best":     "checkpoints/best/agent_20.safetensors",
		"checkpoints/agent_30": "checkpoints/agent_30.safetensors",
	} {
		must.Equal(t, path, want, find(path))
	}
	must.Do(t, spoil(filepath.Join(dir, "checkpoints", "best", "agent_20.safetensors")))
	must.Refused(inspection.Find(dir))(t, "means checkpoints/best/agent_20.safetensors, which is damaged: ")
	must.Equal(t, "another one by its name", "checkpoints/agent_100.safetensors", find("checkpoints/agent_100"))
	// Damage of the manifest alone counts, too.
	must.Do(t, os.Truncate(filepath.Join(dir, "checkpoints", "best", "agent_20.json"), 5))
	must.Refused(inspection.Find(dir))(t, "best/agent_20.safetensors, which is damaged: ")
	must.Refused(inspection.Find(t.TempDir()))(t)
	must.Refused(inspection.Of(filepath.Join(dir, "nowhere"), inspection.Options{}))(t)
}

// spoil changes the last byte but two.
func spoil(path string) error {
	data, err := os.ReadFile(path)
	data[len(data)-3] ^= 0x40
	return errors.Join(err, os.WriteFile(path, data, 0o644))
}

func TestDamage(t *testing.T) {
	for name, c := range map[string]struct {
		harm         func(dir string) error
		file, reason string
	}{
		"a byte of the data": {func(dir string) error { return spoil(dir + "/agent_30.safetensors") },
			"agent_30.safetensors", "checksum"},
		"the manifest": {func(dir string) error { return os.Truncate(dir+"/agent_30.json", 60) },
			"agent_30.safetensors", "agent_30.json: "},
		"no data": {func(dir string) error { return os.Remove(dir + "/agent_30.safetensors") }, "agent_30.json",
			"agent_30.safetensors: "},
	} {
		dir := run(t)
		must.Do(t, c.harm(filepath.Join(dir, "checkpoints")))
		r := of(t, dir, inspection.Options{})
		for _, s := range r.Checkpoints {
			bad := s.File == "checkpoints/"+c.file
			if (s.State == inspection.Damaged) != bad || bad && !strings.Contains(s.Reason, c.reason) {
				t.Errorf("%s: %+v", name, s)
			}
		}
		var d *checkpoint.DamagedError
		_, err := inspection.Of(filepath.Join(dir, "checkpoints", c.file), inspection.Options{})
		if r.Damaged() != 1 || r.Checkpoint.Step != 20 || !errors.As(err, &d) {
			t.Errorf("%s: %d damaged, closely step %d; the file alone gives %v", name, r.Damaged(), r.Checkpoint.Step,
				err)
		}
	}
	// A save that was interrupted is no damage.
	dir := run(t)
	must.Do(t, os.Remove(filepath.Join(dir, "checkpoints", "agent_100.json")))
	r := of(t, dir, inspection.Options{})
	if r.Damaged() != 0 || len(r.Checkpoints) != 3 || r.Checkpoints[0].State != inspection.Unverified {
		t.Errorf("%+v", r.Checkpoints)
	}
}

func TestNotFinite(t *testing.T) {
	inf := math.Inf(1)
	s := checkpoint.NewSnapshot()
	s.Arrays["i64"] = checkpoint.ArrayInt64([]int64{1}, []int64{-1})
	s.Arrays["f32"] = checkpoint.ArrayFloat32([]int64{3}, []float32{float32(math.NaN()), 1, 2})
	s.Arrays["f64"] = checkpoint.ArrayFloat64([]int64{3}, []float64{inf, -8, -inf})
	// 1, −2, 65504, 2⁻²⁴, −∞, NaN in half precision; −2, ∞, NaN in bfloat16
	s.Arrays["f16"] = checkpoint.Array{DType: "F16", Shape: []int64{6},
		Data: []byte{0, 0x3c, 0, 0xc0, 0xff, 0x7b, 1, 0, 0, 0xfc, 1, 0x7e}}
	s.Arrays["bf16"] = checkpoint.Array{DType: "BF16", Shape: []int64{3}, Data: []byte{0, 0xc0, 0x80, 0x7f, 0xc0, 0x7f}}
	path := filepath.Join(t.TempDir(), "types.safetensors")
	must.Do(t, convert.Write(path, s))
	got := map[string][2]int64{}
	for _, x := range of(t, path, inspection.Options{}).Checkpoint.Tensors {
		got[x.Name] = [2]int64{x.NaNs, x.Infinities}
	}
	must.Equal(t, "NaNs and infinities", map[string][2]int64{"i64": {}, "f32": {1, 0}, "f64": {0, 2}, "f16": {1, 1},
		"bf16": {1, 1}}, got)
}

func TestOtherFiles(t *testing.T) {
	pt := filepath.Join(t.TempDir(), "model.pt")
	tensor := checkpoint.ArrayFloat32([]int64{2}, []float32{1, 2})
	value := torchfile.NewDict("net", torchfile.NewOrderedDict("0.weight", tensor), "lr", math.NaN(), "epochs",
		int64(7), "betas", torchfile.Tuple{0.9, 0.999},
		"groups", &torchfile.List{Items: []any{torchfile.NewDict("a", true), nil}}, "note", "hello")
	must.Do(t, torchfile.WriteFile(pt, value))
	c := of(t, pt, inspection.Options{}).Checkpoint
	same(t, fmt.Sprint(c.Kind, len(c.Agents), len(c.Tensors), c.Tensors[0].Name, c.Values),
		`PyTorch file0 1net/0.weightmap[torch.betas:[0.9,0.999] torch.epochs:7 torch.groups:[{"a":true},null] `+
			`torch.lr:NaN torch.note:hello]`)
	must.Refused(inspection.Of("../../../go.mod", inspection.Options{}))(t, "want a name that ends in")
}

func TestGroup(t *testing.T) {
	all, one := checkpoint.NewSnapshot(), snapshot()
	for name, a := range one.Arrays {
		all.Arrays["agent_0/"+name] = a
	}
	for kind, values := range map[string]map[string]any{
		// A file may claim any number of agents.
		"checkpoint of a group of 4611686018427387904 agents": {"agent": "Group", "agents": int64(1 << 62)},
		// IPPO and MAPPO name their agents.
		"checkpoint of IPPO with the agents [chaser runner]": {"agent": "IPPO", "agents": int64(2),
			"agent_names": []any{"chaser", "runner"}},
	} {
		all.Values = values
		values["format"], values["agent_0"] = int64(1), one.Values
		values["agent_1"] = map[string]any{"agent": "AMP", "updates": int64(9)}
		path := filepath.Join(t.TempDir(), "agent.safetensors")
		must.Do(t, convert.Write(path, all))
		c := of(t, path, inspection.Options{}).Checkpoint
		if c.Kind != kind || len(c.Agents) != 2 || c.Agents[0].Class != "PPO" || c.Agents[1].Updates != 9 ||
			c.Agents[1].Undescribed == "" || values["agent"] == "IPPO" && c.Agents[1].Name != "runner" {
			t.Errorf("%s %+v", c.Kind, c.Agents)
		}
	}
}

const recorded = `{"event":"population","iteration":0,"steps":0,"run":{"schema":1,"members":2,"objective":"o",` +
	`"interval_steps":10,"seed":1,"strategy":"s"}}
{"event":"start","iteration":0,"member":0,"steps":0,"after":{"lr":0.1},"seed":7}
{"event":"start","iteration":0,"member":1,"steps":0,"after":{"lr":0.2},"seed":8}
{"event":"replace","iteration":1,"member":0,"parent":1,"steps":10,"parent_steps":10,"objective":1,` +
	`"before":{"lr":0.1},"after":{"lr":0.4},"cause":"worse"}
{"event":"keep","iteration":1,"member":1,"steps":10,"objective":2,"before":{"lr":0.2}}
{"event":"final","iteration":2,"member":0,"steps":20,"objective":3,"before":{"lr":0.4}}
{"event":"final","iteration":2,"member":1,"steps":20,"objective":"NaN","before":{"lr":0.2}}
`

func TestPopulation(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "000", journal.File)
	must.Do(t, os.Mkdir(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(recorded), 0o644))
	alone := of(t, path, inspection.Options{})
	if p := alone.Population; alone.Kind != "journal of a population" || alone.Checkpoints != nil || len(p.Lanes) != 2 {
		t.Fatalf("%+v", alone)
	}
	// Of a population across processes the best of the best member is looked at, although another was saved later.
	for _, member := range []string{"000", "001"} {
		store := must.Get(checkpoint.NewStore(filepath.Join(dir, "best", member), checkpoint.Options{}))(t)
		must.Get(store.Save("2", 20, snapshot()))(t)
	}
	r := of(t, dir, inspection.Options{})
	want := filepath.Join(dir, "best", "000", "2.safetensors")
	if r.Kind != "population" || len(r.Checkpoints) != 2 || r.Checkpoint.File != want {
		t.Errorf("%s, %+v, %s", r.Kind, r.Checkpoints, r.Checkpoint.File)
	}
	same(t, must.Get(inspection.Find(dir))(t), want)
	var text strings.Builder
	must.Do(t, inspection.Write(&text, r))
	for _, part := range []string{"Best so far: member 0 after interval 2, 20 environment steps: 3.\n",
		"Its weights: member 1 (environment steps 0 to 10) → member 0 (environment steps 10 to 20).",
		"\n     0                 20          3           1       1  0.4\n",
		"\n     0         1       1                 10                     10  worse\n",
		"best/001/2.safetensors"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the text lacks %q:\n%s", part, text.String())
		}
	}
}

func same(t *testing.T, got, want string) {
	t.Helper()
	must.Equal(t, "the report", want, got)
}
