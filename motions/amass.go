package motions

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gorl-dev/gorl/internal/npz"
)

// LoadAMASS reads the AMASS file at path with [ReadAMASS]. The clip is named after the file.
func LoadAMASS(path string) (*Clip, error) { return loadNpz(path, amassClip) }

// ReadAMASS reads motion of the SMPL family of bodies as the AMASS archive stores it (npz): poses (N, 66 or more: 3
// numbers of an exponential map for each joint, the pelvis first), trans (N, 3; metres, z up), and the frame rate as
// mocap_framerate or mocap_frame_rate. Files with pickled objects are refused.
//
// The clip has a ball joint for each of the first 21 joints after the pelvis, by SMPL's names; hands and faces are left
// out. The shape of the body is not in such a file, so the [Skeleton]'s bones are those of [HumanoidSkeleton]: angles
// are the file's, places of hands and feet are near to it.
func ReadAMASS(r io.ReaderAt, size int64, name string) (*Clip, error) {
	return readNpz(r, size, name, amassClip)
}

// smplJoints are the joints of SMPL, SMPL-H and SMPL-X that they share, each with its parent and where it is from there
// in a T-pose (z up, x forward).
var smplJoints = []struct {
	name   string
	parent int
	offset [3]float64
}{
	{"pelvis", -1, [3]float64{}},
	{"left_hip", 0, [3]float64{0, .085, 0}}, {"right_hip", 0, [3]float64{0, -.085, 0}}, {"spine1", 0, [3]float64{0, 0, .118}},
	{"left_knee", 1, [3]float64{0, 0, -.4215}}, {"right_knee", 2, [3]float64{0, 0, -.4215}}, {"spine2", 3, [3]float64{0, 0, .118}},
	{"left_ankle", 4, [3]float64{0, 0, -.4099}}, {"right_ankle", 5, [3]float64{0, 0, -.4099}}, {"spine3", 6, [3]float64{0, 0, .05}},
	{"left_foot", 7, [3]float64{.09, 0, -.035}}, {"right_foot", 8, [3]float64{.09, 0, -.035}}, {"neck", 9, [3]float64{0, 0, .174}},
	{"left_collar", 9, [3]float64{-.006, .06, .17}}, {"right_collar", 9, [3]float64{-.006, -.06, .17}}, {"head", 12, [3]float64{0, 0, .09}},
	{"left_shoulder", 13, [3]float64{-.018, .123, .023}}, {"right_shoulder", 14, [3]float64{-.018, -.123, .023}},
	{"left_elbow", 16, [3]float64{0, .2748, 0}}, {"right_elbow", 17, [3]float64{0, -.2748, 0}},
	{"left_wrist", 18, [3]float64{0, .2589, 0}}, {"right_wrist", 19, [3]float64{0, -.2589, 0}},
}

// smplSkeleton is the tree of smplJoints. Heels are under the ankles, balls and toes of the feet around the foot's
// joint.
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

// isAMASS tells such a file from other npz files.
func isAMASS(file *npz.File) bool { return file.Arrays["poses"] != nil && file.Arrays["trans"] != nil }

func amassClip(file *npz.File, name string) (*Clip, error) {
	m := numbersOf(file)
	poses, trans := m.numbers("poses"), m.numbers("trans")
	if m.err != nil {
		return nil, m.err
	}
	if len(poses.shape) != 2 || poses.shape[0] == 0 || poses.shape[1] < 3*len(smplJoints) || poses.shape[1]%3 != 0 {
		return nil, fmt.Errorf("poses has shape %v, want (frames, 66 or more, 3 for each joint)", poses.shape)
	}
	n, width := poses.shape[0], poses.shape[1]
	if len(trans.shape) != 2 || trans.shape[0] != n || trans.shape[1] != 3 {
		return nil, fmt.Errorf("trans has shape %v, want [%d 3]", trans.shape, n)
	}
	rate, ok := 0.0, false
	for _, key := range []string{"mocap_framerate", "mocap_frame_rate", "fps"} {
		if a, there := m.arrays[key]; there && len(a.values) == 1 {
			rate, ok = a.values[0], true
			break
		}
	}
	if !ok {
		return nil, errors.New("there is no mocap_framerate: add it to the file, the number of frames a second")
	}
	if !(rate > 0) || !finite(rate) {
		return nil, fmt.Errorf("mocap_framerate must be positive and finite, and is %g", rate)
	}
	cfg := ClipConfig{Name: name, Skeleton: smplSkeleton()}
	// SMPL's zero pose has y up and faces z; the world of AMASS has z up. So the pelvis turns the one into the other,
	// and the other joints' rotations are taken over with (x, y, z) becoming (z, x, y): a third of a turn about (1, 1,
	// 1).
	turned := quat{0.5, 0.5, 0.5, 0.5}
	for k := range n {
		p, v := poses.values[k*width:(k+1)*width], trans.values[3*k:3*k+3]
		for i, x := range append(p[:3*len(smplJoints):3*len(smplJoints)], v...) {
			if infinite(x) {
				return nil, fmt.Errorf("frame %d: value %d of poses and trans is %g, not a finite number", k, i, x)
			}
		}
		root := exponential(p[:3]).mul(turned.conj())
		row := append([]float64{v[0], v[1], v[2]}, root[:]...)
		for j := 1; j < len(smplJoints); j++ {
			q := exponential([]float64{p[3*j+2], p[3*j], p[3*j+1]})
			row = append(row, q[:]...)
		}
		cfg.Frames, cfg.Durations = append(cfg.Frames, row), append(cfg.Durations, 1/rate)
	}
	return newClip(cfg)
}
