package motions

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// HumanoidSkeleton returns the humanoid of 28 joints and 15 bodies that the clips of Isaac Lab and DeepMimic were made
// for (IsaacGymEnvs' amp_humanoid; DeepMimic's has the same bones): 0.88 m from the sole to the pelvis, arms down in
// the zero pose. Three hinges x, y, z, in this order, make the abdomen, the neck, shoulders, hips and ankles; elbows
// and knees are one hinge about y. A positive turn about y bends the knee, takes the hip back and points the toes down;
// elbows bend by negative ones. The soles are rectangles 0.05 m below the ankle.
func HumanoidSkeleton() *Skeleton {
	s := &Skeleton{Name: "humanoid"}
	add := func(name, parent string, offset [3]float64, joints ...Joint) int {
		s.Bodies = append(s.Bodies, Body{Name: name, Parent: s.Body(parent), Offset: offset, Joints: joints})
		return len(s.Bodies) - 1
	}
	add("pelvis", "", [3]float64{0, 0, 0.89})
	add("torso", "pelvis", [3]float64{0, 0, .236151}, triple("abdomen", [6]float64{-60, 60, -60, 90, -50, 50})...)
	add("head", "torso", [3]float64{0, 0, .223894}, triple("neck", [6]float64{-50, 50, -40, 60, -45, 45})...)
	for _, side := range []string{"right_", "left_"} {
		y, shoulder := -.18311, [6]float64{-180, 45, -180, 60, -90, 90}
		if side == "left_" {
			y, shoulder = -y, [6]float64{-45, 180, -180, 60, -90, 90}
		}
		add(side+"upper_arm", "torso", [3]float64{-.02405, y, .2435}, triple(side+"shoulder", shoulder)...)
		add(side+"lower_arm", side+"upper_arm", [3]float64{0, 0, -.274788}, hingeY(side+"elbow", -160, 0))
		add(side+"hand", side+"lower_arm", [3]float64{0, 0, -.258947})
	}
	for _, side := range []string{"right_", "left_"} {
		y, hip := -.084887, [6]float64{-60, 15, -140, 60, -60, 35}
		if side == "left_" {
			y, hip = -y, [6]float64{-15, 60, -140, 60, -35, 60}
		}
		add(side+"thigh", "pelvis", [3]float64{0, y, 0}, triple(side+"hip", hip)...)
		add(side+"shin", side+"thigh", [3]float64{0, 0, -.421546}, hingeY(side+"knee", 0, 160))
		foot := add(side+"foot", side+"shin", [3]float64{0, 0, -.40987},
			triple(side+"ankle", [6]float64{-30, 30, -55, 55, -40, 40})...)
		for _, x := range []float64{.045 - .0885, .045 + .0885} {
			for _, y := range []float64{-.045, .045} {
				s.Bodies[foot].Contacts = append(s.Bodies[foot].Contacts, Contact{At: [3]float64{x, y, -.05}})
			}
		}
	}
	return s
}

// triple is three hinges x, y, z with limits in degrees.
func triple(name string, limits [6]float64) []Joint {
	joints := make([]Joint, 3)
	for i, axis := range []string{"_x", "_y", "_z"} {
		joints[i] = Joint{Name: name + axis, Kind: Hinge, Lower: limits[2*i] * math.Pi / 180, Upper: limits[2*i+1] * math.Pi / 180}
		joints[i].Axis[i] = 1
	}
	return joints
}

// hingeY is a hinge about y with limits in degrees.
func hingeY(name string, lower, upper float64) Joint {
	return Joint{Name: name, Kind: Hinge, Axis: [3]float64{0, 1, 0}, Lower: lower * math.Pi / 180, Upper: upper * math.Pi / 180}
}

// Humanoid returns a clip on [HumanoidSkeleton]: rows of 7 + 28 positions, MuJoCo's qpos, with velocities by central
// differences. [Clip.State] gives qpos and qvel. It takes clips of DeepMimic's humanoid (y up, 43 values a frame), of
// Isaac Lab's (28 joints, 15 bodies), clips that are on the skeleton already, which it returns as they are, and clips on
// other skeletons whose bodies' names are known (BVH, AMASS, MimicKit): those are retargeted from their zero pose on
// ([Clip.Retarget], [BodyNames]).
//
// Where feet are more than 1.5 cm under the floor, or always above it, the clip is put on the floor ([Clip.OnFloor]);
// [Clip.Repairs] says so. It fails for clips of other characters, and of joints without a skeleton.
func Humanoid(c *Clip) (*Clip, error) {
	out, err := humanoid(c)
	if err != nil {
		return nil, fmt.Errorf("motions: %s: %w", nameOr(c.name), err)
	}
	return out, nil
}

var errOtherSkeleton = errors.New("this is neither DeepMimic's humanoid (43 values a frame), nor Isaac Lab's (28 joints and 15 bodies), nor a clip with a skeleton")

