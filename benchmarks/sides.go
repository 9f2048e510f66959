package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/tensor"
)

// side is a program that is timed: gorl or skrl on one of the libtorches, or JAX.
type side struct {
	name   string
	python string   // of skrl or JAX; "" for gorl
	env    []string // beside the threads
	jax    bool
}

// column of the table: the figures of side a, or where b is not negative, those of a divided by those of b.
type column struct {
	title string
	a, b  int
}

// findSides lists what can be timed here, and the table's columns.
func findSides(alone bool) ([]side, []column) {
	sides := []side{{name: "gorl"}}
	columns := []column{{"gorl", 0, -1}}
	add := func(s side, title string, comparisons ...column) {
		columns = append(columns, column{title, len(sides), -1})
		for _, c := range comparisons {
			c.b = len(sides)
			columns = append(columns, c)
		}
		sides = append(sides, s)
	}
	if device == "cpu" { // which is all that the engine is for
		add(side{name: "gorl, engine off", env: []string{"GORL_ENGINE=torch"}}, "engine off",
			column{title: "gorl / engine off"})
	}
	if alone {
		return sides, columns
	}
	if python := findPython("GORL_PEERS", "peers", "jax/bin/python", "jax"); python != "" && device == "cpu" {
		add(side{name: "JAX", python: python, jax: true}, "JAX", column{title: "gorl / JAX"})
	}
	if python := findPython("GORL_PEERS", "peers", "bin/python", "skrl"); python != "" {
		add(side{name: "skrl", python: python}, "skrl", column{title: "gorl / skrl"})
		if kernels, _, chosen := strings.Cut(tensor.BLASKernels(), " "); chosen { // OpenBLAS alone would take others
			add(side{name: "skrl, same kernels", python: python, env: []string{"OPENBLAS_CORETYPE=" + kernels}},
				"skrl, same kernels", column{title: "gorl / it"})
		}
	}
	if python := findPython("GORL_PYTORCH", "pytorch", "bin/python", "skrl"); python != "" {
		root := filepath.Dir(filepath.Dir(python))
		mine := len(sides)
		add(side{name: "gorl on PyPI's PyTorch", env: []string{"LD_LIBRARY_PATH=" + filepath.Join(root, "shim")}},
			"gorl, PyPI")
		add(side{name: "skrl on PyPI's PyTorch", python: python}, "skrl, PyPI", column{title: "both PyPI", a: mine},
			column{title: "gorl / skrl, PyPI"})
	}
	return sides, columns
}

// findPython returns the Python at a path in the folder of `make peers` or `make pytorch`, or "" with a word of why it
// is not there or lacks a module.
func findPython(variable, task, path, module string) string {
	root := os.Getenv(variable)
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			cache = "."
		}
		root = filepath.Join(cache, "gorl", task)
	}
	python := filepath.Join(root, path)
	if err := exec.Command(python, "-c", "import "+module).Run(); err != nil {
		fmt.Fprintf(os.Stderr, "%s cannot import %s (%v) and is left out; `make %s` sets it up.\n", python, module, err,
			task)
		return ""
	}
	return python
}

// runs reports whether the side has a size. skrl_networks.py knows the CPU only, jax_update.py no pictures.
func (s side) runs(size string) bool {
	_, network := networks[size]
	if _, update := shapes[size]; s.jax {
		return update || size == "gru"
	}
	return s.python == "" || !slices.Contains([]string{"rate", "population", "soak"}, size) &&
		(device == "cpu" || !network)
}

// measure runs a side in a process of its own.
func (s side) measure(ctx context.Context, size, threads string, stepping int) []measure {
	_, network := networks[size]
	program, steps := s.python, strconv.Itoa(stepping)
	var args []string
	switch {
	case s.python == "":
		program = compare.Must(os.Executable())
		args = []string{"-measure", size, "-threads", threads, "-stepping-threads", steps, "-device", device,
			"-mixed=" + strconv.FormatBool(mixed), "-graphs=" + strconv.FormatBool(graphs),
			"-updates", strconv.Itoa(soakUpdates)}
	case s.jax:
		args = []string{"benchmarks/jax_update.py", size, "--threads", threads}
	case strings.HasPrefix(size, "walker"): // skrl knows no overlap
		args = []string{"benchmarks/skrl_walker.py", "--threads", threads, "--device", device,
			"--stepping-threads", steps}
	case size == "humanoid":
		clip := writeClipTable()
		defer os.Remove(clip)
		args = []string{"benchmarks/skrl_humanoid.py", "--threads", threads, "--device", device,
			"--stepping-threads", steps, "--clip", clip}
	case network:
		args = []string{"benchmarks/skrl_networks.py", size, "--threads", threads}
	default:
		args = []string{"benchmarks/skrl_update.py", size, "--threads", threads, "--device", device}
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), s.env...)
	if s.python != "" { // PyTorch's own setting does not reach OpenBLAS's pool of threads
		cmd.Env = append(cmd.Env, "OPENBLAS_NUM_THREADS="+threads)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		compare.Check(fmt.Errorf("benchmarks: %s: %v: %w\n%s", s.name, cmd.Args, err, errs.String()))
	}
	got := readMeasures(out)
	if len(got) == 0 {
		compare.Check(fmt.Errorf("benchmarks: %s: %v printed no figures:\n%s%s", s.name, cmd.Args, out, errs.String()))
	}
	return got
}

// readMeasures reads the lines of JSON that a side printed, among others.
func readMeasures(printed []byte) (got []measure) {
	for line := range bytes.Lines(printed) {
		var m measure
		if json.Unmarshal(line, &m) == nil && m.Name != "" {
			got = append(got, m)
		}
	}
	return got
}
