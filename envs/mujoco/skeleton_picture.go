package mujoco

import (
	"fmt"
	"image"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/motions"
)

// Pictures draws the model with the positions of each row (NQ), for example the frames of a clip.
func (m *Model) Pictures(rows [][]float64, cfg RenderConfig) ([]image.Image, error) {
	cfg.complete()
	if err := config.Check(cfg, "mujoco"); err != nil {
		return nil, err
	}
	d, err := newDrawing(m, cfg)
	if err != nil {
		return nil, err
	}
	defer d.close()
	var out []image.Image
	for k, row := range rows {
		if len(row) != m.NQ() {
			return nil, fmt.Errorf("mujoco: row %d has %d positions, the model %d", k, len(row), m.NQ())
		}
		picture, err := d.posed(m, row)
		if err != nil {
			return nil, fmt.Errorf("mujoco: row %d: %w", k, err)
		}
		out = append(out, picture)
	}
	return out, nil
}

// posed draws the model with positions (NQ).
func (d *drawing) posed(m *Model, qpos []float64) (image.Image, error) {
	copy(d.pose.QPos(0), qpos)
	if err := d.pose.forward(0, 0, 1); err != nil {
		return nil, err
	}
	return d.picture(m, d.pose.data[0], nil), nil
}

// SkeletonModel compiles a model of a skeleton whose bones are capsules, to draw clips of any skeleton
// ([Model.Pictures]). A row of positions is the skeleton's.
func SkeletonModel(s *motions.Skeleton) (*Model, error) {
	children := make([][]int, len(s.Bodies))
	for i, b := range s.Bodies {
		if b.Parent >= 0 {
			children[b.Parent] = append(children[b.Parent], i)
		}
	}
	var xml strings.Builder
	xml.WriteString(`<mujoco><compiler angle="radian"/><default><geom contype="0" conaffinity="0" ` +
		`rgba=".85 .55 .25 1"/></default><worldbody><geom type="plane" size="100 100 1" rgba="0.45 0.5 0.53 1"/>`)
	var write func(i int)
	write = func(i int) {
		b, q := &s.Bodies[i], s.Bodies[i].Orientation
		if q == [4]float64{} {
			q[0] = 1
		}
		fmt.Fprintf(&xml, `<body pos="%g %g %g" quat="%g %g %g %g"><geom type="sphere" size=".045"/>`, b.Offset[0],
			b.Offset[1], b.Offset[2], q[0], q[1], q[2], q[3])
		if i == 0 {
			xml.WriteString(`<freejoint/>`)
		}
		for _, j := range b.Joints {
			if j.Kind == motions.Rotation {
				xml.WriteString(`<joint type="ball"/>`)
			} else {
				fmt.Fprintf(&xml, `<joint axis="%g %g %g"/>`, j.Axis[0], j.Axis[1], j.Axis[2])
			}
		}
		bone := func(to [3]float64, size float64) {
			if to[0]*to[0]+to[1]*to[1]+to[2]*to[2] > 1e-6 {
				fmt.Fprintf(&xml, `<geom type="capsule" fromto="0 0 0 %g %g %g" size="%g"/>`, to[0], to[1], to[2], size)
			}
		}
		for _, c := range b.Contacts {
			bone(c.At, 0.015)
		}
		for _, c := range children[i] {
			bone(s.Bodies[c].Offset, 0.035)
			write(c)
		}
		xml.WriteString(`</body>`)
	}
	if len(s.Bodies) > 0 {
		write(0)
	}
	xml.WriteString(`</worldbody></mujoco>`)
	return ParseModel(xml.String())
}
