package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/convert"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/checkpoint/skrl"
	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/trainers"
)

// fromSkrl fits a checkpoint of skrl into a checkpoint of the agent that shall continue.
func (k conversion) fromSkrl(path string) (snap *checkpoint.Snapshot, note string, err error) {
	c, err := skrl.Read(path)
	if err != nil {
		return nil, "", err
	}
	like, place, err := k.likeness(path)
	if err != nil {
		return nil, "", err
	}
	var left skrl.Left
	if *k.partial {
		snap, left, err = c.Merge(like)
	} else {
		snap, err = c.Snapshot(like)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s does not fit the agent of %s: %w", path, place, err)
	}
	used := slices.DeleteFunc(modules(c), func(name string) bool { return slices.Contains(left.Unused, name) })
	note = fmt.Sprintf("\nCarried over: %s. The rest is that of %s.", strings.Join(used, ", "), place)
	if len(left.Missing) > 0 {
		note += fmt.Sprintf("\nNot in %s: %s.", path, strings.Join(left.Missing, ", "))
	}
	if len(left.Unused) > 0 {
		note += fmt.Sprintf("\nNot used: %s.", strings.Join(left.Unused, ", "))
	}
	return snap, note, nil
}

// numbered matches the number of timesteps in a name such as agent_2000.pt.
var numbered = regexp.MustCompile(`_(\d+)\.[a-z]+$`)

// likeness returns the checkpoint that --like gives, and its path. For a configuration it is that of a new agent, which
// makes an environment for its spaces. Such an agent has the timestep in the name of skrl's file.
func (k conversion) likeness(file string) (snap *checkpoint.Snapshot, place string, err error) {
	if !isYAML(*k.like) {
		var saved *checkpoint.Saved
		if place, err = inspection.Find(*k.like); err == nil {
			saved, err = checkpoint.Load(place)
		}
		if err != nil {
			return nil, "", err
		}
		return saved.Snapshot, place, nil
	}
	c, err := readConfiguration(*k.like, nil)
	if err != nil {
		return nil, "", err
	}
	k.adjust(c)
	if err := check(c); err != nil || c.Kind() != runfile.Single {
		return nil, "", commandline.Usagef("--like %s: want the configuration of one agent: %w", *k.like, err)
	}
	env, err := makeEnvironment(c)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", *k.like, err)
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	trainer, err := trainers.FromDict(c.Of(runfile.Trainers), env)
	if err != nil {
		return nil, "", commandline.Usagef("%s: %w", *k.like, err)
	}
	defer func() { err = errors.Join(err, trainer.Agent().Close()) }()
	if snap, err = trainer.Snapshot(); err != nil {
		return nil, "", err
	}
	own, _ := snap.Values[layout.Trainer].(map[string]any)
	if found := numbered.FindStringSubmatch(file); found != nil && own != nil {
		if own["timestep"], err = strconv.ParseInt(found[1], 10, 64); err != nil {
			return nil, "", err
		}
	}
	return snap, fmt.Sprintf("a new agent; play it with: %s eval --config %s TO", program,
		process.QuoteWord(*k.like)), nil
}

func modules(c *skrl.Checkpoint) (names []string) {
	for _, m := range c.Modules {
		names = append(names, m.Name)
	}
	return names
}

// toSkrl writes a checkpoint of skrl.
func (k conversion) toSkrl(snap *checkpoint.Snapshot, from, to string) (said string, err error) {
	o := skrl.Options{WithoutRest: *k.rest}
	if *k.like != "" {
		if o.Like, err = skrl.Read(*k.like); err != nil {
			return "", err
		}
	}
	c, err := skrl.New(snap, o)
	if err != nil {
		return "", err
	}
	if err := cmp.Or(os.MkdirAll(filepath.Dir(to), 0o777), c.WriteFile(to)); err != nil {
		return "", err
	}
	written, err := convert.Read(to)
	if err != nil {
		return "", err
	}
	said = fmt.Sprintf("%s → %s: %s\nFor skrl's agent.load: %s.", from, to, amount(written, to),
		strings.Join(modules(c), ", "))
	return said + wrappersLeft(snap, from), nil
}

// wrappersLeft lists the wrappers of the training environment that a checkpoint of skrl cannot hold, and says what to
// do.
func wrappersLeft(snap *checkpoint.Snapshot, from string) (note string) {
	var names []string
	if p, err := description.Of(snap.Values[layout.Description]); err == nil {
		for _, t := range p.Transforms {
			if t.Normalizes() {
				names = append(names, fmt.Sprintf("normalize_observation (epsilon %g)", t.Epsilon))
			}
			if t.Clips() {
				names = append(names, fmt.Sprintf("clip_observation (%g to %g)", t.Low, t.High))
			}
		}
	}
	if len(names) > 0 {
		note = fmt.Sprintf("\nnote: the file does not hold what the wrappers of the environment did to observations: "+
			"%s. In skrl, wrap the environment in the same, in this order, with the statistics in %s (the arrays "+
			"environment/statistics/...), or the policy acts on other observations than those that it has "+
			"learned from. gorl export writes a policy with them in it.", strings.Join(names, ", "), from)
	}
	for array := range snap.Arrays {
		wrapper, statistic, _ := layout.CutWrapperStatistic(array)
		if statistic == "variance" && strings.HasSuffix(wrapper, ".normalize_reward") {
			note += "\nnote: the file does not hold the statistics of normalize_reward; " +
				"training that goes on in skrl scales rewards differently."
		}
	}
	return called(note)
}
