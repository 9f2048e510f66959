package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/spaces"
)

// spaces returns the spaces of the flags. Without the flags they are the zero value.
func (f *checkFlags) spaces() (set spaces.Set, err error) {
	for _, x := range []struct {
		flag, text string
		space      *spaces.Space
	}{{"observation-space", f.observation, &set.Observation}, {"action-space", f.action, &set.Action},
		{"state-space", f.state, &set.State}} {
		if x.text == "" {
			continue
		}
		if *x.space, err = parseSpace(x.text); err != nil {
			return set, commandline.Usagef("--%s is %q; want for instance 48, Box(64, 64, 3), Discrete(5), "+
				"MultiDiscrete(3, 2) or Dict(joints=12, camera=Box(64, 64, 3)): %w", x.flag, x.text, err)
		}
	}
	return set, nil
}

// parseSpace reads a space in the form of the flags. A Box has no limits but for pictures, Box(height, width,
// channels).
func parseSpace(text string) (spaces.Space, error) {
	kind, inner, nested := strings.Cut(strings.TrimSpace(text), "(")
	if !nested {
		kind, inner = "Box", kind+")"
	}
	inner, closed := strings.CutSuffix(inner, ")")
	if !closed {
		return spaces.Space{}, errors.New("a parenthesis is missing")
	}
	var numbers []int
	entries := map[string]spaces.Space{}
	for _, part := range splitOutside(inner) {
		if name, value, named := strings.Cut(part, "="); kind == "Dict" && named {
			entry, err := parseSpace(value)
			if err != nil {
				return entry, err
			}
			entries[strings.TrimSpace(name)] = entry
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 {
			return spaces.Space{}, fmt.Errorf("%q is no size", part)
		}
		numbers = append(numbers, n)
	}
	var s spaces.Space
	switch {
	case kind == "Box":
		s = spaces.Unbounded(numbers...)
	case kind == "Discrete" && len(numbers) == 1:
		s = spaces.NewDiscrete(numbers[0])
	case kind == "MultiDiscrete":
		s = spaces.NewMultiDiscrete(numbers...)
	case kind == "Dict" && len(numbers) == 0:
		s = spaces.NewDict(entries)
	default:
		return s, fmt.Errorf("there is no space %s of %d numbers", kind, len(numbers))
	}
	return s, s.Validate()
}

// splitOutside splits a text at the commas that are not in parentheses.
func splitOutside(text string) (parts []string) {
	depth, from := 0, 0
	for i, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return append(parts, text[from:])
}

// outline is an environment that has spaces and cannot step: it stands in for one of another process.
type outline struct {
	set spaces.Set
	n   int
}

var errOutline = errors.New("the environment was not started: --check only builds what trains in it")

// NumEnvs returns the number of environments of the configuration.
func (o *outline) NumEnvs() int { return o.n }

// Spaces returns the spaces of the command line.
func (o *outline) Spaces() spaces.Set { return o.set }

// Reset returns an error.
func (o *outline) Reset(int64) (*envs.Step, error) { return nil, errOutline }

// Step returns an error.
func (o *outline) Step([]float32) (*envs.Step, error) { return nil, errOutline }

// Close does nothing.
func (o *outline) Close() error { return nil }

// Terminate returns an error.
func (o *outline) Terminate([]bool) error { return errOutline }

// Observe returns an error.
func (o *outline) Observe() (*envs.Step, error) { return nil, errOutline }

// MarshalState returns an error.
func (o *outline) MarshalState() ([]byte, error) { return nil, errOutline }

// RestoreState returns an error.
func (o *outline) RestoreState([]byte) error { return errOutline }

// CollectReferenceMotions returns zeros.
func (o *outline) CollectReferenceMotions(n int, _ *rand.Rand) ([]float32, error) {
	return o.set.AMPObservation.Rows(n), nil
}

// CollectOverlappingMotions returns zeros.
func (o *outline) CollectOverlappingMotions(n int, _ *rand.Rand) ([]float32, error) {
	return o.set.AMPObservation.Rows(2 * n), nil
}

// needsSpaces reports whether --check has to know the spaces of the environment from its flags.
func (f *checkFlags) needsSpaces(c runfile.Sections) bool {
	return f.mode == checkSettings && !inProcess(c)
}

// newEnvironment makes the environment of a configuration. For --check, environments of other processes are replaced by
// an outline, which has spaces and cannot step.
func (f *checkFlags) newEnvironment(c runfile.Sections) (envs.Env, error) {
	if !f.needsSpaces(c) {
		return makeEnvironment(c)
	}
	full, err := catalog.Settings(c.Section("environment"))
	if err != nil {
		return nil, wrong(err)
	}
	n, _ := config.Whole(full["num_envs"])
	set, err := f.spaces()
	if err != nil {
		return nil, err
	}
	if f.action == "" {
		set = assumedSpaces(c)
	}
	agent := c.Section("agent")
	switch strings.ToUpper(textOf(agent["class"])) {
	case "IPPO", "MAPPO":
		set = seated(c, set)
	case "AMP":
		size, _ := config.Whole(full["amp_size"])
		frames, _ := config.Whole(agent["amp_observation_frames"])
		set.AMPObservation = spaces.Unbounded(cmp.Or(size, max(frames, 1)*64))
	}
	return &outline{set: set, n: n}, nil
}

// assumedSpaces returns spaces to build agents for, if those of the environment are unknown: a vector of observations,
// and actions that the class of the policy has.
func assumedSpaces(c runfile.Sections) spaces.Set {
	set := spaces.Set{Observation: spaces.Unbounded(1024), Action: spaces.NewBox(-1, 1, 1)}
	agent := c.Section("agent")
	for _, key := range []string{"observation_preprocessor_kwargs", "state_preprocessor_kwargs"} {
		kwargs, _ := agent[key].(map[string]any)
		if size, ok := config.Whole(kwargs["size"]); ok && size > 0 {
			set.Observation = spaces.Unbounded(size)
		}
	}
	policy, _ := c.Section("models")["policy"].(map[string]any)
	switch class, _ := policy["class"].(string); {
	case strings.HasPrefix(class, "Categorical"):
		set.Action = spaces.NewDiscrete(2)
	case strings.HasPrefix(class, "MultiCategorical"):
		set.Action = spaces.NewMultiDiscrete(2, 2)
	}
	return set
}

// seated returns the spaces of an environment in which every agent has those of set, and all share a state. The agents
// are those that models or settings of the agent are given for; otherwise two stand for all.
func seated(c runfile.Sections, set spaces.Set) spaces.Set {
	names := []string{"agent_0", "agent_1"}
	models, agent := c.Section("models"), c.Section("agent")
	if models["policy"] == nil && models["mlp"] == nil && len(models) > 0 {
		names = slices.Sorted(maps.Keys(models))
	}
	for key, value := range agent {
		of, ok := value.(map[string]any)
		if ok && len(of) > 0 && key != "experiment" && !strings.HasSuffix(key, "_kwargs") {
			names = slices.Sorted(maps.Keys(of))
		}
	}
	seats := make([]spaces.Seat, len(names))
	for i, name := range names {
		seats[i] = spaces.Seat{Name: name, Observation: set.Observation, Action: set.Action}
	}
	if set.State.Kind == spaces.None {
		set.State = spaces.Unbounded(1024)
	}
	return spaces.NewSeats(set.State, seats...)
}
