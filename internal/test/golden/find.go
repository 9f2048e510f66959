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
)

//go:embed testdata
var embedded embed.FS

// Environment is the variable that names a folder of further cases.
const Environment = "GORL_FIXTURES"

// source is a folder of cases.
type source struct {
	name string
	fs   fs.FS
}

func sources() ([]source, error) {
	own, err := fs.Sub(embedded, "testdata")
	if err != nil {
		return nil, err
	}
	list := []source{{"testdata", own}}
	dir := os.Getenv(Environment)
	if dir == "" {
		return list, nil
	}
	further := source{Environment, os.DirFS(dir)}
	for _, sub := range []string{"skrl", "skrl_two_updates"} {
		if info, err := fs.Stat(further.fs, sub); err == nil && info.IsDir() {
			return append(list, further), nil
		}
	}
	return nil, fmt.Errorf("golden: %s is %s, which has neither a folder skrl nor skrl_two_updates", Environment, dir)
}

// Each runs f in one subtest for every case of the algorithm, named after its file. That there is none is a failure.
func Each(t *testing.T, algorithm string, f func(t *testing.T, c *Case)) {
	t.Helper()
	list, err := sources()
	must(t, err)
	found := 0
	for _, src := range list {
		for _, kind := range []struct {
			folder string
			load   func(fsys fs.FS, file string) (*Case, error)
		}{{"skrl", loadOne}, {"skrl_two_updates", loadSeveral}} {
			files, err := fs.Glob(src.fs, kind.folder+"/*.json")
			must(t, err)
			for _, file := range files {
				c, err := kind.load(src.fs, file)
				if err == nil && c.Algorithm != algorithm {
					continue
				}
				found++
				t.Run(path.Join(src.name, kind.folder, strings.TrimSuffix(path.Base(file), ".json")), func(t *testing.T) {
					if err != nil {
						t.Fatalf("golden: %s: %v", file, err)
					}
					f(t, c)
				})
			}
		}
	}
	if found == 0 {
		t.Fatalf("golden: there is no case of %s", algorithm)
	}
}

// must ends the test where something that has to succeed failed.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Parts runs f in one subtest for every file skrl/parts.npz: single building blocks.
func Parts(t *testing.T, f func(t *testing.T, parts map[string]Tensor)) {
	t.Helper()
	list, err := sources()
	must(t, err)
	for _, src := range list {
		const file = "skrl/parts.npz"
		arrays, err := readNPZ(src.fs, file)
		if errors.Is(err, fs.ErrNotExist) && src.name == Environment {
			continue
		}
		t.Run(path.Join(src.name, "skrl/parts"), func(t *testing.T) {
			must(t, err)
			f(t, arrays)
		})
	}
}

// readNPZ reads all arrays of numbers and truth values.
func readNPZ(fsys fs.FS, file string) (map[string]Tensor, error) {
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
		values, err := numbers(a)
		if err != nil {
			return nil, fmt.Errorf("golden: %s: %w", file, err)
		}
		out[name] = Tensor{Shape: a.Shape, Data: values}
	}
	return out, nil
}

func numbers(a *npz.Array) ([]float64, error) {
	switch a.DType {
	case "<f4", "<f8":
		return a.Float64s()
	case "|b1":
		flags, err := a.Bools()
		out := make([]float64, len(flags))
		for i, on := range flags {
			if on {
				out[i] = 1
			}
		}
		return out, err
	}
	ints, err := a.Int64s()
	out := make([]float64, len(ints))
	for i, n := range ints {
		out[i] = float64(n)
	}
	return out, err
}
