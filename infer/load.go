package infer

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/models/description"
)

// ErrUndescribed is what errors wrap where a checkpoint does not say what its policy computes: it is of an earlier
// gorl, or of a user's model without the method Describe of models.Described.
var ErrUndescribed = description.ErrUndescribed

// Load reads the policy of a checkpoint that a trainer wrote, by the path of its .safetensors file or of its manifest,
// and verifies it by the manifest's checksum; or one that [Policy.WriteFile] wrote, which has no manifest.
func Load(path string) (*Policy, error) {
	saved, err := checkpoint.Load(path)
	if errors.Is(err, checkpoint.ErrUncommitted) {
		return loadBare(path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("infer: %w", err)
	}
	p, err := FromSnapshot(saved.Snapshot)
	return p, at(path, err)
}

// at says which file an error is of; nil stays nil.
func at(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w (%s)", err, path)
}

// loadBare reads a file without a manifest, which is that of a policy alone or a checkpoint whose save was interrupted.
func loadBare(path string, uncommitted error) (*Policy, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("infer: %w", err)
	}
	snap, err := checkpoint.DecodeSafetensors(data)
	if err != nil {
		return nil, fmt.Errorf("infer: %w", uncommitted)
	}
	if snap.Values[layout.Alone] != true {
		return nil, fmt.Errorf("infer: %w; a checkpoint that is copied elsewhere needs its manifest (.json) beside "+
			"it, a policy that Policy.WriteFile wrote does not", uncommitted)
	}
	p, err := FromSnapshot(snap)
	return p, at(path, err)
}

// Decode reads a policy from the bytes of a checkpoint's .safetensors file, embedded in a program or sent by a server.
func Decode(data []byte) (*Policy, error) {
	snap, err := checkpoint.DecodeSafetensors(data)
	if err != nil {
		return nil, fmt.Errorf("infer: %w", err)
	}
	return FromSnapshot(snap)
}

// FromSnapshot makes a policy of an agent's or a trainer's snapshot. It shares no memory with it.
func FromSnapshot(snap *checkpoint.Snapshot) (*Policy, error) {
	v, ok := snap.Values[layout.Description]
	if n, err := snap.Int(layout.GroupSize); !ok && err == nil {
		return nil, fmt.Errorf("infer: the checkpoint is of a group of %d agents; use infer.Member, or "+
			"infer.LoadMember, for one of them", n)
	}
	if !ok {
		return nil, fmt.Errorf("infer: %w: the checkpoint has no value \"policy\", so it is of an earlier gorl; let "+
			"its agent restore it and "+
			"save it again with this one, or give the description to infer.New", ErrUndescribed)
	}
	d, err := description.Of(v)
	if err != nil {
		return nil, fmt.Errorf("infer: %w", err)
	}
	return New(d, snap)
}

// LoadMember is Load for agent i of the checkpoint of a group (trainers.Group).
func LoadMember(path string, i int) (*Policy, error) {
	saved, err := checkpoint.Load(path)
	if err != nil {
		return nil, fmt.Errorf("infer: %w", err)
	}
	p, err := Member(saved.Snapshot, i)
	return p, at(path, err)
}

// Member is FromSnapshot for agent i of the snapshot of a group (trainers.Group).
func Member(snap *checkpoint.Snapshot, i int) (*Policy, error) {
	own, ok := layout.MemberOf(snap, i)
	if !ok {
		return nil, fmt.Errorf("infer: the checkpoint has no agent %d", i)
	}
	return FromSnapshot(own)
}

// New makes a policy of a description and the arrays that it names, for checkpoints without one. Arrays that are
// missing, of another shape, or not finite are errors. It shares no memory with the snapshot.
func New(d description.Policy, snap *checkpoint.Snapshot) (*Policy, error) {
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("infer: %w", err)
	}
	p := &program{d: d, set: d.Spaces(), size: d.Network.HiddenSize(), float32s: map[string][]float32{},
		float64s: map[string][]float64{},
		shapes:   map[string][]int64{}}
	if err := p.compile(snap); err != nil {
		return nil, fmt.Errorf("infer: %w", err)
	}
	p.limitBlock()
	return newPolicy(p).readRobot(snap)
}

// weights copies an F32 array of the policy.
func (p *program) weights(snap *checkpoint.Snapshot, name string, shape ...int64) ([]float32, error) {
	if v, ok := p.float32s[name]; ok && int64(len(v)) == product(shape) {
		return v, nil // used twice
	}
	v, err := snap.Float32s(name, shape...)
	p.shapes[name] = shape
	return keep(p.float32s, name, v, err)
}

