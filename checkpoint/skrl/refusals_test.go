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
		at := slices.IndexFunc(c.Modules, func(m skrl.Module) bool { return m.Name == from })
		c.Modules[at].Name = to
	}
}

func f32s(shape []int64, x ...float32) checkpoint.Array { return checkpoint.ArrayFloat32(shape, x) }

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
		"a scaler more": {"ppo_own_names", nil,
			"observation_preprocessor, value_preprocessor, for which the agent has no place"},
		"no optimizer":     {"ppo", rename("optimizer", "adam"), "no optimizer"},
		"a parameter more": {"ppo", set("policy", f32s([]int64{1}, 1), "zzz"), "policy: the file has zzz [1]"},
		"not finite": {"ppo", set("policy", f32s([]int64{5}, 0, nan, 0, 0, 0), "net_container.0.bias"),
			`not finite: "policy/net.0.bias"`},
		"a scaler's entries": {"ppo", set("observation_preprocessor", f32s([]int64{3}, 0, 0, 0), "momentum"),
			"4 entries"},
		"other betas": {"ppo", set("optimizer", torchfile.Tuple{0.9, 0.99}, "param_groups", "betas"),
			"adam_betas: [0.9, 0.99]"},
		"two groups": {"ppo", set("optimizer", &torchfile.List{Items: []any{torchfile.NewDict(),
			torchfile.NewDict()}}, "param_groups"), "2 parameter groups"},
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
		if _, err := c.Snapshot(like); test.want == "" {
			must.Do(t, err)
		} else {
			must.RefuseAs(t, name, err, test.want)
		}
		must.Match(t, before, like.Arrays, "arrays")
	}
	c := must.Get(skrl.Read("testdata/ppo_shared/first.pt"))(t)
	must.Refused(c.Snapshot(snapshot(t, all["ppo"].build(t, 1))))(t, "models.BuildShared")
	path := filepath.Join(t.TempDir(), "text.pt")
	must.Do(t, torchfile.WriteFile(path, torchfile.NewDict("a", "b")))
	must.Refused(skrl.Read(path))(t, "single module")
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
				must.Is(t, got.DType, a.DType, "type of %s", name)
				must.Same(t, got.Shape, a.Shape, "shape of %s", name)
			}
			must.Do(t, checkpoint.EncodeSafetensors(io.Discard, s))
		}
	})
}
