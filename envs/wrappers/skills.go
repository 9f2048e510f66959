package wrappers

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/internal/statecodec"
	"github.com/gorl-dev/gorl/spaces"
)

// SkillsOptions are the settings of [NewSkills]. The zero value has the defaults.
type SkillsOptions struct {
	// Size is the number of dimensions of a latent, at least 2; 0 means 64. It must equal the agent's latent_size.
	Size int
	// MinSteps and MaxSteps bound the number of steps for which a latent is held, both included; 0 means 1 and 150. A
	// longer time lets a skill unfold; a shorter one shows more changes between skills.
	MinSteps, MaxSteps int
	// Seed seeds the generator of latents until a Reset gives another seed.
	Seed int64
}

// Skills appends a latent skill to every observation and every privileged state. A latent is a point drawn uniformly
// on the unit sphere (Peng et al. 2022, ASE), or one of given points, see [Skills.SetSource] (Tessler et al. 2023,
// CALM). It is held for a random number of steps; then, and when the episode ends, another one is drawn. A final
// observation has the latent of its episode. Skills is [envs.Stateful] if the environment inside is.
type Skills struct {
	latest
	// options have their defaults filled in.
	options SkillsOptions
	// pcg is the state of the generator rng, kept apart because it is saved.
	pcg *rand.PCG
	rng *rand.Rand
	// latents is (N, Size), points of length 1.
	latents []float32
	// left is (N): the number of steps until the next latent is drawn.
	left []int
	// source returns the points (n, Size) to choose latents from; nil stands for the whole sphere.
	source func() ([]float32, error)
	// shown and ends (N, S+Size) are the states and final states.
	shown, ends []float32
}

// NewSkills returns env with latents behind its observations, whose space must be a Box, and behind its states, whose
// space must be a Box or None.
func NewSkills(env envs.Env, o SkillsOptions) (*Skills, error) {
	if _, err := boxOf(env, "NewSkills", "observation"); err != nil {
		return nil, err
	}
	o.Size, o.MinSteps, o.MaxSteps = cmp.Or(o.Size, 64), cmp.Or(o.MinSteps, 1), cmp.Or(o.MaxSteps, 150)
	if o.Size < 2 || o.MinSteps < 1 || o.MaxSteps < o.MinSteps {
		return nil, fmt.Errorf("wrappers: NewSkills: a latent of %d dimensions, held for %d to %d steps; want at "+
			"least 2 dimensions, and 1 ≤ MinSteps ≤ MaxSteps",
			o.Size, o.MinSteps, o.MaxSteps)
	}
	set, n := env.Spaces(), env.NumEnvs()
	if set.State.Kind != spaces.Box && set.State.Kind != spaces.None {
		return nil, fmt.Errorf("wrappers: NewSkills needs a Box of states or none, the state space is %v", set.State)
	}
	// The latent is appended as further columns of the flat row.
	set.Observation = longer(set.Observation, o.Size)
	if set.State.Kind == spaces.Box {
		set.State = longer(set.State, o.Size)
	}
	k := &Skills{latest: newLatest(env, set), options: o, latents: make([]float32, n*o.Size), left: make([]int, n),
		shown: set.State.Rows(n), ends: set.State.Rows(n)}
	k.seed(o.Seed)
	// The first latents are from the sphere; Reset draws others, from the source if it is set by then.
	for i := range n {
		k.uniform(i)
	}
	return k, nil
}

// SetSource sets where latents come from, beginning with the next one drawn. source returns n points, n × Size
// values, each equally likely. It is called whenever a latent is drawn, so the points may change. nil restores the
// whole sphere.
//
// amp.Agent.Latents is such a source, for latent_mode "calm". A source with a single point, such as what
// amp.Agent.Encode makes of a clip, shows what the policy does with that point. The source is not saved with the
// state. An environment made for evaluation needs its own call.
func (k *Skills) SetSource(source func() ([]float32, error)) { k.source = source }

// longer returns a Box with size more dimensions, whose limits are -1 and 1: those of a point on the unit sphere. A
// Box without limits stays without.
func longer(space spaces.Space, size int) spaces.Space {
	out, w := spaces.Unbounded(space.Width()+size), space.Width()
	if space.Low == nil && space.High == nil {
		return out
	}
	copy(out.Low, space.Low)
	copy(out.High, space.High)
	for j := range size {
		out.Low[w+j], out.High[w+j] = -1, 1
	}
	return out
}

// seed starts the sequence of latents. The second number keeps it apart from other generators with the same seed.
func (k *Skills) seed(seed int64) {
	k.pcg = rand.NewPCG(uint64(seed), 0x8bb84b93962eacc9)
	k.rng = rand.New(k.pcg)
}

// draw gives environment i another latent, from the source if there is one, and the time for which it is held.
func (k *Skills) draw(i int) error {
	if k.source == nil {
		k.uniform(i)
		return nil
	}
	points, err := k.source()
	if err != nil {
		return fmt.Errorf("wrappers: Skills: the source of latents: %w", err)
	}
	size := k.options.Size
	if len(points) == 0 || len(points)%size != 0 {
		return fmt.Errorf("wrappers: Skills: the source of latents gave %d values; want points of %d dimensions",
			len(points), size)
	}
	z := points[k.rng.IntN(len(points)/size)*size:][:size]
	// Latents lie on the unit sphere. 1e-4 allows for rounding in float32.
	if l := length(z); !(math.Abs(l-1) < 1e-4) {
		return fmt.Errorf("wrappers: Skills: the source of latents gave a point of length %g, want 1", l)
	}
	copy(k.latents[i*size:], z)
	k.hold(i)
	return nil
}

