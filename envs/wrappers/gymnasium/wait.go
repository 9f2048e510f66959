package gymnasium

import (
	"encoding/json"
	"sync/atomic"
	"time"
)

// nap is how long a wait lasts before it is seen whether the child still lives.
const nap = 50 * time.Millisecond

// begin gives the child a command, unless it has ended.
func (c *child) begin(what command) {
	c.sequence++
	c.block.Load().start(what, c.sequence)
}

// wait returns when the child has done its last command.
func (c *child) wait(deadline time.Time, spin time.Duration) error {
	before, block := c.sequence-1, c.block.Load()
	done := atomic.LoadUint32(&block.done)
	if done == before && spin > 0 {
		until := time.Now().Add(spin)
		for done == before && time.Now().Before(until) {
			done = atomic.LoadUint32(&block.done)
		}
	}
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

// finish reads the status of a command that is done, and the message that may come with it.
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

// call runs what is rare, and returns what came of it.
func (c *child) call(message map[string]any, timeout time.Duration) (head, payload []byte, err error) {
	deadline := time.Now().Add(timeout)
	b, err := json.Marshal(message)
	if err != nil {
		return nil, nil, c.fault(FaultProtocol, err, "cannot be told: %v", err)
	}
	c.begin(commandCall)
	if err := sendFrame(c.requests, b, deadline); err != nil {
		return nil, nil, c.fault(FaultProtocol, err, "does not read: %v", err)
	}
	if err := c.wait(deadline, 0); err != nil {
		return nil, nil, err
	}
	return c.finish(deadline)
}
