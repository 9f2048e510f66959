package motions

import (
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// smplJoints are the joints that SMPL, SMPL-H and SMPL-X share. The offset is from the parent in a T-pose, z up and x
// forward. A file does not hold the body's shape, so the bones are those of [HumanoidSkeleton].
var smplJoints = []struct {
	name   string
	parent int
	offset [3]float64
}{
	{"pelvis", -1, [3]float64{}},
	{"left_hip", 0, [3]float64{0, .085, 0}}, {"right_hip", 0, [3]float64{0, -.085, 0}},
	{"spine1", 0, [3]float64{0, 0, .118}},
	{"left_knee", 1, [3]float64{0, 0, -.4215}}, {"right_knee", 2, [3]float64{0, 0, -.4215}},
	{"spine2", 3, [3]float64{0, 0, .118}},
	{"left_ankle", 4, [3]float64{0, 0, -.4099}}, {"right_ankle", 5, [3]float64{0, 0, -.4099}},
	{"spine3", 6, [3]float64{0, 0, .05}},
	{"left_foot", 7, [3]float64{.09, 0, -.035}}, {"right_foot", 8, [3]float64{.09, 0, -.035}},
	{"neck", 9, [3]float64{0, 0, .174}},
	{"left_collar", 9, [3]float64{-.006, .06, .17}}, {"right_collar", 9, [3]float64{-.006, -.06, .17}},
	{"head", 12, [3]float64{0, 0, .09}},
	{"left_shoulder", 13, [3]float64{-.018, .123, .023}}, {"right_shoulder", 14, [3]float64{-.018, -.123, .023}},
	{"left_elbow", 16, [3]float64{0, .2748, 0}}, {"right_elbow", 17, [3]float64{0, -.2748, 0}},
	{"left_wrist", 18, [3]float64{0, .2589, 0}}, {"right_wrist", 19, [3]float64{0, -.2589, 0}},
}

// smplSkeleton returns the tree of smplJoints in ball joints. The heels are under the ankles, the balls of the feet
// near the feet's joints.
func smplSkeleton() *Skeleton {
	s := &Skeleton{Name: "SMPL"}
	for i, j := range smplJoints {
		b := Body{Name: j.name, Parent: j.parent, Offset: j.offset}
		if i > 0 {
			b.Joints = []Joint{{Name: j.name, Kind: Rotation}}
		}
		switch {
		case strings.HasSuffix(j.name, "ankle"):
			b.Contacts = []Contact{{At: [3]float64{-.04, 0, -.05}}}
		case strings.HasSuffix(j.name, "foot"):
			b.Contacts = []Contact{{At: [3]float64{.05, 0, -.015}}}
		}
		s.Bodies = append(s.Bodies, b)
	}
	return s
}

// parseAMASS reads motion of the SMPL family of bodies as the AMASS archive stores it: poses (N, 66 or more: 3 numbers
// of an exponential map for each joint, the pelvis first), trans (N, 3; metres, z up), and the frame rate as
// mocap_framerate or mocap_frame_rate. Hands and faces are left out.
func parseAMASS(r *npzReader, name string) (*Clip, error) {
	values, trans := r.numbers("poses", -1, -1), r.numbers("trans", -1, 3)
	if r.err != nil {
		return nil, r.err
	}
	n, width := len(trans)/3, r.file.Arrays["poses"].Shape[1]
	if len(values) != n*width || width < 3*len(smplJoints) || width%3 != 0 {
		return nil, fmt.Errorf("poses has shape %v, want (frames, 66 or more, 3 for each joint), with the %d frames "+
			"of trans", r.file.Arrays["poses"].Shape, n)
	}
	rate := "mocap_framerate"
	for _, key := range []string{"mocap_frame_rate", "fps"} {
		if r.file.Arrays[rate] == nil && r.file.Arrays[key] != nil {
			rate = key
		}
	}
	step := r.step(rate)
	if r.err != nil {
		return nil, r.err
	}
	cfg := ClipConfig{Name: name, Skeleton: smplSkeleton(), Durations: evenly(n, step)}
	// SMPL's zero pose has y up and faces z; the world of AMASS has z up. The pelvis turns the one into the other. The
	// other joints' rotations keep their values, with (x, y, z) becoming (z, x, y): a third of a turn about (1, 1, 1).
	turned := rotation.Quat{0.5, 0.5, 0.5, 0.5}
	for k, p := range cutRows(values, width) {
		root := rotation.Exp(p[:3]).Mul(turned.Conj())
		row := append([]float64{trans[3*k], trans[3*k+1], trans[3*k+2]}, root[:]...)
		for j := 1; j < len(smplJoints); j++ {
			q := rotation.Exp([]float64{p[3*j+2], p[3*j], p[3*j+1]})
			row = append(row, q[:]...)
		}
		cfg.Frames = append(cfg.Frames, row)
	}
	return newClip(cfg)
}
