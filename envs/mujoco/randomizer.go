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

	// at has the first columns in table of the model's arrays that vary, by the names that varyModel gives them.
	at map[string]int
	// table (N, width) holds the environments' numbers, in C memory. base (width) is a row with the model's original
	// numbers. Both are nil if the models do not vary.
	base, table []float64
	// derive is true if numbers that depend on the drawn ones, such as inverse weights, must be computed again.
	derive bool

	// varied draw what differs, in this order, each from an environment's generator. They return the environment's
	// metrics, whose names are names. The metrics are at the beginning of its memory.
	varied []func(d *draws) float64
	names  []string
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

// draws are the numbers of an environment that a reset draws.
type draws struct {
	rng      *rand.Rand
	strength float64
	// own are the environment's numbers of the model. mem is its memory.
	own, mem []float64
}

// factor draws a factor from a range.
func (d *draws) factor(v [2]float64) float64 {
	return 1 + d.strength*(v[0]+(v[1]-v[0])*d.rng.Float64()-1)
}

// error draws an error of at most size in both directions.
func (d *draws) error(size float64) float64 { return d.strength * size * (2*d.rng.Float64() - 1) }

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
	r := &randomizer{cfg: cfg, batch: b, at: map[string]int{}, task: task, terrain: task.terrain}
	if err := r.varyModel(); err != nil {
		return nil, err
	}
	r.varySignals()
	r.lags, r.push, r.level, r.offsets = len(r.names), len(r.names)+2, len(r.names)+3, len(r.names)+4
	if r.size = r.offsets; cfg.JointOffset > 0 {
		r.size += actions
	}
	r.memory = make([]float64, b.n*r.size)
	r.signals = newSignals(&cfg, b.n, parts, actions, task.dt)
	return r, nil
}

// vary adds something that is drawn at every reset, with the name of its metric.
func (r *randomizer) vary(metric string, draw func(d *draws) float64) {
	r.names, r.varied = append(r.names, metric), append(r.varied, draw)
}

