package golden

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/npz"
	"github.com/gorl-dev/gorl/internal/test/must"
)

//go:embed testdata
var embedded embed.FS

// Environment is the variable that names a folder of further cases.
const Environment = "GORL_FIXTURES"

// folders are what cases lie in: those of skrl 2.0.0's agents, several updates of them, its recurrent agents, agents of
// several ranks, agents of 2.1.1, and networks.
var folders = []string{"skrl", "skrl_two_updates", "skrl_rnn", "skrl_distributed", "skrl_2_1", "skrl_models"}

// Source is a folder with some of the folders of cases.
type Source struct {
	Name string
	FS   fs.FS
}

// Sources returns a test's own folder, named testdata, and the one that GORL_FIXTURES names. It is an error where the
// latter has no folder of cases.
func Sources(own fs.FS) ([]Source, error) {
	list := []Source{{"testdata", own}}
	dir := os.Getenv(Environment)
	if dir == "" {
		return list, nil
	}
	further := Source{Environment, os.DirFS(dir)}
	for _, sub := range folders {
		if info, err := fs.Stat(further.FS, sub); err == nil && info.IsDir() {
			return append(list, further), nil
		}
	}
	return nil, fmt.Errorf("golden: %s is %s, which has none of the folders %s", Environment, dir,
		strings.Join(folders, ", "))
}

// Parts runs f in one subtest for every file skrl/parts.npz: single building blocks.
func Parts(t *testing.T, f func(t *testing.T, parts map[string]Tensor)) {
	t.Helper()
	own := must.Get(fs.Sub(embedded, "testdata"))(t)
	for _, src := range must.Get(Sources(own))(t) {
		arrays, err := ReadNPZ(src.FS, "skrl/parts.npz")
		if errors.Is(err, fs.ErrNotExist) && src.Name == Environment {
			continue
		}
		t.Run(path.Join(src.Name, "skrl/parts"), func(t *testing.T) { f(t, must.Get(arrays, err)(t)) })
	}
}

// Models runs f in one subtest for every case skrl_models/NAME.json + NAME.npz: networks that skrl has built. own is
// the test's testdata.
func Models(t *testing.T, own fs.FS, f func(t *testing.T, about []byte, arrays map[string]Tensor)) {
	t.Helper()
	for _, src := range must.Get(Sources(own))(t) {
		files := must.Get(fs.Glob(src.FS, "skrl_models/*.json"))(t)
		if len(files) == 0 && src.Name != Environment {
			t.Fatal("there are no cases in testdata/skrl_models")
		}
		for _, file := range files {
			name := strings.TrimSuffix(file, ".json")
			t.Run(path.Join(src.Name, name), func(t *testing.T) {
				f(t, must.Get(fs.ReadFile(src.FS, file))(t), must.Get(ReadNPZ(src.FS, name+".npz"))(t))
			})
		}
	}
}

// ReadNPZ reads all arrays of numbers and truth values.
func ReadNPZ(fsys fs.FS, file string) (map[string]Tensor, error) {
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, err
	}
	f, err := npz.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("golden: %s: %w", file, err)
	}
	out := make(map[string]Tensor, len(f.Arrays))
	for name, a := range f.Arrays {
		values, err := a.Float64s()
		if err != nil {
			return nil, fmt.Errorf("golden: %s: %w", file, err)
		}
		out[name] = Tensor{Shape: a.Shape, Data: values}
	}
	return out, nil
}