// uniform gives environment i a latent drawn uniformly on the sphere: independent normal numbers have no preferred
// direction, and are divided by their length.
func (k *Skills) uniform(i int) {
	z := k.latents[i*k.options.Size:][:k.options.Size]
	for j := range z {
		z[j] = float32(k.rng.NormFloat64())
	}
	norm := length(z)
	// Practically impossible: all numbers would have to be 0.
	if norm == 0 {
		z[0], norm = 1, 1
	}
	for j := range z {
		z[j] = float32(float64(z[j]) / norm)
	}
	k.hold(i)
}

// hold draws the number of steps for which environment i keeps its latent.
func (k *Skills) hold(i int) {
	k.left[i] = k.options.MinSteps + k.rng.IntN(k.options.MaxSteps-k.options.MinSteps+1)
}

// length returns the Euclidean length of z.
func length(z []float32) float64 {
	sum := 0.0
	for _, x := range z {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// Latents returns the present latents, (N, Size). The slice belongs to the wrapper, which overwrites it.
func (k *Skills) Latents() []float32 { return k.latents }

// Reset resets the environment inside and draws latents for all environments. A seed ≥ 0 also restarts the sequence
// of latents.
func (k *Skills) Reset(seed int64) (*envs.Step, error) {
	s, err := k.within.Reset(seed)
	if err != nil {
		return nil, err
	}
	if seed >= 0 {
		k.seed(seed)
	}
	for i := range k.left {
		if err := k.draw(i); err != nil {
			return nil, err
		}
	}
	return k.shows(s), nil
}

// Step steps the environment inside. It draws another latent for environments whose time is over or whose episode
// ended.
func (k *Skills) Step(actions []float32) (*envs.Step, error) {
	s, err := k.within.Step(actions)
	if err != nil {
		return nil, err
	}
	// Final rows get the latents that the episodes ended with, before others are drawn.
	if s.FinalObservations != nil {
		k.join(k.finals, s.FinalObservations)
	}
	if s.FinalStates != nil {
		k.join(k.ends, s.FinalStates)
	}
	for i := range k.left {
		if k.left[i]--; k.left[i] <= 0 || s.Ended(i) {
			if err := k.draw(i); err != nil {
				return nil, err
			}
		}
	}
	return k.shows(s), nil
}

// shows returns the step s of the environment inside with the present latents. Final rows have their latents already:
// Step appends those before it draws others.
func (k *Skills) shows(s *envs.Step) *envs.Step {
	k.show(s, k.join)
	if s.States != nil {
		k.join(k.shown, s.States)
		k.step.States = k.shown
	}
	if s.FinalStates != nil {
		k.step.FinalStates = k.ends
	}
	return &k.step
}

// join writes rows (N, w) into out (N, w+Size), with environment i's latent behind row i.
func (k *Skills) join(out, rows []float32) {
	n, size := len(k.left), k.options.Size
	w := len(rows) / n
	for i := range n {
		row := out[i*(w+size):][:w+size]
		copy(row, rows[i*w:][:w])
		copy(row[w:], k.latents[i*size:][:size])
	}
}

// Observe returns the present observations with the present latents.
func (k *Skills) Observe() (*envs.Step, error) {
	s, err := k.present("skills")
	if err != nil {
		return nil, err
	}
	return k.shows(s), nil
}

// skillsHeader begins a saved state. Its number changes with the format.
const skillsHeader = "gorl skills 1"

// MarshalState returns the latents, for how long they are held, what draws them, and the state of the environment
// inside.
func (k *Skills) MarshalState() ([]byte, error) {
	random, err := k.pcg.MarshalBinary()
	if err != nil {
		return nil, err
	}
	// The latents are saved beside the generator: they were drawn up to MaxSteps steps ago, perhaps from a source.
	return marshal(k.stateful(), skillsHeader, func(e *statecodec.Encoder) {
		e.Int(len(k.left))
		e.Int(k.options.Size)
		e.Floats(k.latents)
		for _, left := range k.left {
			e.Int(left)
		}
		e.Bytes(random)
	})
}

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (k *Skills) RestoreState(b []byte) error {
	// latents is replaced by a new slice when the state is read; k.latents itself changes only at the end.
	latents, left := k.latents, make([]int, len(k.left))
	pcg := new(rand.PCG)
	err := restore(k.stateful(), skillsHeader, b, func(d *statecodec.Decoder) {
		if n, size := d.Int(), d.Int(); n != len(left) || size != k.options.Size {
			d.Fail("it is of %d environments with latents of %d dimensions, here are %d of %d", n, size, len(left),
				k.options.Size)
			return
		}
		latents = d.Floats(len(latents))
		for i := range latents {
			z := latents[i/k.options.Size*k.options.Size:][:k.options.Size]
			if !(math.Abs(length(z)-1) < 1e-4) {
				d.Fail("the latent of environment %d has length %g, want 1", i/k.options.Size, length(z))
				return
			}
		}
		for i := range left {
			if left[i] = d.Int(); left[i] < 1 || left[i] > k.options.MaxSteps {
				d.Fail("the latent of environment %d is held for %d steps more, of at most %d", i, left[i],
					k.options.MaxSteps)
			}
		}
		if err := pcg.UnmarshalBinary(d.Bytes()); err != nil {
			d.Fail("its random state: %v", err)
		}
	})
	if err != nil {
		return err
	}
	copy(k.latents, latents)
	copy(k.left, left)
	k.pcg, k.rng = pcg, rand.New(pcg)
	return nil
}
