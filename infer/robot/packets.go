package robot

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// The first bytes of packets, and the size of their header.
const (
	stateMark, targetsMark = "GRS1", "GRT1"
	headSize               = 24
)

// order is the byte order of all numbers.
var order = binary.LittleEndian

// head appends the header of both kinds of packets.
func head(b []byte, mark string, sequence uint32, t int64, joints, second, third int) []byte {
	b = order.AppendUint64(order.AppendUint32(append(b, mark...), sequence), uint64(t))
	b = order.AppendUint16(order.AppendUint16(b, uint16(joints)), uint16(second))
	return order.AppendUint16(order.AppendUint16(b, uint16(third)), 0)
}

// appendNumbers appends float32s.
func appendNumbers(b []byte, values ...float64) []byte {
	for _, v := range values {
		b = order.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return b
}

// readNumbers reads as many float32s as there is room for, and returns what follows.
func readNumbers(b []byte, values []float64) []byte {
	for i := range values {
		values[i] = float64(math.Float32frombits(order.Uint32(b[4*i:])))
	}
	return b[4*len(values):]
}

// AppendState appends the packet of a robot's measurements to b. Position and Velocity must be equally long.
func AppendState(b []byte, s *Sensors) []byte {
	b = head(b, stateMark, s.Sequence, s.Time, len(s.Position), len(s.Command), len(s.Estimates))
	for _, part := range s.parts() {
		b = appendNumbers(b, part...)
	}
	return b
}

// Receive reads a packet of measurements that arrived at the time now, see [Controller.Sense]. A packet of another kind
// or length causes a fault at the next step.
func (c *Controller) Receive(now time.Time, packet []byte) {
	s := &c.decoded
	joints, commands, estimates := len(s.Position), len(s.Command), len(s.Estimates)
	size := headSize + 4*(2*joints+7+commands+estimates)
	switch {
	case len(packet) < headSize || string(packet[:4]) != stateMark:
		c.malformed(fmt.Errorf("a packet of %d bytes does not begin with %s", len(packet), stateMark))
		return
	case int(order.Uint16(packet[16:])) != joints || int(order.Uint16(packet[18:])) != commands ||
		int(order.Uint16(packet[20:])) != estimates:
		c.malformed(fmt.Errorf("a packet has %d joints, %d commands and %d estimates; the policy's robot has %d, %d "+
			"and %d", order.Uint16(packet[16:]), order.Uint16(packet[18:]), order.Uint16(packet[20:]), joints,
			commands, estimates))
		return
	case len(packet) != size:
		c.malformed(fmt.Errorf("a packet has %d bytes, and should have %d", len(packet), size))
		return
	}
	s.Sequence, s.Time = order.Uint32(packet[4:]), int64(order.Uint64(packet[8:]))
	b := packet[headSize:]
	for _, part := range s.parts() {
		b = readNumbers(b, part)
	}
	c.Sense(now, s)
}

// Append appends the packet of targets to b.
func (t *Targets) Append(b []byte) []byte {
	mode := 0
	if t.Damping {
		mode = 1
	}
	b = head(b, targetsMark, t.Sequence, t.Time, len(t.Position), mode, 0)
	return appendNumbers(appendNumbers(appendNumbers(b, t.Position...), t.Stiffness...), t.Gain...)
}

// DecodeTargets reads a packet of targets, as a robot or a simulation does.
func DecodeTargets(packet []byte) (*Targets, error) {
	if len(packet) < headSize || string(packet[:4]) != targetsMark {
		return nil, fmt.Errorf("robot: a packet of %d bytes does not begin with %s", len(packet), targetsMark)
	}
	n := int(order.Uint16(packet[16:]))
	if len(packet) != headSize+12*n {
		return nil, fmt.Errorf("robot: a packet of targets for %d joints has %d bytes, and should have %d", n,
			len(packet), headSize+12*n)
	}
	t := &Targets{Sequence: order.Uint32(packet[4:]), Time: int64(order.Uint64(packet[8:])),
		Damping: order.Uint16(packet[18:]) == 1, Position: make([]float64, n), Stiffness: make([]float64, n),
		Gain: make([]float64, n)}
	readNumbers(readNumbers(readNumbers(packet[headSize:], t.Position), t.Stiffness), t.Gain)
	return t, nil
}
