// Command act has every policy of a folder act, as a program for a machine without libtorch does: NAME.safetensors upon
// the rows of NAME.observations gives NAME.actions, both float32 in little-endian order. TestAgreesElsewhere builds and
// runs it.
package main

import (
	"encoding/binary"
	"log"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/gorl-dev/gorl/infer"
)

func main() {
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*.safetensors"))
	if err != nil {
		log.Fatal(err)
	}
	for _, file := range files {
		if err := act(strings.TrimSuffix(file, ".safetensors")); err != nil {
			log.Fatalf("%s: %v", file, err)
		}
	}
}

func act(name string) error {
	data, err := os.ReadFile(name + ".safetensors")
	if err != nil {
		return err
	}
	policy, err := infer.Decode(data)
	if err != nil {
		return err
	}
	rows, err := os.ReadFile(name + ".observations")
	if err != nil {
		return err
	}
	observations := make([]float32, len(rows)/4)
	for i := range observations {
		observations[i] = math.Float32frombits(binary.LittleEndian.Uint32(rows[4*i:]))
	}
	sp := policy.Spaces()
	actions := make([]float32, len(observations)/sp.Observation.Width()*sp.Action.Width())
	if err := policy.ActBatch(observations, actions); err != nil {
		return err
	}
	out := make([]byte, 0, 4*len(actions))
	for _, x := range actions {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return os.WriteFile(name+".actions", out, 0o600)
}
