package robot

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// Drive answers a robot over UDP, stops and goes on at the operator's word, notices silence, and ends in damping mode.
func TestDrive(t *testing.T) {
	_, p := leg(t, 1)
	c := must.Get(New(p, Config{Limits: Limits{Late: time.Minute, Stale: time.Second, Lost: 1000}}))(t)
	body := must.Open(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))(t)
	link := must.Open(net.DialUDP("udp", nil, body.LocalAddr().(*net.UDPAddr)))(t)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	toggle, changes, ended := make(chan struct{}), make(chan *Fault, 10), make(chan Times, 1)
	go func() {
		times, err := c.Drive(ctx, link, Operator{Toggle: toggle, Changed: func(f *Fault) { changes <- f }})
		if err != nil {
			t.Error(err)
		}
		ended <- times
	}()
	sequence, b := 0, make([]byte, 2048)
	// until sends states, if it is to, until targets are in a mode.
	until := func(damping, sends bool) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
			if sequence++; sends {
				must.Get(body.WriteTo(AppendState(nil, standing(sequence)), link.LocalAddr()))(t)
			}
			must.Do(t, body.SetReadDeadline(time.Now().Add(5*time.Second)))
			n := must.Get(body.Read(b))(t)
			targets := must.Get(DecodeTargets(b[:n]))(t)
			if targets.Damping == damping {
				return
			}
		}
		t.Fatalf("no targets with damping mode %v", damping)
	}
	changed := func(want Kind) {
		t.Helper()
		if f := <-changes; f == nil && want != "" || f != nil && f.Kind != want {
			t.Fatalf("%v, want %q", f, want)
		}
	}
	until(false, true)
	toggle <- struct{}{}
	until(true, true)
	changed(Stopped)
	toggle <- struct{}{}
	changed("")
	until(false, true)
	until(true, false)
	changed(Stale)
	toggle <- struct{}{}
	changed("")
	until(false, true)
	end()
	until(true, true)
	changed(Stopped)
	if times := <-ended; times.Steps < 5 || times.Median <= 0 || times.P99 < times.Median || times.Longest < times.P99 {
		t.Errorf("%+v", times)
	}
}
