package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
				"skrl, same kernels",
				column{title: "gorl / it"})
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
func (s side) measure(size, threads string, stepping int) ([]measure, error) {
	var cmd *exec.Cmd
	_, network := networks[size]
	switch {
	case s.python == "":
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd = exec.Command(self, "-measure", size, "-threads", threads, "-stepping-threads", strconv.Itoa(stepping),
			"-device", device,
			"-mixed="+strconv.FormatBool(mixed),
			"-graphs="+strconv.FormatBool(graphs), "-updates", strconv.Itoa(soakUpdates))
	case s.jax:
		cmd = exec.Command(s.python, filepath.Join("benchmarks", "jax_update.py"), size, "--threads", threads)
	case strings.HasPrefix(size, "walker"): // skrl knows no overlap
		cmd = exec.Command(s.python, filepath.Join("benchmarks", "skrl_walker.py"), "--threads", threads, "--device",
			device,
			"--stepping-threads", strconv.Itoa(stepping))
	case size == "humanoid":
		clip, err := writeClipTable()
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.Remove(clip) }()
		cmd = exec.Command(s.python, filepath.Join("benchmarks", "skrl_humanoid.py"), "--threads", threads, "--device",
			device,
			"--stepping-threads", strconv.Itoa(stepping), "--clip", clip)
	case network:
		cmd = exec.Command(s.python, filepath.Join("benchmarks", "skrl_networks.py"), size, "--threads", threads)
	default:
		cmd = exec.Command(s.python, filepath.Join("benchmarks", "skrl_update.py"), size, "--threads", threads,
			"--device", device)
	}
	cmd.Env = append(os.Environ(), s.env...)
	if s.python != "" { // PyTorch's own setting does not reach OpenBLAS's pool of threads
		cmd.Env = append(cmd.Env, "OPENBLAS_NUM_THREADS="+threads)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("benchmarks: %s: %v: %w\n%s", s.name, cmd.Args, err, errs.String())
	}
	var got []measure
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var m measure
		if json.Unmarshal(lines.Bytes(), &m) == nil && m.Name != "" {
			got = append(got, m)
		}
	}
	if len(got) == 0 {
		return nil, fmt.Errorf("benchmarks: %s: %v printed no figures:\n%s%s", s.name, cmd.Args, out, errs.String())
	}
	return got, nil
}
