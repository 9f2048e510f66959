package motions

// The quadruped's lengths in metres. A foot is a ball.
const (
	quadrupedThigh = 0.2
	quadrupedShin  = 0.2
	quadrupedFoot  = 0.02
)

// QuadrupedSkeleton returns a quadruped of the sizes of Unitree's A1: a trunk and four legs of three hinges each, in
// the order FR, FL, RR, RL (front right and so on), hip about x, thigh and calf about y, as on the robot. In the zero
// pose the legs hang down straight, and the feet's lower ends are 0.42 m below the trunk. The robot stands with thighs
// at 0.9 and calves at −1.8 rad, 0.27 m high.
func QuadrupedSkeleton() *Skeleton {
	s := &Skeleton{Name: "quadruped", Bodies: []Body{{Name: "trunk", Parent: -1}}}
	add := func(b Body, axis [3]float64, lower, upper float64) {
		b.Joints = []Joint{{Name: b.Name, Kind: Hinge, Axis: axis, Lower: lower, Upper: upper}}
		s.Bodies = append(s.Bodies, b)
	}
	x, y := [3]float64{1, 0, 0}, [3]float64{0, 1, 0}
	for i, leg := range []string{"FR", "FL", "RR", "RL"} {
		front, side := []float64{1, 1, -1, -1}[i], []float64{-1, 1, -1, 1}[i]
		n := len(s.Bodies)
		add(Body{Name: leg + "_hip", Parent: 0, Offset: [3]float64{front * .183, side * .047, 0}}, x, -.803, .803)
		add(Body{Name: leg + "_thigh", Parent: n, Offset: [3]float64{0, side * .085, 0}}, y, -1.047, 4.189)
		add(Body{Name: leg + "_calf", Parent: n + 1, Offset: [3]float64{0, 0, -quadrupedThigh}}, y, -2.697, -.916)
		s.Bodies = append(s.Bodies, Body{Name: leg + "_foot", Parent: n + 2, Offset: [3]float64{0, 0, -quadrupedShin},
			Contacts: []Contact{{Radius: quadrupedFoot}}})
	}
	return s
}
