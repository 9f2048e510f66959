package launch

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

// The environment of a member process.
const (
	// EnvConfig is the path of the population's canonical YAML file.
	EnvConfig = "GORL_PBT_CONFIG"
	// EnvPolicy is the member's policy, from 0.
	EnvPolicy = "GORL_PBT_POLICY_IDX"
	// EnvSlice is the number of intervals to train before yielding; 0 or absent: until the end.
	EnvSlice = "GORL_PBT_SLICE"
)

// envCompletionIndex is the policy in a pod of an Indexed Job.
const envCompletionIndex = "JOB_COMPLETION_INDEX"

// The exit statuses of a member process. Any other means that it failed.
const (
	// StatusFinished says that the policy is trained to its end.
	StatusFinished = 0
	// StatusYielded says that the member has made room for another and is to be started again when there is room.
	StatusYielded = 75
	// StatusRestart says that the member is to be started again at once, since a setting takes effect in a new process
	// only; it finds the setting in its state.
	StatusRestart = 76
	// StatusStopped says that a signal stopped the member, which has saved and can be continued.
	StatusStopped = 78
)

// statusUsage is that of a program that was called wrongly.
const statusUsage = 2

// Process is what a member process is told by whoever started it.
type Process struct {
	// Config is the path of the population's YAML file.
	Config string
	// Policy is the policy to train, from 0.
	Policy int
	// Slice is the number of intervals after which the process yields; 0 never.
	Slice int64
}

// FromEnvironment reads the environment that a member is started with. ok is false where this process was not started
// as a member: neither EnvPolicy nor Kubernetes' JOB_COMPLETION_INDEX beside EnvConfig is there.
func FromEnvironment() (p Process, ok bool, err error) { return fromEnvironment(os.Getenv) }

func fromEnvironment(getenv func(string) string) (p Process, ok bool, err error) {
	p.Config = getenv(EnvConfig)
	name, policy := EnvPolicy, getenv(EnvPolicy)
	if policy == "" {
		if policy = getenv(envCompletionIndex); policy == "" || p.Config == "" {
			return Process{}, false, nil
		}
		name = envCompletionIndex
	}
	if p.Config == "" {
		return Process{}, true, fmt.Errorf("launch: %s is set and %s is not; give the path of the population's YAML file", EnvPolicy, EnvConfig)
	}
	if p.Policy, err = strconv.Atoi(policy); err != nil || p.Policy < 0 || p.Policy >= maxPolicies {
		return Process{}, true, fmt.Errorf("launch: %s is %q; give the policy's number, 0 to %d", name, policy, maxPolicies-1)
	}
	if slice := getenv(EnvSlice); slice != "" {
		if p.Slice, err = strconv.ParseInt(slice, 10, 64); err != nil || p.Slice < 0 {
			return Process{}, true, fmt.Errorf("launch: %s is %q; give a number of intervals, 0 for no end", EnvSlice, slice)
		}
	}
	return p, true, nil
}

// ErrStopped is wrapped by the error of Run when its context ended: the population can be continued by the same call.
var ErrStopped = errors.New("stopped; run the same again to continue")
