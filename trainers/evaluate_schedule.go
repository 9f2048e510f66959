package trainers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
)

// Evaluation while training: every EvaluationInterval timesteps, after the agent has learned and before anything is
// written, the agent plays episodes as EvaluateMetrics does. What comes of it is tracked, chooses the best checkpoint,
// and may end the run.

// evaluationFigure begins the names of figures of evaluations ("evaluation.return").
const evaluationFigure = "evaluation."

// byEvaluation reports whether the best checkpoint is chosen by a figure of evaluations.
func (c *Config) byEvaluation() bool { return strings.HasPrefix(c.Best, evaluationFigure) }

// evaluates reports whether the configuration asks for evaluations.
func (c *Config) evaluates() bool { return c.EvaluationInterval != (agents.Interval{}) }

// evaluationDue reports whether an evaluation at this timestep is still to be made.
func (t *Trainer) evaluationDue() bool {
	n := int64(t.cfg.EvaluationInterval.Of(t.cfg.Timesteps, 10))
	return n > 0 && t.timestep > 0 && t.timestep%n == 0 && t.evaluated != t.timestep
}

// evaluateDue makes the evaluation of this timestep. An evaluation that is interrupted is made before the next step.
func (t *Trainer) evaluateDue(ctx context.Context) error {
	e, err := share(t.rank, func() (Evaluation, error) {
		return t.evaluateUndisturbed(ctx, EvaluateOptions{Episodes: t.cfg.EvaluationEpisodes, Seed: t.cfg.EvaluationSeed})
	})
	if err != nil {
		return fmt.Errorf("%w (at timestep %d)", err, t.timestep)
	}
	t.evaluated, t.saved = t.timestep, false
	for name, x := range e.figures(evaluationFigure) {
		push(&t.metrics.tracked, name, x)
	}
	return t.notifyCallbacks(func(c Callback) error { return c.OnEvaluation(t, e) })
}

// figures returns an evaluation's means by name, with a prefix. Return and length win over figures of the environment's
// with one of these names.
func (e *Evaluation) figures(prefix string) map[string]float64 {
	figures := map[string]float64{}
	for name, x := range e.Metrics {
		figures[prefix+name] = x
	}
	figures[prefix+"return"], figures[prefix+"length"] = e.Return, e.Length
	return figures
}

// OnEvaluation writes an evaluation's curve: its figures at the timestep of the evaluation itself.
func (writing) OnEvaluation(t *Trainer, e Evaluation) error {
	if t.run == nil {
		return nil
	}
	t.written = t.timestep
	returns, lengths := make([]float64, len(e.Each)), make([]float64, len(e.Each))
	for i, one := range e.Each {
		returns[i], lengths[i] = one.Return, float64(one.Length)
	}
	for _, figure := range []struct {
		name   string
		mean   float64
		values []float64
	}{{"Return", e.Return, returns}, {"Length", e.Length, lengths}} {
		tag := "Evaluation / " + figure.name
		t.run.Scalar(tag+" (max)", t.timestep, slices.Max(figure.values))
		t.run.Scalar(tag+" (mean)", t.timestep, figure.mean)
		t.run.Scalar(tag+" (min)", t.timestep, slices.Min(figure.values))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Metrics)) {
		t.run.Scalar("Evaluation / "+name, t.timestep, e.Metrics[name])
	}
	return t.run.Flush()
}

// OnEvaluation saves the best checkpoint where it is chosen by evaluation: the weights are those that were evaluated.
func (saving) OnEvaluation(t *Trainer, _ Evaluation) error {
	if err := t.checkBest(false); err != nil || t.store == nil || !t.cfg.byEvaluation() || !t.improved() {
		return err
	}
	return t.saveAs(true, false)
}

// stopping ends the run where an evaluation's mean return reaches StopAtReturn, or that of training episodes passes
// StopAtEpisodeReturn.
type stopping struct{ BaseCallback }

func (stopping) OnUpdate(t *Trainer) error {
	goal, returns := t.cfg.StopAtEpisodeReturn, t.metrics.find(episodeFigure+"return")
	if goal != nil && returns != nil && returns.mean() > *goal {
		return fmt.Errorf("%w: the mean return of the last episodes at timestep %d is %g, and \"stop_at_episode_return\" %g",
			ErrStop, t.timestep, returns.mean(), *goal)
	}
	return nil
}

func (stopping) OnEvaluation(t *Trainer, e Evaluation) error {
	if goal := t.cfg.StopAtReturn; goal != nil && e.Return >= *goal {
		return fmt.Errorf("%w: the mean return of the evaluation at timestep %d is %g, and \"stop_at_return\" %g",
			ErrStop, t.timestep, e.Return, *goal)
	}
	return nil
}

// copyOf returns a step with memory of its own. An evaluation in the training environment overwrites the environment's.
func copyOf(s *envs.Step) *envs.Step {
	c := *s
	for _, rows := range []*[]float32{
		&c.Observations, &c.States, &c.Rewards, &c.FinalObservations, &c.FinalStates, &c.AMPObservations,
	} {
		*rows = slices.Clone(*rows)
	}
	for _, flags := range []*[]bool{&c.Terminated, &c.Truncated, &c.FinalUnknown, &c.Invalid} {
		*flags = slices.Clone(*flags)
	}
	c.Episodes, c.Metrics = slices.Clone(s.Episodes), maps.Clone(s.Metrics)
	return &c
}
