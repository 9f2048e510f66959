package gymnasium

import (
	"errors"
	"time"
)

// maxStarts is how often in a row a child is started in the place of another before it is an error.
const maxStarts = 3

// blameAll replaces all children: one of them has written over the header of the shared memory, and it cannot be told
// which.
func (e *Env) blameAll(cause error, what command, seed int64) error {
	for i, c := range e.children {
		e.faults[i] = c.fault(FaultProtocol, cause, "%v", cause)
	}
	return e.replaceFailed(what, seed)
}

// replaceFailed puts new children in the place of those with a fault, or returns the faults where there may be no more.
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

// replace starts a new child in the place of child i and resets its environments.
func (e *Env) replace(i int, fault error, what command, seed int64) error {
	for starts := 1; ; starts++ {
		e.children[i].kill()
		var child *ChildError
		if e.options.OnFault != nil && errors.As(fault, &child) {
			e.options.OnFault(child)
		}
		e.replaced++
		fresh := seed
		if what != commandReset || seed < 0 { // seeds that no environment had
			fresh = e.lastSeed + int64(e.replaced)*int64(e.options.NumEnvs)
		}
		if fault = e.renew(i, what, fresh); fault == nil {
			break
		}
		if starts == maxStarts || e.options.Replace >= 0 && e.replaced >= e.options.Replace {
			return fault
		}
	}
	if what == commandStep {
		e.truncate(e.children[i])
	}
	return nil
}

// renew starts child i anew, with what was set before in its environments.
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
	if what == commandStep && e.wM > 0 && !e.stepped {
		if err := e.probe(c, seed); err != nil {
			return err
		}
	}
	return e.again(c, commandReset, seed)
}

// again has a new child do a command.
func (e *Env) again(c *child, what command, seed int64) error {
	c.idle = false
	c.block.Load().seed = seed
	c.begin(what)
	return e.gather(c, what, time.Now().Add(e.options.Timeout))
}

// probe fills in the AMP observations of a child that is lost in the first step, when none is known that could stand
// for those of the episodes cut short: its successor makes a step with the actions that were asked for, and nothing
// else of that step is used. So a discriminator never sees a row that no environment has shown.
func (e *Env) probe(c *child, seed int64) error {
	if err := e.again(c, commandReset, seed); err != nil {
		return err
	}
	if err := e.again(c, commandStep, -1); err != nil {
		return err
	}
	copy(e.own.formerAMP[c.from*e.wM:c.to*e.wM], e.own.amp[c.from*e.wM:])
	clear(e.infos[c.from:c.to])
	return nil
}