// varyModel lists what varies of the model, in the order of draws, and makes the workers' models.
func (r *randomizer) varyModel() error {
	m, cfg := r.batch.model, &r.cfg
	var arrays []*C.double
	var lengths []C.int
	width := 0
	// add gives an array of the model columns in table, and returns the first one.
	add := func(name string, array *C.mjtNum, length int) int {
		r.at[name] = width
		arrays, lengths = append(arrays, (*C.double)(array)), append(lengths, C.int(length))
		width += length
		return r.at[name]
	}
	nb, nv, nu := m.NumBodies(), m.NV(), Actuator.count(m.m)
	// joints varies the joints and their actuators by a factor for each. The metric is the factors' mean.
	joints := func(metric string, v [2]float64, scale func(own []float64, joint int, factor float64)) {
		r.vary(metric, func(d *draws) (mean float64) {
			for k := range nu {
				f := d.factor(v)
				scale(d.own, k, f)
				mean += f / float64(nu)
			}
			return mean
		})
	}
	if v := cfg.Friction; on(v) {
		pairs := add("pairs", m.m.pair_friction, 5*int(m.m.npair))
		geoms := add("geoms", m.m.geom_friction, 3*int(m.m.ngeom))
		r.vary("friction", func(d *draws) (mu float64) {
			value := v[0] + (v[1]-v[0])*d.rng.Float64()
			replace := func(at, columns int) {
				mu = d.own[at] + d.strength*(value-d.own[at])
				for k := range columns {
					d.own[at+k] = mu
				}
			}
			for g := range int(m.m.ngeom) {
				replace(geoms+3*g, 1)
			}
			for p := range int(m.m.npair) {
				replace(pairs+5*p, 2)
			}
			return mu
		})
	}
	if on(cfg.Mass) {
		masses, inertia := add("mass", m.m.body_mass, nb), add("inertia", m.m.body_inertia, 3*nb)
		r.vary("mass", func(d *draws) float64 {
			before, after := 0.0, 0.0
			for k := 1; k < nb; k++ {
				f, mass := d.factor(cfg.Mass), &d.own[masses+k]
				before += *mass
				*mass *= f
				after += *mass
				for j := range 3 {
					d.own[inertia+3*k+j] *= f
				}
			}
			return after / before
		})
	}
	if cfg.CenterOfMass > 0 {
		if unsafe.Slice((*byte)(unsafe.Pointer(m.m.body_simple)), nb)[1] != 0 {
			return fmt.Errorf("Randomize.CenterOfMass is %g m; the model's root has no joints to move it against",
				cfg.CenterOfMass)
		}
		root := add("center", m.m.body_ipos, 3*nb) + 3
		r.vary("center_of_mass", func(d *draws) float64 {
			distance := 0.0
			for j := range 3 {
				v := d.error(cfg.CenterOfMass)
				d.own[root+j] += v
				distance += v * v
			}
			return math.Sqrt(distance)
		})
	}
	if on(cfg.Stiffness) {
		gains, biases := floats(m.m.actuator_gainprm, nu*C.mjNGAIN), floats(m.m.actuator_biasprm, nu*C.mjNBIAS)
		for i, name := range m.Names(Actuator) { // force = gain · (control − position)
			if kp := gains[i*C.mjNGAIN]; kp == 0 || kp != -biases[i*C.mjNBIAS+1] {
				return fmt.Errorf("Randomize.Stiffness is %g; the actuator %q is not one for positions", cfg.Stiffness,
					name)
			}
		}
		gain := add("gain", m.m.actuator_gainprm, nu*C.mjNGAIN)
		bias := add("bias", m.m.actuator_biasprm, nu*C.mjNBIAS)
		joints("stiffness", cfg.Stiffness, func(own []float64, k int, f float64) {
			own[gain+k*C.mjNGAIN] *= f
			own[bias+k*C.mjNBIAS+1] *= f
		})
	}
	if on(cfg.Damping) {
		bias, shared := r.at["bias"]
		if !shared {
			bias = add("bias", m.m.actuator_biasprm, nu*C.mjNBIAS)
		}
		damping := add("damping", m.m.dof_damping, nv) + rootVelocities
		joints("damping", cfg.Damping, func(own []float64, k int, f float64) {
			own[bias+k*C.mjNBIAS+2] *= f
			own[damping+k] *= f
		})
	}
	if on(cfg.MotorStrength) {
		for i, name := range m.Names(Actuator) {
			if !flagAt(unsafe.Pointer(m.m.actuator_forcelimited), i) {
				return fmt.Errorf("Randomize.MotorStrength is %g; the actuator %q has no force limit to scale",
					cfg.MotorStrength, name)
			}
		}
		force := add("force", m.m.actuator_forcerange, 2*nu)
		joints("motor_strength", cfg.MotorStrength, func(own []float64, k int, f float64) {
			own[force+2*k] *= f
			own[force+2*k+1] *= f
		})
	}
	if on(cfg.Armature) {
		armature := add("armature", m.m.dof_armature, nv) + rootVelocities
		joints("armature", cfg.Armature, func(own []float64, k int, f float64) { own[armature+k] *= f })
	}
	if r.derive = on(cfg.Mass) || cfg.CenterOfMass > 0 || on(cfg.Armature); r.derive {
		add("subtree mass", m.m.body_subtreemass, nb)
		add("bodies' weights", m.m.body_invweight0, 2*nb)
		add("joints' weights", m.m.dof_invweight0, nv)
		add("joints' inertia", m.m.dof_M0, nv)
		add("tendons' weights", m.m.tendon_invweight0, int(m.m.ntendon))
		add("actuators' accelerations", m.m.actuator_acc0, m.forces())
		add("mean inertia", &m.m.stat.meaninertia, 1)
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

// varySignals lists what varies beside the model: the joints' offsets, the delays, the curriculum's strength, which is
// a metric alone, and the level of the terrain.
func (r *randomizer) varySignals() {
	cfg := &r.cfg
	if cfg.JointOffset > 0 {
		r.vary("joint_offset", func(d *draws) (mean float64) {
			offsets := d.mem[r.offsets:]
			for k := range offsets {
				offsets[k] = d.error(cfg.JointOffset)
				mean += math.Abs(offsets[k]) / float64(len(offsets))
			}
			return mean
		})
	}
	for k, v := range [][2]int{cfg.ActionDelay, cfg.ObservationDelay} {
		if v[1] > 0 {
			r.vary([]string{"action_delay", "observation_delay"}[k], func(d *draws) float64 {
				low, high := int(math.Round(d.strength*float64(v[0]))), int(math.Round(d.strength*float64(v[1])))
				d.mem[r.lags+k] = float64(low + d.rng.IntN(high-low+1))
				return d.mem[r.lags+k]
			})
		}
	}
	if cfg.Curriculum > 0 {
		r.vary("randomization", func(d *draws) float64 { return d.strength })
	}
	if t := r.terrain; t != nil {
		r.vary("terrain_level", func(d *draws) float64 {
			if !t.Curriculum {
				d.mem[r.level] = float64(d.rng.IntN(1 + int(math.Round(d.strength*float64(t.Levels-1)))))
			}
			return d.mem[r.level]
		})
	}
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
	if r == nil {
		return nil
	}
	d := draws{rng: rng, strength: r.strength(), own: r.variant(i), mem: r.memoryOf(i)}
	copy(d.own, r.base)
	for k, draw := range r.varied {
		d.mem[k] = draw(&d)
	}
	if r.cfg.Push.Seconds > 0 {
		d.mem[r.push] = float64(1 + rng.IntN(r.signals.period))
	}
	r.signals.begin(i)
	if !r.derive {
		return nil
	}
	failed := C.gm_derive(r.batch.c, C.int(worker), C.int(i), r.batch.message[worker])
	return r.batch.failure("randomization", worker, int(failed))
}
