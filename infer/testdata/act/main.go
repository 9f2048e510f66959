// Command act FOLDER N has every policy of a folder act in N environments, as a program for a machine without libtorch
// does: NAME.safetensors upon the rows of NAME.observations, N a step, gives NAME.actions, both float32 in
// little-endian order, and with the action masks of NAME.masks, which may be empty. Where a byte of NAME.ended is 1 the
// episode ends after the row. TestAgreesElsewhere builds and runs it.
package main

import (
	"encoding/binary"
	"log"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/infer"
)

func main() {
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*.safetensors"))
	if err != nil {
		log.Fatal(err)
	}
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	for _, file := range files {
		if err := act(strings.TrimSuffix(file, ".safetensors"), n); err != nil {
			log.Fatalf("%s: %v", file, err)
		}
	}
}

func act(name string, n int) error {
	data, err := os.ReadFile(name + ".safetensors")
	if err != nil {
		return err
	}
	policy, err := infer.Decode(data)
	if err != nil {
		return err
	}
	observations, err := read(name + ".observations")
	if err != nil {
		return err
	}
	masks, err := read(name + ".masks")
	if err != nil {
		return err
	}
	ended, err := os.ReadFile(name + ".ended")
	if err != nil {
		return err
	}
	sp := policy.Spaces()
	w, a, k := sp.Observation.Width(), sp.Action.Width(), sp.ActionMask.Width()
	actions := make([]float32, len(observations)/w*a)
	for at := 0; at < len(ended); at += n {
		err := policy.ActMasked(observations[at*w:(at+n)*w], masks[at*k:(at+n)*k], nil, actions[at*a:(at+n)*a])
		if err != nil {
			return err
		}
		for i, end := range ended[at : at+n] {
			if end == 1 {
				if err := policy.Reset(i); err != nil {
					return err
				}
			}
		}
	}
	out := make([]byte, 0, 4*len(actions))
	for _, x := range actions {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return os.WriteFile(name+".actions", out, 0o600)
}

// read returns the numbers of a file.
func read(path string) ([]float32, error) {
	data, err := os.ReadFile(path)
	values := make([]float32, len(data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values, err
}
