package snippets

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/infer/robot"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// driver is the program of a robot, and the robot's end of the connection.
type driver struct {
	t        *testing.T
	conn     *net.UDPConn
	keys     io.Writer
	sequence uint32
}

// drive starts the program for the policy of infer/robot's tests.
func drive(t *testing.T) *driver {
	t.Helper()
	loopback := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}
	free, own := must.Get(net.ListenUDP("udp", loopback))(t), must.Get(net.ListenUDP("udp", loopback))(t)
	program, address := free.LocalAddr().(*net.UDPAddr), own.LocalAddr().(*net.UDPAddr)
	must.Do(t, errors.Join(own.Close(), free.Close()))
	conn := must.Get(net.DialUDP("udp", address, program))(t)
	command := exec.Command(filepath.Join(programs, "robot"), "-listen", program.String(), "-robot", address.String(),
		"../infer/robot/testdata/leg.safetensors")
	command.Stderr = new(bytes.Buffer)
	keys := must.Get(command.StdinPipe())(t)
	must.Do(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		if err := command.Wait(); err != nil {
			t.Errorf("%v\n%s", err, command.Stderr)
		}
		_ = conn.Close()
	})
	return &driver{t: t, conn: conn, keys: keys}
}

// until sends states, each changed by change, in answer to targets, until targets damp or do not. A slow machine may
// make the program fault in between, so that Enter is pressed while targets are to drive.
func (d *driver) until(damping bool, change func(packet []byte) []byte) *robot.Targets {
	d.t.Helper()
	begun, buffer := time.Now(), make([]byte, 2048)
	for time.Since(begun) < 20*time.Second {
		d.sequence++
		packet := robot.AppendState(nil, &robot.Sensors{Sequence: d.sequence, Position: []float64{0.5, 0.5},
			Velocity: []float64{0.1, -0.2}, Quaternion: [4]float64{1, 0, 0, 0}, Command: []float64{1}})
		_, _ = d.conn.Write(change(packet)) // refused while the program starts
		_ = d.conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		n, err := d.conn.Read(buffer)
		if err != nil {
			continue
		}
		targets := must.Get(robot.DecodeTargets(buffer[:n]))(d.t)
		if targets.Damping == damping {
			return targets
		}
		if !damping && d.sequence%10 == 0 {
			must.Get(io.WriteString(d.keys, "\n"))(d.t)
		}
	}
	d.t.Fatalf("in 20 s no targets with damping = %v", damping)
	return nil
}

// The program answers states with targets, goes into damping mode at a fault, and drives again after Enter.
func TestRobot(t *testing.T) {
	d, good, cut := drive(t), func(b []byte) []byte { return b }, func(b []byte) []byte { return b[:30] }
	for range 2 {
		if got := d.until(false, good); got.Stiffness[0] != 20 || got.Position[0] < 0.54 || got.Position[0] > 0.56 {
			t.Errorf("targets %+v", got)
		}
		if got := d.until(true, cut); got.Stiffness[0] != 0 || got.Gain[0] != 1 {
			t.Errorf("in damping mode: %+v", got)
		}
	}
}
