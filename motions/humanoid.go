package motions

import (
	"errors"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// HumanoidSkeleton returns the humanoid of 28 joints and 15 bodies of the clips of Isaac Lab and DeepMimic
// (IsaacGymEnvs' amp_humanoid; DeepMimic's has the same bones). The pelvis is 0.88 m above the soles, and the arms hang
// down in the zero pose. Three hinges x, y, z, in this order, make the abdomen, the neck, shoulders, hips and ankles;
// elbows and knees are one hinge about y. A positive turn about y bends the knee, takes the hip back and points the
// toes down; elbows bend by negative turns. The soles are rectangles 0.05 m below the ankle.
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
		add(side+"lower_arm", side+"upper_arm", [3]float64{0, 0, -.274788}, hinge(side+"elbow", 1, -160, 0))
		add(side+"hand", side+"lower_arm", [3]float64{0, 0, -.258947})
	}
	for _, side := range []string{"right_", "left_"} {
		y, hip := -.084887, [6]float64{-60, 15, -140, 60, -60, 35}
		if side == "left_" {
			y, hip = -y, [6]float64{-15, 60, -140, 60, -35, 60}
		}
		add(side+"thigh", "pelvis", [3]float64{0, y, 0}, triple(side+"hip", hip)...)
		add(side+"shin", side+"thigh", [3]float64{0, 0, -.421546}, hinge(side+"knee", 1, 0, 160))
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

// triple returns three hinges x, y, z with limits in degrees.
func triple(name string, limits [6]float64) []Joint {
	return []Joint{hinge(name+"_x", 0, limits[0], limits[1]), hinge(name+"_y", 1, limits[2], limits[3]),
		hinge(name+"_z", 2, limits[4], limits[5])}
}

// hinge returns a hinge about an axis (1 is y) with limits in degrees.
func hinge(name string, axis int, lower, upper float64) Joint {
	j := Joint{Name: name, Kind: Hinge, Lower: lower * math.Pi / 180, Upper: upper * math.Pi / 180}
	j.Axis[axis] = 1
	return j
}

// Humanoid returns a clip on [HumanoidSkeleton]: rows of 7 + 28 positions, MuJoCo's qpos, with velocities by central
// differences. It takes clips of DeepMimic's humanoid (y up, 43 values a frame), of Isaac Lab's (28 joints, 15 bodies),
// clips that are on the skeleton already, which it returns as they are, and clips on other skeletons whose bodies'
// names are known (BVH, AMASS, MimicKit), which it retargets from their zero pose ([Clip.Retarget]).
//
// A clip whose feet are more than 1.5 cm under the floor, or always above it, is put on the floor ([Clip.OnFloor]);
// [Clip.Repairs] says so. Humanoid fails for clips of other characters, and of joints without a skeleton.
func Humanoid(c *Clip) (_ *Clip, err error) {
	defer func() { err = named(c.name, err) }()
	s := HumanoidSkeleton()
	if c.skeleton != nil {
		if slices.Equal(c.description.Columns, s.description().Columns) {
			return c, nil
		}
		return retarget(c, s, RetargetConfig{})
	}
	rows := humanoidRows(c, s)
	if rows == nil {
		return nil, errors.New("this is neither DeepMimic's humanoid (43 values a frame), nor Isaac Lab's " +
			"(28 joints and 15 bodies), nor a clip with a skeleton")
	}
	out, err := c.derive(ClipConfig{Skeleton: s, Frames: rows})
	if err != nil {
		return nil, err
	}
	return settle(out)
}

// humanoidRows returns the rows of a clip of DeepMimic's or Isaac Lab's humanoid on the humanoid's skeleton, and nil
// for other clips.
func humanoidRows(c *Clip, s *Skeleton) [][]float64 {
	switch {
	case isDeepMimicHumanoid(c):
		return deepMimicRows(c, s)
	case isIsaacHumanoid(c.description, s):
		return isaacRows(c)
	}
	return nil
}

// isDeepMimicHumanoid reports whether a clip has the columns of DeepMimic's humanoid.
func isDeepMimicHumanoid(c *Clip) bool {
	return slices.Equal(c.description.Columns, deepMimicHumanoid().Columns)
}

// deepMimicBodies are the bodies that DeepMimic's joints turn.
var deepMimicBodies = map[string]string{"chest": "torso", "neck": "head", "hip": "thigh", "knee": "shin",
	"ankle": "foot", "shoulder": "upper_arm", "elbow": "lower_arm"}

// deepMimicRows converts frames from y up, z to the right: (x, y, z) becomes (x, −z, y), for vectors and for the vector
// parts of quaternions, and angles about z become angles about −y.
func deepMimicRows(c *Clip, s *Skeleton) [][]float64 {
	joints := map[int]int{} // by body, the index of its joint in a frame
	for at, col := range c.description.each {
		side, joint := cutSide(col.Name)
		if name, ok := deepMimicBodies[joint]; ok {
			joints[s.Body(side+name)] = at.pos
		}
	}
	rows := make([][]float64, c.n)
	for k := range rows {
		f := c.Frame(k)
		upright := func(i int) rotation.Quat { return rotation.Quat{f[i], f[i+1], -f[i+3], f[i+2]} }
		root := upright(3)
		row := append(make([]float64, 0, s.Width()), f[0], -f[2], f[1], root[0], root[1], root[2], root[3])
		for i := range s.Bodies {
			b, begin, end := &s.Bodies[i], len(row), len(row)+len(s.Bodies[i].Joints)
			row = row[:end]
			switch len(b.Joints) {
			case 1:
				row[begin] = -f[joints[i]]
			case 3:
				var near []float64
				if k > 0 {
					near = rows[k-1][begin:end]
				}
				b.angles(upright(joints[i]), row[begin:end], near)
			}
		}
		rows[k] = row
	}
	return rows
}
