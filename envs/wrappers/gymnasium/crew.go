package gymnasium

import (
	"errors"
	"fmt"
)

// usable returns an error if the environments cannot be asked for anything. what is the name of the method that was
// called, for the error.
func (e *Env) usable(what string) error {
	if e.closed {
		return fmt.Errorf("gymnasium: %s was called after Close", what)
	}
	return e.failed
}

// ask has an idle child answer a rare request, such as a picture, through the pipes. message holds "call", the name
// of a method of child.py, and its arguments. ask returns the JSON and the bytes of the answer. If the child failed
// fatally, it is killed and the whole batch is unusable: outside Reset and Step no child is replaced.
func (e *Env) ask(c *child, message map[string]any) (head, payload []byte, err error) {
	if err := e.usable("a method"); err != nil {
		return nil, nil, err
	}
	if !c.idle {
		return nil, nil, errors.New("gymnasium: an error has stopped the environments: call Reset first")
	}
	c.idle = false
	head, payload, err = c.call(message, e.options.Timeout)
	c.idle = err == nil || !isFatal(err)
	if !c.idle {
		c.kill()
		e.failed = err
	}
	return head, payload, err
}

// childOf returns the child that holds environment i of the batch.
func (e *Env) childOf(i int) (*child, error) {
	for _, c := range e.children {
		if i >= c.from && i < c.to {
			return c, nil
		}
	}
	return nil, fmt.Errorf("gymnasium: environment %d is not one of %d", i, e.options.NumEnvs)
}
