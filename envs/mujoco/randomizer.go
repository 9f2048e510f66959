package mujoco

/*
#cgo noescape gm_derive
#cgo nocallback gm_derive
#include "engine.h"
*/
import "C"

import (
	"fmt"
	"math"
	"math/rand/v2"
	"unsafe"
)

// randomizer holds what differs between the environments of a batch, see [RandomizeConfig]. Workers write only the rows
// of their own environments.
type randomizer struct {
	cfg   RandomizeConfig
	batch *Batch
	// steps is the number of control steps so far, for the curriculum.
	steps float64

	// at has, for each of the model's arrays, its first column in table, or -1 for an array that does not vary.
	at [numVaried]int
	// table (N, width) holds the environments' numbers, in C memory. base (width) is a row with the model's original
	// numbers. Both are nil if the models do not vary.
	base, table []float64
	// derive is true if numbers that depend on the drawn ones, such as inverse weights, must be computed again.
	derive bool

	// names are the names of metrics. The metrics of an environment are at the beginning of its memory.
	names []string
	// memory (N, size) holds each environment's metrics, then its other numbers. lags, push and offsets are the columns
	// of the two delays, of the number of steps until the next push, and of the joints' offsets.
	memory              []float64
	size                int
	lags, push, offsets int

	signals signals

	task *characterTask
	// terrain is nil on a flat floor. level is the column of an environment's level in its memory.
	terrain *terrain
	level   int
}

// The arrays of a model that vary.
const (
	variedPairs = iota
	variedGeoms
	variedMass
	variedInertia
	variedCenter
	variedGain
	variedBias
	variedDamping
	variedForce
	variedArmature
	numVaried
)

// newRandomizer returns nil if the task is nil or its randomisation is off. It gives every worker of the batch a copy
// of the model.
func newRandomizer(task *characterTask, b *Batch) (*randomizer, error) {
	if task == nil || task.cfg.Randomize.off() {
		return nil, nil
	}
	cfg, parts, actions := task.cfg.Randomize, task.parts(), b.model.NU()
	if err := cfg.check(parts); err != nil {
		return nil, err
	}
	r := &randomizer{cfg: cfg, batch: b, task: task, terrain: task.terrain}
	if err := r.vary(); err != nil {
		return nil, err
	}
	r.names = chosen([]choice{ // in the order of draws
		{"friction", on(cfg.Friction)}, {"mass", on(cfg.Mass)}, {"center_of_mass", cfg.CenterOfMass > 0},
		{"stiffness", on(cfg.Stiffness)}, {"damping", on(cfg.Damping)}, {"motor_strength", on(cfg.MotorStrength)},
		{"armature", on(cfg.Armature)}, {"joint_offset", cfg.JointOffset > 0}, {"action_delay", cfg.ActionDelay[1] > 0},
		{"observation_delay", cfg.ObservationDelay[1] > 0}, {"randomization", cfg.Curriculum > 0},
		{"terrain_level", r.terrain != nil},
	})
	r.lags = len(r.names)
	r.push = r.lags + 2
	r.level = r.push + 1
	r.offsets = r.level + 1
	r.size = r.offsets
	if cfg.JointOffset > 0 {
		r.size += actions
	}
	r.memory = make([]float64, b.n*r.size)
	r.signals = newSignals(&cfg, b.n, parts, actions, task.dt)
	return r, nil
}

