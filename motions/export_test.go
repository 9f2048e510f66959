package motions

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// A clip on a robot comes back from the files of others: the same rows at the file's times.
func TestExport(t *testing.T) {
	walk := must.Get(Builtin("humanoid_walk"))(t)
	c := must.Get(walk.Retarget(robot(), RetargetConfig{}))(t)
	want := make([]float64, c.Width())
	for _, x := range []struct {
		cfg    ExportConfig
		frames int
	}{{ExportConfig{Format: "mjlab"}, 52}, {ExportConfig{Format: "mjlab", Rate: 30, Seconds: 3}, 91},
		{ExportConfig{Format: "isaaclab", Rate: 60}, 63}, {ExportConfig{Format: "mimickit", Rate: 30}, 32},
		{ExportConfig{Format: "mimickit", Seconds: 2}, 101}} {
		var file bytes.Buffer
		must.Do(t, c.Export(&file, x.cfg))
		back := must.Get(parse(file.Bytes(), "walk"))(t)
		wraps := x.cfg == ExportConfig{Format: "mimickit", Rate: 30}
		must.Not(t, back.NumFrames() != x.frames || (back.Loop() == LoopWrap) != wraps, "%+v: %d frames, loop %v",
			x.cfg, back.NumFrames(), back.Loop())
		if x.cfg.Format == "isaaclab" { // joints, then all bodies' places and rotations
			p := newPose(c.skeleton, nil)
			for k := range back.NumFrames() {
				c.At(back.FrameTime(k), want, nil)
				p.set(want)
				row, joints := back.Frame(k), len(want)-7
				must.Not(t, !close5(row[:joints], want[7:]) || !close5(row[joints:joints+len(p.positions)],
					p.positions) || !close5(row[joints+len(p.positions):], p.rotations),
					"%+v: frame %d is %v, want %v, %v and %v", x.cfg, k, row, want[7:], p.positions, p.rotations)
			}
			continue
		}
		on := must.Get(back.On(robot()))(t)
		for k := range on.NumFrames() {
			c.At(on.FrameTime(k), want, nil)
			must.Not(t, !close5(on.Frame(k), want), "%+v: frame %d is %v, want %v", x.cfg, k, on.Frame(k), want)
		}
	}
	must.Refuse(t, c.Export(&bytes.Buffer{}, ExportConfig{Format: "fbx"}), "motions: humanoid_walk: ",
		"mjlab, isaaclab")
	must.Refused(c.On(robot()))(t, "motions: humanoid_walk: ", "columns")
}

// close5 reports whether two rows agree to 1e-5 but for the signs of their quaternions.
func close5(a, b []float64) bool {
	for i, v := range a {
		if math.Abs(v-b[i]) > 1e-5 && math.Abs(v+b[i]) > 1e-5 {
			return false
		}
	}
	return true
}

// mjlab's loader reads what Export writes: the G1's walk, with the velocities of finite differences.
func TestMJLabReads(t *testing.T) {
	robots := os.Getenv("GORL_ROBOTS") // .../lib/pythonX/site-packages/mjlab/asset_zoo/robots
	python := filepath.Join(robots, "../../../../../..", "bin", "python")
	if _, err := os.Stat(python); robots == "" || err != nil {
		t.Skip("mjlab is not here: set GORL_ROBOTS to its mjlab/asset_zoo/robots")
	}
	walk := must.Get(Builtin("humanoid_walk"))(t)
	c := must.Get(walk.Retarget(robot(), RetargetConfig{}))(t)
	var file bytes.Buffer
	must.Do(t, c.Export(&file, ExportConfig{Format: "mjlab", Seconds: 4}))
	path := filepath.Join(t.TempDir(), "walk.npz")
	must.Do(t, os.WriteFile(path, file.Bytes(), 0o644))
	out := must.Run(t, exec.Command(python, "-c", `
import sys, torch
from mjlab.tasks.tracking.mdp.commands import MotionLoader
m = MotionLoader(sys.argv[1], torch.arange(int(sys.argv[2])))
v = (m.body_pos_w[2:] - m.body_pos_w[:-2]) * 25
print("read", m.time_step_total, tuple(m.joint_pos.shape), tuple(m.body_quat_w.shape),
      bool((v - m.body_lin_vel_w[1:-1]).abs().max() < 1e-3))`, path, fmt.Sprint(len(robot().Bodies))))
	want := fmt.Sprintf("read 201 (201, %d) (201, %d, 4) True", len(robot().Joints()), len(robot().Bodies))
	must.Not(t, !strings.Contains(out, want), "%s; want %s", out, want)
}
