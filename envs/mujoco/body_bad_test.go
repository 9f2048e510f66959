package mujoco

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// A bad model is refused with a sentence that names what is wrong, and MuJoCo does not end the process.
func TestBadModelsAreRefused(t *testing.T) {
	dir := t.TempDir()
	nan := make([]byte, 84+50*4)
	binary.LittleEndian.PutUint32(nan[80:], 4)
	for i := 84; i+4 <= len(nan); i += 4 {
		binary.LittleEndian.PutUint32(nan[i:], math.Float32bits(float32(math.NaN())))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "nan.stl"), nan, 0o600))
	must.Do(t, os.WriteFile(filepath.Join(dir, "flat.obj"),
		[]byte("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 3 4\n"), 0o600))
	must.Do(t, os.WriteFile(filepath.Join(dir, "wild.obj"),
		[]byte("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 999999999\n"), 0o600))
	must.Do(t, os.WriteFile(filepath.Join(dir, "short.stl"), nan[:100], 0o600))
	const motor = `<actuator><position joint="h" kp="9"/></actuator>`
	leg := func(trunk, joint, rest string) string {
		return `<mujoco><worldbody><body name="trunk" pos="0 0 1">` + trunk + `<geom name="ball" size=".1" mass="2"/>` +
			`<body name="leg" pos="0 0 -.1">` + joint + `<geom name="foot" pos="0 0 -.3" size=".02" mass=".2"/>` +
			`</body></body></worldbody>` + rest + `</mujoco>`
	}
	hinged := leg(`<freejoint/>`, `<joint name="h"/>`, motor)
	mesh := func(file string) string {
		return leg(`<freejoint/>`, `<joint name="h"/><geom type="mesh" mesh="m" mass="1"/>`,
			`<asset><mesh name="m" file="`+file+`"/></asset>`+motor)
	}
	cases := map[string]struct {
		text, want string
		config     BodyConfig
	}{
		"no free joint": {
			text: leg("", `<joint name="h"/>`, motor),
			want: `"h" of the body "leg", is no free joint`,
		},
		"ball joint": {
			text: leg(`<freejoint/>`, `<joint name="b" type="ball"/>`, ""),
			want: `"b" of the body "leg" is a ball joint`,
		},
		"slide": {
			text: leg(`<freejoint/>`, `<joint name="s" type="slide"/>`, ""),
			want: `"s" of the body "leg" is a slide`,
		},
		"unnamed joint": {text: leg(`<freejoint/>`, `<joint/>`, ""), want: `a hinge of the body "leg" has no name`},
		"no hinge":      {text: leg(`<freejoint/>`, ``, ""), want: "no hinges"},
		"no actuator": {
			text: leg(`<freejoint/>`, `<joint name="h"/>`, ""),
			want: "joint h has no position actuator",
		},
		"motor": {
			text: leg(`<freejoint/>`, `<joint name="h"/>`, `<actuator><motor joint="h"/></actuator>`),
			want: "joint h has no position actuator",
		},
		"missing mesh": {text: mesh("none.stl"), want: "none.stl: no such file"},
		"mesh of NaN":  {text: mesh("nan.stl"), want: "a vertex has the coordinate NaN"},
		"flat mesh":    {text: mesh("flat.obj"), want: "m"},
		"wild mesh":    {text: mesh("wild.obj"), want: "m"},
		"short mesh":   {text: mesh("short.stl"), want: "no binary STL"},
		"zero mass": {
			text: strings.NewReplacer(`mass="2"`, `mass="0"`, `mass=".2"`, `mass="0"`).Replace(hinged),
			want: "mass",
		},
		"limits": {
			text: leg(`<freejoint/>`, `<joint name="h" limited="true" range="1 -1"/>`, motor),
			want: "range",
		},
		"NaN":  {text: leg(`<freejoint/>`, `<joint name="h" pos="nan 0 0"/>`, motor), want: "nan"},
		"axis": {text: leg(`<freejoint/>`, `<joint name="h" axis="0 0 0"/>`, motor), want: "axis"},
		"two free": {
			text: leg(`<freejoint/>`, `<joint name="h"/>`, motor+`<worldbody><body name="cup"><freejoint name="c"/>`+
				`<geom size="1"/></body></worldbody>`),
			want: `"c" of the body "cup" is another free joint`,
		},
		"time step": {
			text: leg(`<freejoint/>`, `<joint name="h"/>`, motor+`<option timestep="0"/>`),
			want: "time step",
		},
		"contactless": {
			text: strings.ReplaceAll(hinged, "<geom ", `<geom contype="0" conaffinity="0" `),
			want: "no geom of the model collides",
		},
		"feet": {
			text:   hinged,
			want:   `Feet: no body, geom or site matches "toe"`,
			config: BodyConfig{Feet: []string{"toe"}},
		},
		"pattern": {
			text:   hinged,
			want:   "is not a regular expression",
			config: BodyConfig{Feet: []string{"("}},
		},
		"actuator twice": {
			text:   hinged,
			want:   "both match the joint h",
			config: BodyConfig{Actuators: []ActuatorConfig{{Joints: "h", Stiffness: 1}, {Joints: ".", Stiffness: 1}}},
		},
		"pose": {
			text:   leg(`<freejoint/>`, `<joint name="h" limited="true" range="-10 10"/>`, motor),
			want:   "joint h is at 1 rad",
			config: BodyConfig{DefaultPose: map[string]float64{"h": 1}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "model.xml")
			must.Do(t, os.WriteFile(path, []byte(c.text), 0o600))
			c.config.ControlFrequency = 50
			_, err := LoadBody(path, c.config)
			must.Refuse(t, err, c.want)
			t.Log(err)
		})
	}
}
