package skrl_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/skrl"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// set returns a function that sets a value of a module, by its keys.
func set(module string, value any, keys ...any) func(c *skrl.Checkpoint) {
	return func(c *skrl.Checkpoint) {
		d := c.Module(module)
		for _, k := range keys[:len(keys)-1] {
			v, _ := d.Get(k)
			if list, ok := v.(*torchfile.List); ok {
				v = list.Items[0]
			}
			d = v.(*torchfile.Dict)
		}
		d.Set(keys[len(keys)-1], value)
	}
}

func rename(from, to string) func(c *skrl.Checkpoint) {
	return func(c *skrl.Checkpoint) {
		for i := range c.Modules {
			if c.Modules[i].Name == from {
				c.Modules[i].Name = to
			}
		}
	}
}

func array(dtype checkpoint.DType, n int64, bytes int) checkpoint.Array {
	return checkpoint.Array{DType: dtype, Shape: []int64{n}, Data: make([]byte, bytes)}
}

func f32s(shape []int64, x ...float32) checkpoint.Array {
	return checkpoint.ArrayFloat32(shape, x)
}

// A checkpoint that does not fit the agent is an error that says where, and the agent's snapshot does not change.
func TestSnapshotRefuses(t *testing.T) {
	all := kinds(t)
	nan := float32(math.NaN())
	for name, test := range map[string]struct {
		kind  string
		spoil func(c *skrl.Checkpoint)
		want  string
	}{
		"other hidden layers": {"ppo_fixed", nil,
			"net_container.2.weight has shape [4 5], the agent's policy/net.2.weight [2 5]"},
		"shared layers": {"ppo_shared", nil, "do not (models.separate: true)"},
		"no value":      {"ppo", rename("value", "critic"), "no value"},
		"a scaler more": {"ppo_own_names", nil,
			"observation_preprocessor, value_preprocessor, for which the agent has no place"},
		"no optimizer":     {"ppo", rename("optimizer", "adam"), "no optimizer"},
		"a parameter more": {"ppo", set("policy", f32s([]int64{1}, 1), "zzz"), "policy: the file has zzz [1]"},
		"no tensor":        {"ppo", set("policy", "text", "net_container.0.bias"), "not a tensor"},
		"not finite": {"ppo", set("policy", f32s([]int64{5}, 0, nan, 0, 0, 0), "net_container.0.bias"),
			`not finite: "policy/net.0.bias"`},
		"a scaler's width": {"ppo", set("observation_preprocessor", array("F64", 4, 32), "running_mean"),
			"running_mean has shape [4]"},
		"a scaler's entries": {"ppo", set("observation_preprocessor", f32s([]int64{3}, 0, 0, 0), "momentum"),
			"4 entries"},
		"other betas": {"ppo", set("optimizer", torchfile.Tuple{0.9, 0.99}, "param_groups", "betas"),
			"adam_betas: [0.9, 0.99]"},
		"amsgrad":  {"ppo", set("optimizer", true, "param_groups", "amsgrad"), "amsgrad"},
		"no betas": {"ppo", set("optimizer", nil, "param_groups", "betas"), "not Adam"},
		"no rate":  {"ppo", set("optimizer", "fast", "param_groups", "lr"), "lr is not a number"},
		"two groups": {"ppo", set("optimizer", &torchfile.List{Items: []any{torchfile.NewDict(),
			torchfile.NewDict()}}, "param_groups"), "2 parameter groups"},
		"a group of fewer": {"ppo", set("optimizer", &torchfile.List{Items: []any{int64(0)}}, "param_groups",
			"params"), "state of 13 parameters"},
		"no state":    {"ppo", set("optimizer", nil, "state"), "state is not a dictionary"},
		"half a step": {"ppo", set("optimizer", 1.5, "state", 3, "step"), "step is 1.5"},
		"steps of others": {"ppo", set("optimizer", int64(9), "state", 3, "step"),
			"parameter 3 was stepped 9 times, others 4 times"},
		"a moment's shape": {"ppo", set("optimizer", f32s([]int64{1}, 1), "state", 3, "exp_avg"),
			"parameter 3 has moments of shape [1]"},
		"1.4's name of the first": {"ppo", rename("observation_preprocessor", "state_preprocessor"), ""},
	} {
		like := snapshot(t, all[test.kind].build(t, 1))
		before := maps.Clone(like.Arrays)
		c := must.Get(skrl.Read("testdata/ppo/first.pt"))(t)
		if test.spoil != nil {
			test.spoil(c)
		}
		s, err := c.Snapshot(like)
		if test.want == "" {
			must.Do(t, err)
		} else if err == nil || s != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want it to say %q", name, err, test.want)
		}
		equal(t, like.Arrays, before)
	}
	c, err := skrl.Read("testdata/ppo_shared/first.pt")
	must.Do(t, err)
	_, err = c.Snapshot(snapshot(t, all["ppo"].build(t, 1)))
	fails(t, err, "models.BuildShared")
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		value any
		want  string
	}{
		"list":  {&torchfile.List{}, "no dictionary"},
		"empty": {torchfile.NewDict(), "no dictionary"},
		"text":  {torchfile.NewDict("a", "b"), "single module"},
		"keys":  {torchfile.NewDict(1, torchfile.NewDict()), "module 1"},
	} {
		path := filepath.Join(dir, name+".pt")
		must.Do(t, torchfile.WriteFile(path, test.value))
		_, err := skrl.Read(path)
		fails(t, err, test.want)
	}
}

