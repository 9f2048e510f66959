package motions

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestClips reads, checks and samples every clip of testdata, of the folder shared/motions beside the repository and of
// the folder that GORL_MOTIONS names.
func TestClips(t *testing.T) {
	folders := []string{"testdata", "clips"}
	for _, more := range []string{os.Getenv("GORL_MOTIONS"), filepath.Join("..", "..", "shared", "motions")} {
		if real, err := filepath.EvalSymlinks(more); more != "" && err == nil { // WalkDir does not enter a link
			folders = append(folders, real)
		} else {
			must.Not(t, more != "" && more == os.Getenv("GORL_MOTIONS"), "GORL_MOTIONS: %v", err)
		}
	}
	kinds := []string{".json", ".txt", ".npz", ".bvh", ".csv", ".pkl"}
	for _, folder := range folders {
		found := 0
		must.Do(t, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			base := strings.ToUpper(filepath.Base(path))
			if err != nil || entry.IsDir() || !slices.Contains(kinds, filepath.Ext(path)) ||
				strings.HasPrefix(base, "LICENSE") || strings.HasPrefix(base, "README") ||
				path == filepath.Join("testdata", "gait.json") {
				return err
			}
			found++
			t.Run(filepath.Base(path), func(t *testing.T) { checkFile(t, path) })
			return nil
		}))
		must.Not(t, found == 0, "%s holds no clips %v", folder, kinds)
	}
	if len(folders) == 2 {
		t.Run("more", func(t *testing.T) {
			t.Skip("no further clips: GORL_MOTIONS names no folder, and there is none beside the repository")
		})
	}
}

func checkFile(t *testing.T, path string) {
	c, err := Load(path)
	if errors.Is(err, errCharacter) {
		t.Skip("a character's description, not a clip")
	}
	must.Do(t, err)
	checkReport(t, c)
	pos, vel := make([]float64, c.w), make([]float64, c.v)
	for k := range c.n { // on a frame, a sample is the frame (the last one of a wrapping clip is the next loop's first)
		if c.loop == LoopWrap && c.times[k] == c.Duration() {
			continue
		}
		c.At(c.times[k], pos, vel)
		for i, x := range c.Frame(k) {
			must.Near(t, x, pos[i], 1e-9*(1+math.Abs(x)), "frame %d, %s: sampled", k, c.description.nameValue(i))
		}
		for i, x := range c.frameVelocity(k) {
			must.Near(t, x, vel[i], 1e-6*(1+math.Abs(x)), "frame %d, velocity %d: sampled", k, i)
		}
	}
	for i, x := range rowsOf(t, SourceConfig{History: 3, TimeStep: 0.02, Features: StateFeatures(c)}, 64, c) {
		must.Not(t, infinite(float64(x)), "value %d of the rows is %v", i, x)
	}
}

// checkReport checks that a clip of a humanoid was repaired: its feet are at most 1.5 cm under the floor, its bodies
// are where its joints put them, it has no doubled frames, and its velocities are those of its positions.
func checkReport(t *testing.T, c *Clip) {
	t.Helper()
	r := Check(c)
	must.Do(t, r.Write(t.Output()))
	sound := func(r *Report, kinds ...string) {
		for _, kind := range kinds {
			must.Is(t, len(faultsOf(r, kind)), 0, "%v: %s", r.Faults, kind)
		}
	}
	if isIsaacHumanoid(c.description, HumanoidSkeleton()) {
		sound(r, "doubled frames", "velocities")
		compareBodies(t, c)
	}
	if human, err := Humanoid(c); err == nil {
		sound(Check(human), "floor", "velocities")
		heights, _ := bodyHeights(human)
		must.Not(t, slices.Min(heights) < -0.015, "feet at %.3f m", heights)
	}
}

var update = flag.Bool("update", false, "write the built-in clips again from Isaac Lab's files")

// The built-in clips are sound loops.
func TestBuiltin(t *testing.T) {
	for name, want := range map[string]struct{ duration, speed float64 }{
		"humanoid_walk": {31. / 30, 1.53}, "humanoid_run": {23. / 30, 3.54},
	} {
		c := must.Get(Builtin(name))(t)
		r := Check(c)
		must.Not(t, len(r.Faults) > 0 || r.FeetLowest < -0.001 || r.Skeleton != "humanoid" || r.Loop != "wrap",
			"%s: %+v", name, r)
		travel := c.LoopTravel()
		must.Not(t, math.Abs(c.Duration()-want.duration) > 1e-6 || math.Abs(r.Speed-want.speed) > 0.01 ||
			math.Abs(travel[1]) > 1e-3, "%s: %g s, %g m/s, travels %v", name, c.Duration(), r.Speed, travel[:3])
	}
	text := must.Get(clipFiles.ReadFile("clips/LICENSE.txt"))(t)
	must.Not(t, !strings.Contains(string(text), "NSF EIA-0196217"), "no licence with credit")
	must.Refused(Builtin("moonwalk"))(t, "motions: ", `"moonwalk"; there are humanoid_run and humanoid_walk`)
}

// alongX moves and turns a clip about z so that it begins at the origin and goes along x.
func alongX(c *Clip) (*Clip, error) {
	rows := framesOf(c)
	first, last := c.Frame(0), c.Frame(c.n-1)
	back := rotation.About([3]float64{0, 0, 1}, -math.Atan2(last[1]-first[1], last[0]-first[0]))
	for _, row := range rows {
		p := back.Rotate([3]float64{row[0] - first[0], row[1] - first[1], row[2]})
		q := back.Mul(rotation.Of(row[3:]))
		copy(row, p[:])
		copy(row[3:], q[:])
	}
	return c.derive(ClipConfig{Frames: rows})
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
		c, _, err := must.Get(Humanoid(must.Get(Load(path))(t)))(t).BestLoop(most-0.3, most)
		must.Do(t, err)
		c = must.Get(must.Get(alongX(c))(t).OnFloor())(t)
		if *update {
			var file bytes.Buffer
			must.Do(t, c.Save(&file, "mocap.cs.cmu.edu, created with funding from NSF EIA-0196217; "+
				"by way of Isaac Lab (BSD-3-Clause)"))
			must.Do(t, os.WriteFile(filepath.Join("clips", name+".npz"), file.Bytes(), 0o644))
			continue
		}
		sameMotion(t, must.Get(Builtin(name))(t), c, 1e-5)
	}
}
