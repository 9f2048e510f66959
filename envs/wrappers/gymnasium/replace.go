package gymnasium

import (
	"errors"
	"time"
)

// maxStarts is how many starts in a row may fail when one child is replaced. Environments that never start would
// otherwise be tried for ever if Options.Replace is negative.
const maxStarts = 3

// replaceFailed replaces the children that have a fault in e.faults. failed is their number. If Options.Replace does
// not allow so many, it returns the faults instead, and kills the children whose fault is fatal. what and seed are the
// command in progress, which the new children must catch up with.
func (e *Env) replaceFailed(failed int, what command, seed int64) error {
	if e.options.Replace >= 0 && e.replaced+failed > e.options.Replace {
		err := errors.Join(e.faults...)
		for i, fault := range e.faults {
			if fault != nil && isFatal(fault) {
				e.children[i].kill()
				e.failed = err
			}
		}
		return err
	}
	for i, fault := range e.faults {
		if fault == nil {
			continue
		}
		if err := e.replace(i, fault, what, seed); err != nil {
			e.failed = err
			return err
		}
	}
	return nil
}

// replace starts a new child in the place of child i and resets its environments. Each failed start counts as a
// replacement and is tried again, up to maxStarts times. During a step, the environments' episodes are truncated.
func (e *Env) replace(i int, fault error, what command, seed int64) error {
	for starts := 1; ; starts++ {
		e.children[i].kill()
		var child *ChildError
		if e.options.OnFault != nil && errors.As(fault, &child) {
			e.options.OnFault(child)
		}
		e.replaced++
		fresh := seed
		// In a step, or a reset without a seed, the last seed would repeat episodes that have been seen. These seeds
		// no environment has had: they follow those of the batch.
		if what != commandReset || seed < 0 {
			fresh = e.lastSeed + int64(e.replaced)*int64(e.options.NumEnvs)
		}
		if fault = e.renew(i, fresh); fault == nil {
			break
		}
		// No further start is allowed: the batch is left without this child.
		if starts == maxStarts || e.options.Replace >= 0 && e.replaced >= e.options.Replace {
			return fault
		}
	}
	if what == commandStep {
		// In the first step there is no AMP observation of the step before that could stand for the lost one.
		e.truncate(e.children[i], e.amp.width > 0 && !e.stepped)
	}
	return nil
}

// renew starts child i again and brings its environments to where the others are: same spaces, the reward parameters
// and curricula set before, a reset with seed. If it returns an error, the child is not usable.
func (e *Env) renew(i int, seed int64) error {
	deadline := time.Now().Add(e.options.StartTimeout)
	copy(e.memory, e.header) // the new child reads it
	old := e.children[i]
	c, err := startChild(&e.options, i, old.from, old.to, e.file, e.stderr, deadline)
	if err != nil {
		return err
	}
	e.children[i] = c
	if err := e.meet(c, false, deadline); err != nil {
		return err
	}
	if err := c.attach(e.layout, e.memory, deadline); err != nil {
		return err
	}
	if err := e.reapply(c); err != nil {
		return err
	}
	c.idle = false
	c.block.Load().seed = seed
	c.begin(commandReset)
	return e.gather(c, commandReset, time.Now().Add(e.options.Timeout))
}
