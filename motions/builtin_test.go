package motions

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

var update = flag.Bool("update", false, "make the built-in clips of Isaac Lab's files anew")

// The built-in clips are sound loops.
func TestBuiltin(t *testing.T) {
	for name, want := range map[string]struct{ duration, speed float64 }{
		"humanoid_walk": {31. / 30, 1.53}, "humanoid_run": {23. / 30, 3.54},
	} {
		c := must.Get(Builtin(name))(t)
		r := Check(c)
		if len(r.Faults) > 0 || r.FeetLowest < -0.001 || r.Skeleton != "humanoid" || r.Loop != "wrap" {
			t.Errorf("%s: %+v", name, r)
		}
		travel := c.LoopTravel()
		if math.Abs(c.Duration()-want.duration) > 1e-6 || math.Abs(r.Speed-want.speed) > 0.01 ||
			math.Abs(travel[1]) > 1e-3 {
			t.Errorf("%s: %g s, %g m/s, travels %v", name, c.Duration(), r.Speed, travel[:3])
		}
		heights, _ := bodyHeights(c)
		for k, h := range heights {
			if name == "humanoid_walk" && (h < -0.015 || h > 0.025) {
				t.Errorf("frame %d: the lower foot is %.3f m high", k, h)
			}
		}
		data, err := clipFiles.ReadFile("clips/" + name + ".npz")
		if err != nil || len(data) > 10<<10 {
			t.Errorf("%s has %d bytes", name, len(data))
		}
	}
	if text, err := clipFiles.ReadFile("clips/LICENSE.txt"); err != nil ||
		!strings.Contains(string(text), "NSF EIA-0196217") {
		t.Errorf("no licence with credit: %v", err)
	}
	refused(Builtin("moonwalk"))(t, "motions: ", `"moonwalk"; there are humanoid_run and humanoid_walk`)
}

// The built-in clips are what this package makes of Isaac Lab's files.
func TestBuiltinIsMadeOfIsaacLab(t *testing.T) {
	folder := os.Getenv("GORL_MOTIONS")
	if folder == "" {
		folder = filepath.Join("..", "..", "shared", "motions")
	}
	for name, most := range map[string]float64{"humanoid_walk": 1.2, "humanoid_run": 0.9} {
		path := filepath.Join(folder, "isaaclab", name+".npz")
		if _, err := os.Stat(path); err != nil {
			t.Skipf("Isaac Lab's clips are not here: %v", err)
		}
		c, err := Load(path)
		must.Do(t, err)
		if c, err = Humanoid(c); err == nil {
			c, _, err = c.BestLoop(most-0.3, most)
		}
		if err == nil {
			c, err = c.Forwards()
		}
		if err == nil {
			c, err = c.OnFloor()
		}
		must.Do(t, err)
		if *update {
			var file bytes.Buffer
			err := c.Save(&file, "mocap.cs.cmu.edu, created with funding from NSF EIA-0196217; "+
				"by way of Isaac Lab (BSD-3-Clause)")
			if err == nil {
				err = os.WriteFile(filepath.Join("clips", name+".npz"), file.Bytes(), 0o644)
			}
			must.Do(t, err)
			continue
		}
		built := must.Get(Builtin(name))(t)
		sameMotion(t, built, c, 1e-5)
	}
}
