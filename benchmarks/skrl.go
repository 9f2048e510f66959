package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// findPeers returns the Python of `make peers`, or "" with a word of why there is none.
func findPeers() string {
	python := filepath.Join(os.Getenv("GORL_PEERS"), "bin", "python")
	if os.Getenv("GORL_PEERS") == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			cache = "."
		}
		python = filepath.Join(cache, "gorl", "peers", "bin", "python")
	}
	if err := exec.Command(python, "-c", "import skrl").Run(); err != nil {
		fmt.Printf("skrl's side is left out: %s cannot import skrl (%v); `make peers` sets it up.\n\n", python, err)
		return ""
	}
	return python
}

// skrl runs the other side in a process of its own. kernels, where not empty, makes OpenBLAS use the same kernels as
// gorl.
func skrl(python, size string, threads int, kernels string) ([]measure, error) {
	args := []string{filepath.Join("benchmarks", "skrl_update.py"), size}
	if _, ok := networks[size]; ok {
		args[0] = filepath.Join("benchmarks", "skrl_networks.py")
	}
	if size == "walker" || size == walkerOverlap {
		args = []string{filepath.Join("benchmarks", "skrl_walker.py"), "--threads", strconv.Itoa(threads)}
	}
	cmd := exec.Command(python, args...)
	// PyTorch's own setting does not reach OpenBLAS's pool of threads.
	cmd.Env = append(os.Environ(), "OPENBLAS_NUM_THREADS=1")
	if kernels != "" {
		cmd.Env = append(cmd.Env, "OPENBLAS_CORETYPE="+kernels)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("benchmarks: %v: %w\n%s", cmd.Args, err, errs.String())
	}
	var got []measure
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var line struct {
			Measure        string  `json:"measure"`
			Median         float64 `json:"median_ms"`
			StepsPerSecond float64 `json:"steps_per_second"`
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.Measure == "" {
			continue
		}
		if line.Measure == "steps_per_second" {
			line.Median = line.StepsPerSecond
		}
		got = append(got, measure{line.Measure, line.Median})
	}
	if len(got) == 0 {
		return nil, fmt.Errorf("benchmarks: %v printed no figures:\n%s%s", cmd.Args, out, errs.String())
	}
	return got, nil
}
