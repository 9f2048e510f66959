package gymnasium

import (
	"encoding/json"
	"sync/atomic"
	"time"
)

// nap is how long wait sleeps before it checks whether the child still lives. A shorter one notices a death sooner,
// and costs processor time in long steps.
const nap = 50 * time.Millisecond

// begin gives the child a command. A child that has ended does not answer, which wait notices.
func (c *child) begin(what command) {
	c.sequence++
	c.block.Load().start(what, c.sequence)
}

// wait returns when the child has done its last command, or with the reason why it will not. It sleeps on the control
// block.
func (c *child) wait(deadline time.Time) error {
	before, block := c.sequence-1, c.block.Load()
	done := atomic.LoadUint32(&block.done)
	halts := 0
	for naps := 0; done == before; naps++ {
		if naps > 0 {
			if err := c.trouble(deadline, &halts); err != nil {
				return err
			}
		}
		futexWait(&block.done, before, nap)
		done = atomic.LoadUint32(&block.done)
	}
	if done != c.sequence || !block.intact() {
		return c.fault(FaultProtocol, nil,
			"its control block was written over (by itself or a neighbour): it counts %d commands of %d", done,
			c.sequence)
	}
	return nil
}

// finish reads the status of a command that is done. It returns the message that came with it, a nil head for none,
// or the error that the message holds.
func (c *child) finish(deadline time.Time) (head, payload []byte, err error) {
	status := atomic.LoadUint32(&c.block.Load().status)
	switch {
	case status == 0:
		return nil, nil, nil
	case status&statusMessage == 0 || status > statusMessage|statusFailed:
		return nil, nil, c.fault(FaultProtocol, nil,
			"its control block was written over (by itself or a neighbour): the status is %#x", status)
	}
	if head, payload, err = c.read(deadline); err != nil {
		return nil, nil, err
	}
	if status&statusFailed != 0 {
		if err := c.refusal(head, FaultException); err != nil {
			return nil, nil, err
		}
		return nil, nil, c.fault(FaultProtocol, nil, "failed without saying why")
	}
	return head, payload, nil
}

// call has the child do something rare (commandCall) within timeout, and returns its answer. message holds "call", a
// method of child.py, and its arguments.
func (c *child) call(message map[string]any, timeout time.Duration) (head, payload []byte, err error) {
	deadline := time.Now().Add(timeout)
	b, err := json.Marshal(message)
	if err != nil {
		return nil, nil, c.fault(FaultProtocol, err, "cannot be told: %v", err)
	}
	c.begin(commandCall)
	if err := c.send(b, deadline); err != nil {
		return nil, nil, err
	}
	if err := c.wait(deadline); err != nil {
		return nil, nil, err
	}
	return c.finish(deadline)
}
