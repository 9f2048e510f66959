package motions

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Fault is one thing wrong with a clip.
type Fault struct {
	// Kind is "doubled frames", "velocities", "jump", "seam", "floor", "sliding", "gimbal", "limits" or "bodies".
	Kind string `json:"kind"`
	// Text says it in a sentence, with frames, names and numbers.
	Text string `json:"text"`
	// Frame is the worst frame; -1 for faults of the whole clip.
	Frame int `json:"frame"`
	// Value is how bad it is, in the unit that Limit has: what Text says.
	Value float64 `json:"value"`
	// Limit is what a sound clip stays below.
	Limit float64 `json:"limit"`
}

// Report is what [Check] finds.
type Report struct {
	Name     string  `json:"name"`
	Frames   int     `json:"frames"`
	Rate     float64 `json:"frames_per_second"`
	Duration float64 `json:"duration"` // seconds
	Loop     string  `json:"loop"`
	Columns  int     `json:"columns"`
	// Skeleton is the one that the clip was checked on; "" where none is known, and only frames and velocities could be
	// checked.
	Skeleton string `json:"skeleton,omitempty"`
	Joints   int    `json:"joints"`
	Bodies   int    `json:"bodies"`
	// Speed is the mean speed over the ground in m/s, Heights the root's lowest and greatest height, FeetLowest and
	// FeetHighest those of the lower foot's sole, in metres. Sliding is the mean speed of feet that stand, in m/s.
	// They are 0 without a skeleton, those of feet also without contacts.
	Speed       float64    `json:"speed"`
	Heights     [2]float64 `json:"root_height"`
	FeetLowest  float64    `json:"feet_lowest"`
	FeetHighest float64    `json:"feet_highest"`
	Sliding     float64    `json:"sliding"`
	// Fastest is the fastest joint's speed in rad/s.
	Fastest float64 `json:"fastest_joint"`
	// Repairs are those of [Clip.Repairs].
	Repairs []string `json:"repairs,omitempty"`
	Faults  []Fault  `json:"faults"`

	clip *Clip // the one that was checked, on its skeleton where there is one
}

func (r *Report) fault(kind string, frame int, value, limit float64, format string, args ...any) {
	r.Faults = append(r.Faults, Fault{Kind: kind, Text: fmt.Sprintf(format, args...), Frame: frame, Value: value, Limit: limit})
}

// Write prints the report for people, a line for each thing, after two spaces and its name.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s  %s\n", name, fmt.Sprintf(format, args...))
	}
	line("frames", "%d at %.4g a second, %.3f s, loop %s", r.Frames, r.Rate, r.Duration, r.Loop)
	if r.Skeleton != "" {
		line("skeleton", "%s: %d bodies, %d joints", r.Skeleton, r.Bodies, r.Joints)
		line("root", "%.3f to %.3f m high, %.2f m/s over the ground", r.Heights[0], r.Heights[1], r.Speed)
	}
	if r.clip.skeleton != nil && len(r.clip.skeleton.feet()) > 0 {
		line("feet", "the lower sole %.1f to %.1f cm above the floor, sliding at %.2f m/s while it stands", math.Round(1000*r.FeetLowest)/10+0,
			100*r.FeetHighest, r.Sliding)
	}
	if r.Skeleton == "" {
		line("columns", "%d of %d joints and %d bodies; no skeleton is known, so feet, joints and bodies were not checked", r.Columns, r.Joints,
			r.Bodies)
	}
	line("fastest", "%.1f rad/s of a joint", r.Fastest)
	for _, text := range r.Repairs {
		line("repaired", "%s", text)
	}
	for _, f := range r.Faults {
		line("FAULT", "%s: %s", f.Kind, f.Text)
	}
	if len(r.Faults) == 0 {
		line("faults", "none found")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
