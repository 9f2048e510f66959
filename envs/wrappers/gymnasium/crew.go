package gymnasium

import (
	"errors"
	"fmt"
)

// crew is the children of a batch and whether they can still be asked. [Env] and parameters share it.
type crew struct {
	// options are valid and have their defaults filled in.
	options Options
	// children are in the order of their environments: child k has those from k·N/K to (k+1)·N/K.
	children []*child
	// closed is set by Close for good.
	closed bool
	// failed is the error after which only Close is left. nil while the batch is usable.
	failed error
}

// usable returns an error if the environments cannot be asked for anything. what is the name of the method that was
// called, for the error.
func (w *crew) usable(what string) error {
	if w.closed {
		return fmt.Errorf("gymnasium: %s was called after Close", what)
	}
	return w.failed
}

// ask has an idle child answer a rare request, such as a picture, through the pipes. message holds "call", the name
// of a method of child.py, and its arguments. ask returns the JSON and the bytes of the answer. If the child failed
// fatally, it is killed and the whole batch is unusable: outside Reset and Step no child is replaced.
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

// childOf returns the child that holds environment i of the batch.
func (w *crew) childOf(i int) (*child, error) {
	for _, c := range w.children {
		if i >= c.from && i < c.to {
			return c, nil
		}
	}
	return nil, fmt.Errorf("gymnasium: environment %d is not one of %d", i, w.options.NumEnvs)
}
