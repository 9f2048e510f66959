package robot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"
)

// remembered is the number of the last steps whose durations [Controller.Drive] keeps.
const remembered = 1 << 16

// Operator is the person at a robot. Both fields are optional.
type Operator struct {
	// Toggle stops the robot, as [Controller.Stop] does, or ends damping mode by [Controller.Reset].
	Toggle <-chan struct{}
	// Changed is called between steps when damping mode begins, with the reason, and with nil when it ends.
	Changed func(*Fault)
}

// Times are the durations of control steps, without waiting: from the newest packet in hand to the targets sent. Median
// and P99, which 99 % do not exceed, are those of the last 65536 steps. Longest is that of all.
type Times struct {
	Steps                int
	Median, P99, Longest time.Duration
}

// Drive drives a robot over a link until ctx is done. Each read of the link must return one packet, as of a UDP socket;
// see the package's comment for the format. Every [Controller.Period] the packets that have come are received, and
// targets are sent. The last targets are those of damping mode. Errors of the link count as silence: a robot may start
// later, and the watchdog notices if it stops. The error is that of the policy's memory in Reset.
func (c *Controller) Drive(ctx context.Context, link net.Conn, o Operator) (Times, error) {
	packets := make(chan []byte, 256)
	go listen(link, packets)
	defer func() {
		_ = link.SetReadDeadline(time.Unix(1, 0)) // ends the read
		for range packets {                       // until it is closed
		}
		_ = link.SetReadDeadline(time.Time{})
	}()
	tick := time.NewTicker(c.period)
	defer tick.Stop()
	var out []byte
	var times Times
	took := make([]time.Duration, 0, remembered)
	told := c.fault
	tell := func() {
		if c.fault != told && o.Changed != nil {
			o.Changed(c.fault)
		}
		told = c.fault
	}
	for over := false; !over; {
		select {
		case <-ctx.Done():
			over = true
			c.Stop()
		case <-o.Toggle:
			if c.fault != nil {
				if err := c.Reset(); err != nil {
					return times, fmt.Errorf("robot: end damping mode: %w", err)
				}
				tell()
				continue // the next tick is the first step
			}
			c.Stop()
		case <-tick.C:
		}
		begun := time.Now()
		for range len(packets) {
			c.Receive(begun, <-packets)
		}
		out = c.Step(begun).Append(out[:0])
		_, _ = link.Write(out) // a robot that is not there gets no targets
		last := time.Since(begun)
		if times.Longest = max(times.Longest, last); len(took) < remembered {
			took = append(took, last)
		} else {
			took[times.Steps%remembered] = last
		}
		times.Steps++
		tell()
	}
	slices.Sort(took)
	times.Median, times.P99 = took[len(took)/2], took[len(took)*99/100]
	return times, nil
}

// listen passes packets on until the link is closed or its deadline has passed.
func listen(link net.Conn, packets chan<- []byte) {
	defer close(packets)
	b := make([]byte, 1<<16)
	for {
		n, err := link.Read(b)
		switch {
		case err == nil:
			packets <- slices.Clone(b[:n])
		case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed), errors.Is(err, io.EOF):
			return
		default: // "refused": the robot is not there yet
			time.Sleep(time.Millisecond)
		}
	}
}