// vary lists the model's arrays that vary, and makes the workers' models.
func (r *randomizer) vary() error {
	m, cfg := r.batch.model, &r.cfg
	for k := range r.at {
		r.at[k] = -1
	}
	var arrays []*C.double
	var lengths []C.int
	width := 0
	add := func(array *C.mjtNum, length int) (at int) {
		at = width
		arrays, lengths = append(arrays, (*C.double)(array)), append(lengths, C.int(length))
		width += length
		return at
	}
	nb, nv, nu := m.NumBodies(), m.NV(), Actuator.count(m.m)
	if on(cfg.Friction) {
		r.at[variedPairs] = add(m.m.pair_friction, 5*int(m.m.npair))
		r.at[variedGeoms] = add(m.m.geom_friction, 3*int(m.m.ngeom))
	}
	if on(cfg.Mass) {
		r.at[variedMass], r.at[variedInertia] = add(m.m.body_mass, nb), add(m.m.body_inertia, 3*nb)
	}
	if cfg.CenterOfMass > 0 {
		if unsafe.Slice((*byte)(unsafe.Pointer(m.m.body_simple)), nb)[1] != 0 {
			return fmt.Errorf("Randomize.CenterOfMass is %g m; the model's root has no joints to move it against",
				cfg.CenterOfMass)
		}
		r.at[variedCenter] = add(m.m.body_ipos, 3*nb)
	}
	if on(cfg.Stiffness) {
		if err := r.positionActuators(); err != nil {
			return err
		}
		r.at[variedGain] = add(m.m.actuator_gainprm, nu*C.mjNGAIN)
	}
	if on(cfg.Stiffness) || on(cfg.Damping) {
		r.at[variedBias] = add(m.m.actuator_biasprm, nu*C.mjNBIAS)
	}
	if on(cfg.Damping) {
		r.at[variedDamping] = add(m.m.dof_damping, nv)
	}
	if on(cfg.MotorStrength) {
		for i, name := range m.Names(Actuator) {
			if !flagAt(unsafe.Pointer(m.m.actuator_forcelimited), i) {
				return fmt.Errorf("Randomize.MotorStrength is %g; the actuator %q has no force limit to scale",
					cfg.MotorStrength, name)
			}
		}
		r.at[variedForce] = add(m.m.actuator_forcerange, 2*nu)
	}
	if on(cfg.Armature) {
		r.at[variedArmature] = add(m.m.dof_armature, nv)
	}
	if r.derive = on(cfg.Mass) || cfg.CenterOfMass > 0 || on(cfg.Armature); r.derive {
		add(m.m.body_subtreemass, nb)
		add(m.m.body_invweight0, 2*nb)
		add(m.m.dof_invweight0, nv)
		add(m.m.dof_M0, nv)
		add(m.m.tendon_invweight0, int(m.m.ntendon))
		add(m.m.actuator_acc0, m.forces())
		add(&m.m.stat.meaninertia, 1)
	}
	if width == 0 {
		return nil
	}
	reach := cfg.CenterOfMass * math.Sqrt(3)
	message := r.batch.message[0]
	if C.gm_make_variants(r.batch.c, C.int(r.batch.pool.workers()), &arrays[0], &lengths[0], C.int(len(arrays)),
		C.double(reach), message) != 0 {
		return fmt.Errorf("models for %d workers: %s", r.batch.pool.workers(), tidy(C.GoString(message)))
	}
	r.table = floats(r.batch.c.variants.table, r.batch.n*width)
	r.base = append(r.base, r.table[:width]...)
	return nil
}

// positionActuators returns an error unless all actuators are position actuators: force = gain · (control − position).
func (r *randomizer) positionActuators() error {
	m := r.batch.model
	names := m.Names(Actuator)
	gain, bias := floats(m.m.actuator_gainprm, len(names)*C.mjNGAIN), floats(m.m.actuator_biasprm, len(names)*C.mjNBIAS)
	for i, name := range names {
		if kp := gain[i*C.mjNGAIN]; kp == 0 || kp != -bias[i*C.mjNBIAS+1] {
			return fmt.Errorf("Randomize.Stiffness is %g; the actuator %q is not one for positions", r.cfg.Stiffness,
				name)
		}
	}
	return nil
}

// strength returns the share in [0, 1] of the configured randomisation that the curriculum has reached.
func (r *randomizer) strength() float64 {
	if r.cfg.Curriculum == 0 {
		return 1
	}
	return min(1, r.steps/float64(r.cfg.Curriculum))
}

// variant returns the model's numbers of environment i.
func (r *randomizer) variant(i int) []float64 { return row(r.table, i, len(r.base)) }

// memoryOf returns the memory of environment i.
func (r *randomizer) memoryOf(i int) []float64 { return row(r.memory, i, r.size) }

// metrics returns the metrics of environment i, one for each name.
func (r *randomizer) metrics(i int) []float64 { return r.memoryOf(i)[:len(r.names)] }

// valid reports whether a saved memory has delays that fit into the rings, and a level that exists.
func (r *randomizer) valid(memory []float64) bool {
	action, observation, level := memory[r.lags], memory[r.lags+1], memory[r.level]
	return level >= 0 && level <= float64(max(0, r.cfg.Terrain.Levels-1)) &&
		action >= 0 && action <= float64(r.cfg.ActionDelay[1]) && observation >= 0 &&
		observation <= float64(r.cfg.ObservationDelay[1])
}

// draw draws the numbers of environment i for a new episode.
func (r *randomizer) draw(worker, i int, rng *rand.Rand) error {
	if r.table != nil {
		copy(r.variant(i), r.base)
	}
	d := draws{randomizer: r, rng: rng, strength: r.strength(), own: r.variant(i), mem: r.memoryOf(i)}
	d.metrics = d.mem[:0:len(r.names)]
	d.bodies()
	d.joints()
	d.signals()
	r.signals.begin(i)
	if !r.derive {
		return nil
	}
	failed := C.gm_derive(r.batch.c, C.int(worker), C.int(i), r.batch.message[worker])
	return r.batch.failure("randomization", worker, int(failed))
}

