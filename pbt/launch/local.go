package launch

// This file gives members that run on one machine a device each, where they see all devices: the configuration of the
// population says cuda:LOCAL, which is the same text for all members, and each puts its own number into it.

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
)

// LocalDevice stands in a population's file for the device of the member's own: "cuda:1" for the second member on a
// machine.
const LocalDevice = "cuda:LOCAL"

// EnvLocal is the place of a member among those that run on its machine, from 0. A launcher on this machine sets it; it
// is 0 for all members whom the launcher gives one device each to see.
const EnvLocal = "GORL_PBT_LOCAL_IDX"

// localIndex returns the place of this process among the members on its machine: of EnvLocal, else 0 if it sees one
// device only, else of SLURM_LOCALID, else 0.
func localIndex(getenv func(string) string) (int, error) {
	name := EnvLocal
	if getenv(name) == "" {
		if visible := getenv("CUDA_VISIBLE_DEVICES"); visible != "" && !strings.Contains(visible, ",") {
			return 0, nil
		}
		name = "SLURM_LOCALID"
	}
	value := cmp.Or(getenv(name), "0")
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n >= maxMembers {
		return 0, fmt.Errorf("launch: %s is %q; give the number of a device, from 0", name, value)
	}
	return n, nil
}

// Localised returns the sections of a run with the member's own device in place of LocalDevice, wherever it stands in
// agent and environment. Sections without LocalDevice are not copied, and the environment of the process is then not
// read.
func Localised(sections map[string]any) (map[string]any, error) {
	return localised(sections, os.Getenv)
}

func localised(sections map[string]any, getenv func(string) string) (map[string]any, error) {
	own := maps.Clone(sections)
	n, err := localIndex(getenv)
	device := strings.Replace(LocalDevice, "LOCAL", strconv.Itoa(n), 1)
	for _, name := range []string{"agent", "environment"} {
		section, found := replaced(sections[name], device)
		switch {
		case found && err != nil:
			return nil, err
		case found:
			own[name] = section
		}
	}
	return own, nil
}

// replaced returns a copy of a value with the device in place of LocalDevice. found is false if there is none in it.
func replaced(value any, device string) (copied any, found bool) {
	switch v := value.(type) {
	case string:
		if v == LocalDevice {
			return device, true
		}
	case map[string]any:
		c := make(map[string]any, len(v))
		for key, x := range v {
			own, has := replaced(x, device)
			c[key], found = own, found || has
		}
		return c, found
	case []any:
		c := make([]any, len(v))
		for i, x := range v {
			own, has := replaced(x, device)
			c[i], found = own, found || has
		}
		return c, found
	}
	return value, false
}
