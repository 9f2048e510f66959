package gymnasium

import (
	"errors"
	"time"
)

// maxStarts is how many starts in a row may fail when one child is replaced. Environments that never start would
// otherwise be tried for ever if Options.Replace is negative.
const maxStarts = 3

// replaceFailed replaces the children that have a fault in e.faults. If Options.Replace does not allow so many, it
// returns the faults instead, and kills the children whose fault is fatal. what and seed are the command in progress,
// which the new children must catch up with.
func (e *Env) replaceFailed(what command, seed int64) error {
	failed := 0
	for _, fault := range e.faults {
		if fault != nil {
			failed++
		}
	}
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
		if fault = e.renew(i, what, fresh); fault == nil {
			break
		}
		// No further start is allowed: the batch is left without this child.
		if starts == maxStarts || e.options.Replace >= 0 && e.replaced >= e.options.Replace {
			return fault
		}
	}
	if what == commandStep {
		e.truncate(e.children[i])
	}
	return nil
}

// renew starts child i again and brings its environments to where the others are: same spaces, the reward parameters
// and curricula set before, a reset with seed. If it returns an error, the child is not usable.
func (e *Env) renew(i int, what command, seed int64) error {
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
	if what == commandStep && e.amp.width > 0 && !e.stepped {
		if err := e.probe(c, seed); err != nil {
			return err
		}
	}
	return e.again(c, commandReset, seed)
}

// again has one child do a command that all others have done, and copies what it wrote. Its time begins now.
func (e *Env) again(c *child, what command, seed int64) error {
	c.idle = false
	c.block.Load().seed = seed
	c.begin(what)
	return e.gather(c, what, time.Now().Add(e.options.Timeout))
}

// probe fills in the AMP observations of a child that was lost in the very first step. Usually truncate takes those
// of the step before, and there is none. So the new child makes one step with the actions asked for, and only the AMP
// observations of that step are used. A discriminator therefore never sees a row that no environment has shown.
func (e *Env) probe(c *child, seed int64) error {
	if err := e.again(c, commandReset, seed); err != nil {
		return err
	}
	if err := e.again(c, commandStep, -1); err != nil {
		return err
	}
	copy(e.amp.former[c.from*e.amp.width:c.to*e.amp.width], e.amp.now[c.from*e.amp.width:])
	clear(e.infos[c.from:c.to])
	return nil
}