// draws draws the numbers of an environment.
type draws struct {
	*randomizer
	rng      *rand.Rand
	strength float64
	// own are the environment's numbers of the model. mem is its memory, which begins with the metrics.
	own, mem, metrics []float64
}

// factor draws a factor from a range.
func (d *draws) factor(v [2]float64) float64 {
	return 1 + d.strength*(v[0]+(v[1]-v[0])*d.rng.Float64()-1)
}

// error draws an error of at most size in both directions.
func (d *draws) error(size float64) float64 { return d.strength * size * (2*d.rng.Float64() - 1) }

// bodies draws friction, masses and the centre of mass.
func (d *draws) bodies() {
	m := d.batch.model.m
	if v := d.cfg.Friction; on(v) {
		value, mu := v[0]+(v[1]-v[0])*d.rng.Float64(), 0.0
		replace := func(at, columns int) {
			mu = d.own[at] + d.strength*(value-d.own[at])
			for k := range columns {
				d.own[at+k] = mu
			}
		}
		for g := range int(m.ngeom) {
			replace(d.at[variedGeoms]+3*g, 1)
		}
		for p := range int(m.npair) {
			replace(d.at[variedPairs]+5*p, 2)
		}
		d.metrics = append(d.metrics, mu)
	}
	if on(d.cfg.Mass) {
		before, after := 0.0, 0.0
		for k := 1; k < int(m.nbody); k++ {
			f, mass := d.factor(d.cfg.Mass), &d.own[d.at[variedMass]+k]
			before += *mass
			*mass *= f
			after += *mass
			for j := range 3 {
				d.own[d.at[variedInertia]+3*k+j] *= f
			}
		}
		d.metrics = append(d.metrics, after/before)
	}
	if d.cfg.CenterOfMass > 0 {
		distance := 0.0
		for j := range 3 {
			v := d.error(d.cfg.CenterOfMass)
			d.own[d.at[variedCenter]+3+j] += v
			distance += v * v
		}
		d.metrics = append(d.metrics, math.Sqrt(distance))
	}
}

// joints draws factors for each joint and its actuator. The metrics are their means.
func (d *draws) joints() {
	joints := Actuator.count(d.batch.model.m)
	each := func(v [2]float64, scale func(joint int, factor float64)) {
		if !on(v) {
			return
		}
		mean := 0.0
		for k := range joints {
			f := d.factor(v)
			scale(k, f)
			mean += f / float64(joints)
		}
		d.metrics = append(d.metrics, mean)
	}
	each(d.cfg.Stiffness, func(k int, f float64) {
		d.own[d.at[variedGain]+k*C.mjNGAIN] *= f
		d.own[d.at[variedBias]+k*C.mjNBIAS+1] *= f
	})
	each(d.cfg.Damping, func(k int, f float64) {
		d.own[d.at[variedBias]+k*C.mjNBIAS+2] *= f
		d.own[d.at[variedDamping]+rootVelocities+k] *= f
	})
	each(d.cfg.MotorStrength, func(k int, f float64) {
		d.own[d.at[variedForce]+2*k] *= f
		d.own[d.at[variedForce]+2*k+1] *= f
	})
	each(d.cfg.Armature, func(k int, f float64) { d.own[d.at[variedArmature]+rootVelocities+k] *= f })
}

// signals draws the joints' offsets, the delays, the level of the terrain and the time of the first push.
func (d *draws) signals() {
	if d.cfg.JointOffset > 0 {
		mean, offsets := 0.0, d.mem[d.offsets:]
		for k := range offsets {
			offsets[k] = d.error(d.cfg.JointOffset)
			mean += math.Abs(offsets[k]) / float64(len(offsets))
		}
		d.metrics = append(d.metrics, mean)
	}
	for k, v := range [][2]int{d.cfg.ActionDelay, d.cfg.ObservationDelay} {
		if v[1] == 0 {
			continue
		}
		low, high := int(math.Round(d.strength*float64(v[0]))), int(math.Round(d.strength*float64(v[1])))
		d.mem[d.lags+k] = float64(low + d.rng.IntN(high-low+1))
		d.metrics = append(d.metrics, d.mem[d.lags+k])
	}
	if d.cfg.Curriculum > 0 {
		d.metrics = append(d.metrics, d.strength)
	}
	if t := d.terrain; t != nil {
		if !t.Curriculum {
			d.mem[d.level] = float64(d.rng.IntN(1 + int(math.Round(d.strength*float64(t.Levels-1)))))
		}
		d.metrics = append(d.metrics, d.mem[d.level])
	}
	if d.cfg.Push.Seconds > 0 {
		d.mem[d.push] = float64(1 + d.rng.IntN(d.randomizer.signals.period))
	}
}
