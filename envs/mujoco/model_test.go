package mujoco

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

const cartPoleXML = `<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.01"/>
  <worldbody>
    <body name="cart"><joint name="slider" type="slide" axis="1 0 0" limited="true" range="-2 2"/>
      <geom type="box" size=".2 .1 .1" mass="1"/>
      <body name="pole"><joint name="hinge" type="hinge" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 1" size=".05" mass=".1"/></body>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="slider" ctrllimited="true" ctrlrange="-1 1" gear="10"/></actuator>
  <sensor><jointpos joint="hinge"/><jointvel joint="slider"/></sensor>
</mujoco>`

func TestModel(t *testing.T) {
	before := live()
	m := must.Get(ParseModel(cartPoleXML))(t)
	if low, high, ok := m.ControlRange(0); low != -1 || high != 1 || !ok || m.Fast() {
		t.Errorf("control range %g to %g, %t; fast %t", low, high, ok, m.Fast())
	}
	if low, high, ok, err := m.JointRange("slider"); low != -2 || high != 2 || !ok || err != nil {
		t.Errorf("slider from %g to %g, %t: %v", low, high, ok, err)
	}
	must.Same(t, m.Names(Body), []string{"world", "cart", "pole"}, "bodies")
	must.Refused(m.ID(Actuator, "pull"))(t, `no actuator named "pull"; there are ["push"]`)
	b := must.Get(NewBatch(m, 2, 1))(t)
	must.Do(t, m.Close())
	must.Do(t, b.Step(1)) // a batch outlives its model's Close
	must.Refused(NewBatch(m, 1, 1))(t, "")
	for range 2 {
		must.Do(t, b.Close())
	}
	must.Refuse(t, b.Step(1), "")
	must.Is(t, live(), before, "%d C objects are left", live()-before)
}

// TestOutOfMemoryIsAnError takes most of one simulation's stack away: MuJoCo's own answer is to end the process.
func TestOutOfMemoryIsAnError(t *testing.T) {
	m := must.Open(ParseModel(walkerXML))(t)
	b := must.Open(NewBatch(m, 4, 2))(t)
	enough := b.setArena(2, 160)
	must.Refuse(t, b.Step(5), "step of simulation 2: ", "tack")
	must.Refuse(t, b.Reset(2), "reset of simulation 2: ")
	b.setArena(2, enough)
	must.Do(t, b.Reset(2))
	must.Do(t, b.Step(5))
}
