package convert_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint/convert"
)

// Weights that PyTorch saved, as NumPy reads them.
func ExampleFile() {
	dir, err := os.MkdirTemp("", "convert")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	to := filepath.Join(dir, "policy.npz")
	if err := convert.File("../skrl/testdata/amp_separately/policy_1.pt", to); err != nil {
		panic(err)
	}
	s, err := convert.Read(to)
	if err != nil {
		panic(err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Arrays)) {
		fmt.Println(name, s.Arrays[name].DType, s.Arrays[name].Shape)
	}
	// Output:
	// log_std_parameter F32 [2]
	// net_container.0.bias F32 [5]
	// net_container.0.weight F32 [5 3]
	// net_container.2.bias F32 [2]
	// net_container.2.weight F32 [2 5]
}
