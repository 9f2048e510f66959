package gymnasium

import (
	"errors"
	"fmt"
)

// crew are the children of a batch.
type crew struct {
	options  Options
	children []*child
	closed   bool
	failed   error // nothing but Close helps
}

// usable returns an error if the environments cannot be asked for anything.
func (w *crew) usable(what string) error {
	if w.closed {
		return fmt.Errorf("gymnasium: %s was called after Close", what)
	}
	return w.failed
}

// ask has child c do what is rare. An error that leaves the child useless ends the batch.
func (w *crew) ask(c *child, message map[string]any) (head, payload []byte, err error) {
	if err := w.usable("a method"); err != nil {
		return nil, nil, err
	}
	if !c.idle {
		return nil, nil, errors.New("gymnasium: an error has stopped the environments: call Reset first")
	}
	c.idle = false
	head, payload, err = c.call(message, w.options.Timeout)
	c.idle = err == nil || !isFatal(err)
	if !c.idle {
		c.kill()
		w.failed = err
	}
	return head, payload, err
}

// childOf is the child that has environment i.
func (w *crew) childOf(i int) (*child, error) {
	for _, c := range w.children {
		if i >= c.from && i < c.to {
			return c, nil
		}
	}
	return nil, fmt.Errorf("gymnasium: environment %d is not one of %d", i, w.options.NumEnvs)
}
