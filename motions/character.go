package motions

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// character is the part of DeepMimic's description of a character that clips depend on.
type character struct {
	Skeleton *struct {
		Joints []struct {
			Name, Type string
			Parent     *int
		}
	}
}

// ReadCharacter reads DeepMimic's description of a character (JSON with "Skeleton" and "Joints") and returns
// what the values of its clips' frames are: the root's position (x, y up, z) and rotation, then the joints
// in order, spherical (a quaternion), revolute (an angle), prismatic (a distance), planar (two distances and
// an angle) or fixed (nothing). The name is used in errors, which name the joint.
func ReadCharacter(r io.Reader, name string) (*Description, error) {
	data, err := readLimited(r)
	if err != nil {
		return nil, fmt.Errorf("motions: %s: %w", name, err)
	}
	return parseCharacter(data, name)
}

// LoadCharacter reads the file at path with [ReadCharacter].
func LoadCharacter(path string) (*Description, error) {
	data, err := readPath(path)
	if err != nil {
		return nil, err
	}
	return parseCharacter(data, path)
}

func parseCharacter(data []byte, origin string) (*Description, error) {
	var c character
	err := json.Unmarshal(data, &c)
	if err == nil {
		var d *Description
		if d, err = c.description(); err == nil {
			return d, nil
		}
	}
	return nil, fmt.Errorf("motions: %s: %w", origin, err)
}

func (c *character) description() (*Description, error) {
	if c.Skeleton == nil || len(c.Skeleton.Joints) == 0 {
		return nil, errors.New(`no character's description: there is no "Skeleton" with "Joints"`)
	}
	d := &Description{}
	add := func(name string, kind Kind) { d.Columns = append(d.Columns, Column{name, kind}) }
	for i, j := range c.Skeleton.Joints {
		if j.Name == "" {
			return nil, fmt.Errorf("joint %d has no Name", i)
		}
		if j.Parent == nil || *j.Parent >= i || *j.Parent < -1 || (*j.Parent == -1) != (i == 0) {
			return nil, fmt.Errorf("joint %d (%s): Parent must be -1 for the first joint and an earlier joint for the others", i,
				j.Name)
		}
		switch {
		case i == 0 && j.Type == "none":
			add("root_x", Travel)
			add("root_y", Linear)
			add("root_z", Travel)
			add(rootRotation, Rotation)
		case i == 0 && j.Type == "planar":
			add("root_x", Travel)
			add("root_y", Linear)
			add("root_pitch", Linear)
		case i > 0 && j.Type == "planar":
			add(j.Name+"_x", Linear)
			add(j.Name+"_y", Linear)
			add(j.Name, Hinge)
		case i > 0 && j.Type == "spherical":
			add(j.Name, Rotation)
		case i > 0 && j.Type == "revolute":
			add(j.Name, Hinge)
		case i > 0 && j.Type == "prismatic":
			add(j.Name, Linear)
		case j.Type == "fixed":
		default:
			return nil, fmt.Errorf("joint %d (%s): unknown Type %q", i, j.Name, j.Type)
		}
	}
	if len(d.Columns) == 0 {
		return nil, errors.New("no joint moves")
	}
	return d, d.check()
}
