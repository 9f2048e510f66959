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
	write := func(name string, data []byte) { must.Do(t, os.WriteFile(filepath.Join(dir, name), data, 0o600)) }
	write("nan.stl", nan)
	write("wild.obj", []byte("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 999999999\n"))
	write("short.stl", nan[:100])
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
	free := func(joint, rest string) string { return leg(`<freejoint/>`, joint, rest) }
	for _, c := range []struct {
		text, want string
		config     BodyConfig
	}{
		{text: leg("", `<joint name="h"/>`, motor), want: `"h" of the body "leg", is no free joint`},
		{text: free(`<joint name="b" type="ball"/>`, ""), want: `"b" of the body "leg" is a ball joint`},
		{text: free(`<joint/>`, ""), want: `a hinge of the body "leg" has no name`},
		{text: free(``, ""), want: "no hinges"},
		{text: free(`<joint name="h"/>`, `<actuator><motor joint="h"/></actuator>`),
			want: "joint h has no position actuator"},
		{text: mesh("none.stl"), want: "none.stl: no such file"},
		{text: mesh("nan.stl"), want: "a vertex has the coordinate NaN"},
		{text: mesh("wild.obj"), want: "m"},
		{text: mesh("short.stl"), want: "no binary STL"},
		{text: strings.NewReplacer(`mass="2"`, `mass="0"`, `mass=".2"`, `mass="0"`).Replace(hinged), want: "mass"},
		{text: strings.Replace(hinged, `mass=".2"`, `mass="1e-6"`, 1), want: "mass or inertia of a body is too small"},
		{text: free(`<joint name="h" pos="nan 0 0"/>`, motor), want: "nan"},
		{text: free(`<joint name="h"/>`, motor+`<worldbody><body name="cup"><freejoint name="c"/><geom size="1"/>`+
			`</body></worldbody>`), want: `"c" of the body "cup" is another free joint`},
		{text: free(`<joint name="h"/>`, motor+`<option timestep="0"/>`), want: "time step"},
		{text: strings.ReplaceAll(hinged, "<geom ", `<geom contype="0" conaffinity="0" `),
			want: "no geom of the model collides"},
		{text: hinged, want: `Feet: no body, geom or site matches "toe"`, config: BodyConfig{Feet: []string{"toe"}}},
		{text: hinged, want: "is not a regular expression", config: BodyConfig{Feet: []string{"("}}},
		{text: hinged, want: "both match the joint h",
			config: BodyConfig{Actuators: []ActuatorConfig{{Joints: "h", Stiffness: 1}, {Joints: ".", Stiffness: 1}}}},
		{text: free(`<joint name="h" limited="true" range="-10 10"/>`, motor), want: "joint h is at 1 rad",
			config: BodyConfig{DefaultPose: map[string]float64{"h": 1}}},
	} {
		write("model.xml", []byte(c.text))
		c.config.ControlFrequency = 50
		must.Refused(LoadBody(filepath.Join(dir, "model.xml"), c.config))(t, c.want)
	}
}
