package simulate

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/checkpoint"
)

// Objective is the figure that synthetic members report.
const Objective = "objective"

// keptReadings bounds what Samples can return, and with it the memory of a member. Windows of objectives are smaller.
const keptReadings = 256

// trainee is a synthetic member: a pbt.Trainee, pbt.Reseeder, pbt.Sampler and pbt.Evaluator. How it learns does not
// depend on how training is cut into calls of Train.
type trainee struct {
	model  *Model
	grain  int64 // a reading is taken every so many steps
	skill  float64
	luck   float64
	steps  int64
	values map[string]float64

	readings []float64
	source   *rand.PCG
	rng      *rand.Rand
}

// newTrainee builds a member that has learned nothing. Its seed makes its luck and its noise.
func newTrainee(model *Model, grain, seed int64, values map[string]float64) *trainee {
	t := &trainee{model: model, grain: grain, values: maps.Clone(values), source: rand.NewPCG(uint64(seed), 0)}
	t.rng = rand.New(t.source)
	t.drawLuck()
	return t
}

// drawLuck draws the member's own speed, which does not depend on its hyperparameters. Its median is 1.
func (t *trainee) drawLuck() { t.luck = math.Exp(t.model.Luck * t.rng.NormFloat64()) }

// Train implements pbt.Trainee.
func (t *trainee) Train(ctx context.Context, steps int64) error {
	for target := t.steps + steps; t.steps < target; {
		if err := ctx.Err(); err != nil {
			return err
		}
		// The optimum drifts from grain to grain.
		begin := t.steps - t.steps%t.grain
		next := min(target, begin+t.grain)
		t.skill = t.model.learn(t.skill, t.model.suits(t.values, begin), t.luck, next-t.steps)
		t.steps = next
		if next == begin+t.grain {
			_ = t.rng.Float64() // results are those of earlier versions, which drew it
			t.readings = append(t.readings, t.reading(t.rng.NormFloat64()))
			if len(t.readings) > 2*keptReadings {
				t.readings = append(t.readings[:0], t.readings[len(t.readings)-keptReadings:]...)
			}
		}
	}
	return nil
}

// reading returns the objective as the member reports it: with noise, which has a standard deviation of 1 here and of
// Model.Noise in the objective's units.
func (t *trainee) reading(noise float64) float64 {
	return t.model.Offset + t.model.Scale*t.skill + t.model.Noise*noise
}

// Steps implements pbt.Trainee.
func (t *trainee) Steps() int64 { return t.steps }

// Metrics implements pbt.Trainee: the latest reading since the weights were last replaced. Before the first reading the
// objective is unknown, and not in it.
func (t *trainee) Metrics() map[string]float64 {
	metrics := make(map[string]float64)
	if n := len(t.readings); n > 0 {
		metrics[Objective] = t.readings[n-1]
	}
	return metrics
}

// Samples implements pbt.Sampler with the latest readings, up to 256 of them, oldest first. Any other figure than
// [Objective] has none.
func (t *trainee) Samples(figure string, n int) []float64 {
	if figure != Objective {
		return nil
	}
	n = max(0, min(n, keptReadings, len(t.readings)))
	return append([]float64{}, t.readings[len(t.readings)-n:]...)
}

// CheckEvaluation implements pbt.Evaluator.
func (t *trainee) CheckEvaluation() error { return nil }

// EvaluateMetrics implements pbt.Evaluator: the mean of as many readings as episodes, so its noise falls with the
// square root of their number. It draws from a generator of its own: evaluations do not change how the member trains.
func (t *trainee) EvaluateMetrics(_ context.Context, episodes int, seed int64) (map[string]float64, error) {
	if episodes < 1 {
		return nil, fmt.Errorf("simulate: an evaluation of %d episodes; give at least 1", episodes)
	}
	rng := rand.New(rand.NewPCG(uint64(seed), uint64(t.steps)))
	return map[string]float64{Objective: t.reading(rng.NormFloat64() / math.Sqrt(float64(episodes)))}, nil
}

// Hyperparameters implements pbt.Trainee.
func (t *trainee) Hyperparameters() map[string]float64 { return maps.Clone(t.values) }

// SetHyperparameters implements pbt.Trainee. A name that the member was not built with is an error, and changes
// nothing.
func (t *trainee) SetHyperparameters(values map[string]float64) error {
	for key := range values {
		if _, ok := t.values[key]; !ok {
			return fmt.Errorf("simulate: there is no hyperparameter %q", key)
		}
	}
	maps.Copy(t.values, values)
	return nil
}

// Snapshot implements pbt.Trainee.
func (t *trainee) Snapshot() (*checkpoint.Snapshot, error) {
	state, err := t.source.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	return &checkpoint.Snapshot{Values: map[string]any{
		"skill": t.skill, "luck": t.luck, "steps": t.steps, "random": hex.EncodeToString(state),
	}}, nil
}

// Restore implements pbt.Trainee. Hyperparameters stay as they are: the population decides about them. Readings are
// forgotten, because they were taken with other weights. After an error the member is as it was.
func (t *trainee) Restore(s *checkpoint.Snapshot) error {
	skill, err1 := s.Float("skill")
	luck, err2 := s.Float("luck")
	steps, err3 := s.Int("steps")
	text, err4 := s.Text("random")
	state, err5 := hex.DecodeString(text)
	err := errors.Join(err1, err2, err3, err4, err5)
	if err == nil {
		err = t.source.UnmarshalBinary(state)
	}
	if err != nil {
		return fmt.Errorf("simulate: not a snapshot of a synthetic member: %w", err)
	}
	t.skill, t.luck, t.steps, t.readings = skill, luck, steps, nil
	return nil
}

// Reseed implements pbt.Reseeder. A population calls it after a copy: without luck of its own the copy would repeat the
// course of the member it was copied from.
func (t *trainee) Reseed(seed int64) error {
	t.source.Seed(uint64(seed), 0)
	t.drawLuck()
	return nil
}

// Close implements pbt.Trainee. A synthetic member holds nothing that has to be released.
func (t *trainee) Close() error { return nil }