func humanoid(c *Clip) (*Clip, error) {
	s := HumanoidSkeleton()
	var rows [][]float64
	switch {
	case c.skeleton != nil && slices.Equal(c.description.Columns, s.description().Columns):
		return c, nil
	case c.described && slices.Equal(c.description.Columns, humanoid3D().Columns):
		rows = deepMimicRows(c, s)
	case isIsaacHumanoid(c, s):
		rows = isaacRows(c)
	case c.skeleton != nil:
		return c.retarget(s, RetargetConfig{})
	default:
		return nil, errOtherSkeleton
	}
	out, err := c.with(s, rows)
	if err != nil {
		return nil, err
	}
	return out.settled()
}

// with is the clip with other rows, of a skeleton, at the same times; velocities are differences.
func (c *Clip) with(s *Skeleton, rows [][]float64) (*Clip, error) {
	return c.like(ClipConfig{Loop: c.loop, Frames: rows, Durations: c.durations(), Skeleton: s})
}

// like makes a clip that is named, weighed and repaired as c is, and that turns on from loop to loop where c does.
func (c *Clip) like(cfg ClipConfig) (*Clip, error) {
	cfg.Name, cfg.Weight = c.name, c.weight
	out, err := newClip(cfg)
	if err != nil {
		return nil, err
	}
	out.repairs = slices.Clone(c.repairs)
	if c.turn != nil {
		out.setTurn()
	}
	return out, nil
}

// durations are those that [NewClip] takes.
func (c *Clip) durations() []float64 {
	out := make([]float64, c.n)
	for k := range out {
		out[k] = c.FrameDuration(k)
	}
	return out
}

// deepMimicBodies are the bodies that DeepMimic's joints turn.
var deepMimicBodies = map[string]string{"chest": "torso", "neck": "head", "hip": "thigh", "knee": "shin", "ankle": "foot",
	"shoulder": "upper_arm", "elbow": "lower_arm"}

// deepMimicRows carries frames over from y up, z to the right: (x, y, z) becomes (x, −z, y), for vectors and for the
// vector parts of quaternions, and angles about z become angles about −y.
func deepMimicRows(c *Clip, s *Skeleton) [][]float64 {
	at := map[int]int{} // by body, where its joint is in a frame
	for first, col := range c.description.all {
		side, joint := sideOf(col.Name)
		if name, ok := deepMimicBodies[joint]; ok {
			at[s.Body(side+name)] = first
		}
	}
	rows := make([][]float64, c.n)
	for k := range rows {
		f := c.Frame(k)
		upright := func(i int) quat { return quat{f[i], f[i+1], -f[i+3], f[i+2]} }
		root := upright(3)
		row := append(make([]float64, 0, s.Width()), f[0], -f[2], f[1], root[0], root[1], root[2], root[3])
		for i := range s.Bodies {
			b := &s.Bodies[i]
			values := row[len(row) : len(row)+len(b.Joints)]
			switch len(b.Joints) {
			case 1:
				values[0] = -f[at[i]]
			case 3:
				b.angles(upright(at[i]), values, before(rows, k, len(row), len(values)))
			}
			row = row[:len(row)+len(values)]
		}
		rows[k] = row
	}
	return rows
}

// before is what row k − 1 has in n columns from at, nil for the first row.
func before(rows [][]float64, k, at, n int) []float64 {
	if k == 0 {
		return nil
	}
	return rows[k-1][at : at+n]
}

// sideOf splits "right_" or "left_" off a name.
func sideOf(name string) (side, rest string) {
	for _, side := range []string{"right_", "left_"} {
		if len(name) > len(side) && name[:len(side)] == side {
			return side, name[len(side):]
		}
	}
	return "", name
}

// isIsaacHumanoid reports whether a clip's columns begin with the humanoid's joints and hold its bodies.
func isIsaacHumanoid(c *Clip, s *Skeleton) bool {
	joints := s.Joints()
	if !c.described || len(c.bodies) == 0 || len(c.description.Columns) < len(joints) {
		return false
	}
	for i, j := range joints {
		if col := c.description.Columns[i]; col.Name != j.Name || col.Kind != Hinge {
			return false
		}
	}
	_, _, ok := c.description.Find("pelvis/rotation")
	return ok && c.description.Columns[len(joints)].Kind != Hinge
}

// isaacRows takes the pelvis and the joints of Isaac Lab's columns.
func isaacRows(c *Clip) [][]float64 {
	position, _, _ := c.description.Find("pelvis/x")
	rotation, _, _ := c.description.Find("pelvis/rotation")
	rows := make([][]float64, c.n)
	for k := range rows {
		f := c.Frame(k)
		rows[k] = slices.Concat(f[position:position+3], f[rotation:rotation+4], f[:28])
		if k > 0 {
			unwrap(rows[k][7:], rows[k-1][7:])
		}
	}
	return rows
}
