package motions

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestClips reads, checks and samples every clip of testdata, of the folder shared/motions beside the repository and of
// the folder that GORL_MOTIONS names.
func TestClips(t *testing.T) {
	var folders []string
	if more := os.Getenv("GORL_MOTIONS"); more != "" {
		folders = append(folders, more)
	}
	beside := filepath.Join("..", "..", "shared", "motions")
	if _, err := os.Stat(beside); err == nil {
		folders = append(folders, beside)
	}
	folders = append(folders, "testdata", "clips")
	for _, folder := range folders {
		if real, err := filepath.EvalSymlinks(folder); err == nil { // WalkDir does not enter a link
			folder = real
		}
		found := 0
		err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			switch filepath.Ext(path) {
			case ".json", ".txt", ".npz", ".bvh", ".csv", ".pkl":
			default:
				return nil
			}
			if base := strings.ToUpper(entry.Name()); strings.HasPrefix(base, "LICENSE") ||
				strings.HasPrefix(base, "README") {
				return nil
			}
			if entry.IsDir() || path == filepath.Join("testdata", "gait.json") {
				return nil
			}
			found++
			t.Run(filepath.Base(path), func(t *testing.T) { checkFile(t, path) })
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", folder, err)
		}
		must.Not(t, found == 0, "%s holds no clips (.json, .txt, .npz, .bvh, .csv, .pkl)", folder)
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
	var text strings.Builder
	must.Do(t, r.Write(&text))
	t.Log(text.String())
	sound := func(r *Report, kinds ...string) {
		for _, kind := range kinds {
			for _, f := range faultsOf(r, kind) {
				t.Errorf("%s: %s", kind, f.Text)
			}
		}
	}
	if isIsaacHumanoid(c.description, HumanoidSkeleton()) {
		sound(r, "doubled frames", "velocities")
		compareBodies(t, c)
	}
	human, err := Humanoid(c)
	if err != nil {
		return
	}
	sound(Check(human), "floor", "velocities")
	heights, _ := bodyHeights(human)
	for k, h := range heights {
		must.Not(t, h < -0.015, "frame %d: a foot is %.3f m under the floor", k, -h)
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
		heights, _ := bodyHeights(c)
		for k, h := range heights {
			must.Not(t, name == "humanoid_walk" && (h < -0.015 || h > 0.025), "frame %d: the lower foot is %.3f m high",
				k, h)
		}
		data := must.Get(clipFiles.ReadFile("clips/" + name + ".npz"))(t)
		must.Not(t, len(data) > 10<<10, "%s has %d bytes", name, len(data))
	}
	if text, err := clipFiles.ReadFile("clips/LICENSE.txt"); err != nil ||
		!strings.Contains(string(text), "NSF EIA-0196217") {
		t.Errorf("no licence with credit: %v", err)
	}
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
		c, err := Load(path)
		must.Do(t, err)
		if c, err = Humanoid(c); err == nil {
			c, _, err = c.BestLoop(most-0.3, most)
		}
		if err == nil {
			c, err = alongX(c)
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
