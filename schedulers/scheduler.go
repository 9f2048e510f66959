// Package schedulers has the learning-rate schedules of agents: adaptive to the policy's KL divergence, constant,
// linear, cosine, step-wise and exponential, each with a warm-up and a floor.
//
// A schedule is advanced once a learning epoch, as in skrl. Before the first step it stands at epoch 0, and after n
// steps at epoch n:
//
//	lr, err := schedulers.New("KLAdaptiveLR", 3e-4, map[string]any{"kl_threshold": 0.008})
//	// ...
//	for range epochs {
//		// one epoch of minibatches at lr.LearningRate()
//		lr.Step(meanKL)
//	}
//
// [New] makes every kind by its name from a dictionary with the argument names of skrl and PyTorch. The configuration
// structs say what these arguments mean.
package schedulers

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Scheduler is a learning rate that changes from one learning epoch to the next. It is used by one goroutine at a time.
type Scheduler interface {
	// Name is the schedule's name as [New] takes it, e.g. "KLAdaptiveLR".
	Name() string
	// Step ends a learning epoch. kl is the mean approximate KL divergence between the policies before and after
	// the epoch's minibatches, in nats; schedules that do not use it take any number.
	Step(kl float64)
	// LearningRate is the rate for the current epoch.
	LearningRate() float64
	// UsesKL reports whether Step looks at its argument.
	UsesKL() bool
	// Base is the learning rate that the schedule was made with, or that was last set.
	Base() float64
	// SetBase changes the learning rate that the schedule is built on, in the middle of a run, as a population's
	// mutation does. The current rate changes in proportion; the schedule's progress stays. lr must be positive
	// and finite, otherwise nothing changes.
	SetBase(lr float64) error
	// State is everything that Restore needs to continue, for checkpoints.
	State() map[string]float64
	// Restore continues from a State of a schedule of the same kind. A state with missing, unknown or impossible
	// entries is refused, and nothing changes.
	Restore(state map[string]float64) error
}

// Warmup is a linear rise of the learning rate at the beginning of training: epoch t < Steps runs at
// Factor + (1 − Factor)·t/Steps times the base rate, and the schedule proper begins at epoch Steps. The zero value is
// no warm-up.
type Warmup struct {
	// Steps is the number of epochs of the warm-up; 0 is none.
	Steps int64 `yaml:"warmup_steps" config:"min=0"`
	// Factor is the fraction of the base rate at epoch 0.
	Factor float64 `yaml:"warmup_factor" config:"min=0,max=1"`
}

// DefaultWarmupFactor is where a warm-up begins if the dictionary given to [New] does not say.
const DefaultWarmupFactor = 0.1

// at is the factor of epoch t, which lies inside the warm-up.
func (w Warmup) at(t int64) float64 {
	return w.Factor + (1-w.Factor)*float64(t)/float64(w.Steps)
}

func checkBase(lr float64) error {
	if !(lr > 0) || math.IsInf(lr, 1) {
		return fmt.Errorf("schedulers: the base learning rate is %g: want a finite number > 0", lr)
	}
	return nil
}

// checkState refuses a state whose entries are not exactly those named, or that holds what no schedule reaches.
func checkState(name string, state map[string]float64, keys ...string) error {
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if !slices.Contains(keys, key) {
			return fmt.Errorf("schedulers: %s: the state has an entry %q that this schedule does not know: was it "+
				"saved by another kind?", name, key)
		}
	}
	for _, key := range keys {
		v, ok := state[key]
		switch {
		case !ok:
			return fmt.Errorf("schedulers: %s: the state has no entry %q: was it saved by another kind?", name, key)
		case math.IsNaN(v) || math.IsInf(v, 0) || v < 0:
			return fmt.Errorf("schedulers: %s: the state's %q is %g: want a finite number ≥ 0", name, key, v)
		case key == "step" && (v != math.Trunc(v) || v > 1<<53):
			return fmt.Errorf("schedulers: %s: the state's %q is %g: want an integer", name, key, v)
		case key != "step" && v == 0:
			return fmt.Errorf("schedulers: %s: the state's %q is 0: want a number > 0", name, key)
		}
	}
	return nil
}