// statistics copies the F64 arrays of a mean and a variance.
func (p *program) statistics(snap *checkpoint.Snapshot, names ...string) (mean, variance []float64, err error) {
	for i, to := range []*[]float64{&mean, &variance} {
		v, err := snap.Float64s(names[i], int64(p.d.Network.Inputs))
		if *to, err = keep(p.float64s, names[i], v, err); err != nil {
			return nil, nil, err
		}
	}
	return mean, variance, nil
}

// keep puts a copy of an array that has been read, which must be finite, among the policy's, and returns it.
func keep[T float32 | float64](arrays map[string][]T, name string, v []T, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(v, func(x T) bool { return x-x != 0 }) {
		return nil, fmt.Errorf("array %q is not finite; take an earlier checkpoint", name)
	}
	arrays[name] = slices.Clone(v)
	return arrays[name], nil
}

func product(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// Snapshot returns the policy without what only training needs: its arrays, its description and its robot's.
func (p *Policy) Snapshot() *checkpoint.Snapshot {
	snap := checkpoint.NewSnapshot()
	snap.Values[layout.Description], snap.Values[layout.Alone] = p.d.Values(), true
	for _, name := range slices.Sorted(maps.Keys(p.float32s)) {
		snap.Arrays[name] = checkpoint.ArrayFloat32(slices.Clone(p.shapes[name]), slices.Clone(p.float32s[name]))
	}
	for name, v := range p.float64s {
		snap.Arrays[name] = checkpoint.ArrayFloat64([]int64{int64(len(v))}, slices.Clone(v))
	}
	p.writeRobot(snap)
	return snap
}

// WriteFile writes the policy alone, a small safetensors file that [Load] and [Decode] read. The file at path is
// replaced at once or not at all.
func (p *Policy) WriteFile(path string) error {
	if !strings.HasSuffix(path, ".safetensors") {
		return fmt.Errorf("infer: %s: a policy's file is named *.safetensors", path)
	}
	return checkpoint.WriteFile(path, func(w io.Writer) error { return checkpoint.EncodeSafetensors(w, p.Snapshot()) })
}

// Transform is a transform of observations ready to be applied: (x − Mean) / Deviation in float64, where there is a
// Mean, and then the limits, where Low is below High.
type Transform struct {
	Mean, Deviation []float64
	Low, High       float32
}

func (p *program) newTransform(d description.Transform, snap *checkpoint.Snapshot) (Transform, error) {
	t := Transform{Low: float32(d.Low), High: float32(d.High)}
	if !d.Normalizes() {
		return t, nil
	}
	var variance []float64
	var err error
	if t.Mean, variance, err = p.statistics(snap, d.Mean, d.Variance); err != nil {
		return t, err
	}
	for i, v := range variance {
		deviation := math.Sqrt(v + d.Epsilon)
		if !(deviation > 0) {
			return t, fmt.Errorf("array %q: variance %d is %g; its deviation must be above 0", d.Variance, i, v)
		}
		t.Deviation = append(t.Deviation, deviation)
	}
	return t, nil
}

// apply transforms rows in place.
func (t Transform) apply(rows []float32) {
	if w := len(t.Mean); w > 0 {
		for i, x := range rows {
			rows[i] = float32((float64(x) - t.Mean[i%w]) / t.Deviation[i%w])
		}
	}
	if t.Low < t.High {
		for i, x := range rows {
			rows[i] = min(max(x, t.Low), t.High)
		}
	}
}

// scaler is a normalizer ready to be applied: (x − mean) / deviation, limited.
type scaler struct {
	mean, deviation []float32
	clip            float32
}

func (p *program) newScaler(n *description.Normalizer, snap *checkpoint.Snapshot) (*scaler, error) {
	mean, variance, err := p.statistics(snap, n.Mean, n.Variance)
	if err != nil {
		return nil, err
	}
	s := &scaler{clip: float32(n.Clip)}
	for i, v := range variance {
		if v < 0 {
			return nil, fmt.Errorf("array %q: variance %d is %g", n.Variance, i, v)
		}
		// As the agent does it, in float32.
		d := float32(math.Sqrt(float64(float32(v)))) + float32(n.Epsilon)
		if d == 0 {
			return nil, fmt.Errorf("array %q: deviation %d is 0; the normalizer divides by it", n.Variance, i)
		}
		s.mean, s.deviation = append(s.mean, float32(mean[i])), append(s.deviation, d)
	}
	return s, nil
}

// apply standardises rows of x into y.
func (s *scaler) apply(x, y []float32) {
	w := len(s.mean)
	for ; len(x) >= w; x, y = x[w:], y[w:] {
		for i, m := range s.mean {
			y[i] = min(max((x[i]-m)/s.deviation[i], -s.clip), s.clip)
		}
	}
}
