package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/convert"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/checkpoint/skrl"
	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/models/description"
)

// fromSkrl fits a checkpoint of skrl into a checkpoint of the agent that shall continue.
func (k conversion) fromSkrl(path string) (snap *checkpoint.Snapshot, note string, err error) {
	c, err := skrl.Read(path)
	if err != nil {
		return nil, "", err
	}
	place, err := inspection.Find(*k.like)
	if err != nil {
		return nil, "", err
	}
	saved, err := checkpoint.Load(place)
	if err != nil {
		return nil, "", err
	}
	note = fmt.Sprintf("\nCarried over: %s. The rest is that of %s.", strings.Join(modules(c), ", "), place)
	if !*k.partial {
		if snap, err = c.Snapshot(saved.Snapshot); err != nil {
			return nil, "", fmt.Errorf("%s does not fit the agent of %s: %w", path, place, err)
		}
		return snap, note, nil
	}
	snap, left, err := c.Merge(saved.Snapshot)
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

func modules(c *skrl.Checkpoint) []string {
	var names []string
	for _, m := range c.Modules {
		names = append(names, m.Name)
	}
	return names
}

// toSkrl writes a checkpoint of skrl.
func (k conversion) toSkrl(snap *checkpoint.Snapshot, from, to string) (said string, err error) {
	o := skrl.Options{PlainNames: *k.plain, LearningRate: *k.rate, WithoutRest: *k.rest}
	if *k.like != "" {
		if o.Like, err = skrl.Read(*k.like); err != nil {
			return "", err
		}
	}
	c, err := skrl.New(snap, o)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return "", err
	}
	if err := c.WriteFile(to); err != nil {
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
