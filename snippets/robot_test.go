package snippets

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/infer/robot"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// The program answers states with targets. What it does at a fault and at the operator's word is tested by TestDrive of
// package robot.
func TestRobot(t *testing.T) {
	loopback := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}
	free, own := must.Get(net.ListenUDP("udp", loopback))(t), must.Get(net.ListenUDP("udp", loopback))(t)
	program, address := free.LocalAddr().(*net.UDPAddr), own.LocalAddr().(*net.UDPAddr)
	must.Do(t, errors.Join(own.Close(), free.Close()))
	conn := must.Open(net.DialUDP("udp", address, program))(t)
	command := exec.Command(filepath.Join(programs, "robot"), "-listen", program.String(), "-robot", address.String(),
		"../infer/robot/testdata/leg.safetensors")
	command.Stderr = new(bytes.Buffer)
	must.Do(t, command.Start())
	defer func() {
		_ = command.Process.Signal(os.Interrupt)
		if err := command.Wait(); err != nil {
			t.Errorf("%v\n%s", err, command.Stderr)
		}
	}()
	buffer := make([]byte, 2048)
	sequence := uint32(0)
	for begun := time.Now(); time.Since(begun) < 20*time.Second; sequence++ {
		_, _ = conn.Write(robot.AppendState(nil, &robot.Sensors{Sequence: sequence, Position: []float64{0.5, 0.5},
			Velocity: []float64{0.1, -0.2}, Quaternion: [4]float64{1, 0, 0, 0}, Command: []float64{1}}))
		_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		n, err := conn.Read(buffer)
		if err != nil { // the program starts
			continue
		}
		if got := must.Get(robot.DecodeTargets(buffer[:n]))(t); !got.Damping {
			must.Near(t, got.Position[0], 0.55, 0.01, "the first joint's target")
			return
		}
	}
	t.Error("no targets in 20 s")
}