// repacked returns a .pt file with another pickle.
func repacked(t testing.TB, file, pickle []byte) []byte {
	t.Helper()
	from := must.Get(zip.NewReader(bytes.NewReader(file), int64(len(file))))(t)
	var b bytes.Buffer
	to := zip.NewWriter(&b)
	for _, e := range from.File {
		if !strings.HasSuffix(e.Name, "/data.pkl") {
			must.Do(t, to.Copy(e))
			continue
		}
		w := must.Get(to.CreateHeader(&zip.FileHeader{Name: e.Name, Method: zip.Store}))(t)
		must.Get(w.Write(pickle))(t)
	}
	must.Do(t, to.Close())
	return b.Bytes()
}

// Fitting any modules to an agent ends with a snapshot of the agent's arrays or with an error.
func FuzzSnapshot(f *testing.F) {
	all := kinds(f)
	likes := []*checkpoint.Snapshot{}
	for _, name := range []string{"ppo", "ppo_shared", "amp_separately"} {
		likes = append(likes, snapshot(f, all[name].build(f, 1)))
	}
	var files [][]byte
	for i, path := range []string{"testdata/ppo/first.pt", "testdata/ppo_shared/first.pt",
		"testdata/amp_separately/second.pt"} {
		file := must.Get(os.ReadFile(path))(f)
		files = append(files, file)
		z := must.Get(zip.NewReader(bytes.NewReader(file), int64(len(file))))(f)
		r := must.Get(z.File[0].Open())(f)
		pickle := must.Get(io.ReadAll(r))(f)
		f.Add(pickle, uint8(i))
	}
	f.Fuzz(func(t *testing.T, pickle []byte, which uint8) {
		file := repacked(t, files[int(which)%len(files)], pickle)
		v, err := torchfile.Read(bytes.NewReader(file), int64(len(file)))
		d, ok := v.(*torchfile.Dict)
		if err != nil || !ok {
			return
		}
		c := &skrl.Checkpoint{}
		for k, v := range d.All() {
			if state, ok := v.(*torchfile.Dict); ok {
				c.Modules = append(c.Modules, skrl.Module{Name: fmt.Sprint(k), State: state})
			}
		}
		for _, like := range likes {
			s, _, err := c.Merge(like)
			if err != nil {
				continue
			}
			for name, a := range like.Arrays {
				got := s.Arrays[name]
				if got.DType != a.DType || !slices.Equal(got.Shape, a.Shape) {
					t.Errorf("%s became %s %v", name, got.DType, got.Shape)
				}
			}
			if err := checkpoint.EncodeSafetensors(io.Discard, s); err != nil {
				t.Error(err)
			}
		}
	})
}
