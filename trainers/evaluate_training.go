package trainers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/panics"
)

// This file evaluates while training. Every EvaluationInterval timesteps, after the agent has learned and before
// anything is written, the agent plays episodes as EvaluateMetrics does. The result is tracked, chooses the best
// checkpoint, and may end the run.

// evaluationFigure is the prefix of figures of evaluations ("evaluation.return").
const evaluationFigure = "evaluation."

// byEvaluation reports whether the best checkpoint is chosen by a figure of evaluations.
func (c *Config) byEvaluation() bool { return strings.HasPrefix(c.Best, evaluationFigure) }

// evaluates reports whether the configuration asks for evaluations.
func (c *Config) evaluates() bool { return c.EvaluationInterval != (agents.Interval{}) }

// evaluationDue reports whether an evaluation must be made at this timestep. It is false again after the evaluation.
// "auto" is a tenth of the run.
func (l *loop) evaluationDue() bool {
	n := int64(l.cfg.EvaluationInterval.Of(l.cfg.Timesteps, 10))
	return n > 0 && l.timestep > 0 && l.timestep%n == 0 && l.evaluated != l.timestep
}

// evaluateDue makes the evaluation of this timestep on rank 0, and tracks its figures on all ranks. If the evaluation
// is interrupted, evaluated stays as it was, and settle makes the evaluation before the next step.
func (l *loop) evaluateDue(ctx context.Context) error {
	e, err := share(l.rank, func() (Evaluation, error) {
		return l.evaluateUndisturbed(ctx, EvaluateOptions{Episodes: l.cfg.EvaluationEpisodes,
			Seed: l.cfg.EvaluationSeed})
	})
	if err != nil {
		return fmt.Errorf("%w (at timestep %d)", err, l.timestep)
	}
	// The newest checkpoint does not know of this evaluation.
	l.evaluated, l.files.saved = l.timestep, false
	for name, x := range e.figures(evaluationFigure) {
		push(&l.figures.metrics.tracked, name, x)
	}
	return l.calls.notify(func(c Callback, t *Trainer) error { return c.OnEvaluation(t, e) })
}

// figures returns the means by name, with a prefix. Return and length replace the environment's own figures of these
// names.
func (e *Evaluation) figures(prefix string) map[string]float64 {
	figures := map[string]float64{}
	for name, x := range e.Metrics {
		figures[prefix+name] = x
	}
	figures[prefix+"return"], figures[prefix+"length"] = e.Return, e.Length
	return figures
}

// OnEvaluation writes the figures of an evaluation at its own timestep, not at the next write, and flushes the files.
func (writing) OnEvaluation(t *Trainer, e Evaluation) error {
	if t.files.run == nil {
		return nil
	}
	t.figures.written = t.timestep
	scalars := func(name string, mean float64, of func(envs.Episode) float64) {
		var values []float64
		for _, episode := range e.Each {
			values = append(values, of(episode))
		}
		t.files.run.Scalar("Evaluation / "+name+" (max)", t.timestep, slices.Max(values))
		t.files.run.Scalar("Evaluation / "+name+" (mean)", t.timestep, mean)
		t.files.run.Scalar("Evaluation / "+name+" (min)", t.timestep, slices.Min(values))
	}
	scalars("Return", e.Return, func(e envs.Episode) float64 { return e.Return })
	scalars("Length", e.Length, func(e envs.Episode) float64 { return float64(e.Length) })
	for _, name := range slices.Sorted(maps.Keys(e.Metrics)) {
		t.files.run.Scalar("Evaluation / "+name, t.timestep, e.Metrics[name])
	}
	return t.files.run.Flush()
}

// OnEvaluation saves the best checkpoint if Config.Best is a figure of evaluations. The checkpoint then has the weights
// that were evaluated.
func (saving) OnEvaluation(t *Trainer, _ Evaluation) error {
	if t.files.store == nil {
		return nil
	}
	m := &t.figures.metrics
	if err := m.checkBest(&t.cfg, false); err != nil || !t.cfg.byEvaluation() || !t.files.improved(m) {
		return err
	}
	return t.saveAs(true, false)
}

// stopping is the built-in callback that ends the run. It does so if the mean return of an evaluation reaches
// StopAtReturn, or if that of training episodes exceeds StopAtEpisodeReturn.
type stopping struct{ BaseCallback }

// OnUpdate compares the mean return of the last 100 training episodes. It compares after updates, as rl_games does with
// score_to_win.
func (stopping) OnUpdate(t *Trainer) error {
	goal, returns := t.cfg.StopAtEpisodeReturn, t.figures.metrics.find(episodeFigure+"return")
	if goal != nil && returns != nil && returns.mean() > *goal {
		return fmt.Errorf("%w: the mean return of the last episodes at timestep %d is %g, and "+
			"\"stop_at_episode_return\" %g", ErrStop, t.timestep, returns.mean(), *goal)
	}
	return nil
}

// OnEvaluation compares the mean return of the evaluation.
func (stopping) OnEvaluation(t *Trainer, e Evaluation) error {
	if goal := t.cfg.StopAtReturn; goal != nil && e.Return >= *goal {
		return fmt.Errorf("%w: the mean return of the evaluation at timestep %d is %g, and \"stop_at_return\" %g",
			ErrStop, t.timestep, e.Return, *goal)
	}
	return nil
}

// copyOf returns a copy of a step that shares no memory with the environment. An evaluation in the training environment
// overwrites the environment's step.
func copyOf(s *envs.Step) *envs.Step {
	c := *s
	for _, rows := range []*[]float32{
		&c.Observations, &c.States, &c.Rewards, &c.FinalObservations, &c.FinalStates, &c.AMPObservations,
		&c.ActionMasks, &c.Seats.Rewards,
	} {
		*rows = slices.Clone(*rows)
	}
	for _, flags := range []*[]bool{&c.Terminated, &c.Truncated, &c.FinalUnknown, &c.Invalid,
		&c.Seats.Terminated, &c.Seats.Truncated, &c.Seats.Active} {
		*flags = slices.Clone(*flags)
	}
	c.Episodes, c.Metrics = slices.Clone(s.Episodes), maps.Clone(s.Metrics)
	return &c
}

// Evaluate is [Evaluate] with the trainer's agent in the training environment. With StochasticEvaluation, actions are
// sampled. If the environment can restore its state (envs.Stateful, envs.Observer), training then continues where it
// was. Otherwise the environment is reset: the episodes in progress count as truncated at the last step, and their
// figures are dropped. The figure "Stats / Environment resets" counts the reset.
func (t *Trainer) Evaluate(ctx context.Context, o EvaluateOptions) (Evaluation, error) {
	leave, err := t.enterEvaluation(&callEvaluate)
	if err != nil {
		return Evaluation{}, err
	}
	defer leave()
	var e Evaluation
	err = t.inPlace(ctx, t.evaluation(ctx, o, &e))
	return e, err
}

// evaluation returns a function that stores in e what [Evaluate] returns for the trainer's agent. With
// StochasticEvaluation, actions are sampled.
func (l *loop) evaluation(ctx context.Context, o EvaluateOptions, e *Evaluation) func(*stepper) error {
	return func(s *stepper) (err error) {
		if a, ok := agents.As[agents.Stochastic](l.agent); ok && l.cfg.StochasticEvaluation {
			a.SetStochastic(true)
			defer a.SetStochastic(false)
		}
		*e, err = evaluate(ctx, s, l.agent, o)
		return err
	}
}

// EvaluateMetrics evaluates and returns figures by the names of Metrics ("episode.return"). With StochasticEvaluation,
// actions are sampled. Populations measure their members by these figures. Training is not disturbed: the agent's
// figures and random numbers do not change.
//
// The episodes are played in an environment of Config.EvaluationEnv, if it is set. That environment has the running
// statistics of the training environment's wrappers, but not its reward parameters and curriculum. Otherwise the
// episodes are played in the training environment, with the reward parameters that were set last. It must then be able
// to restore its state (envs.Stateful, envs.Observer).
func (t *Trainer) EvaluateMetrics(ctx context.Context, episodes int, seed int64) (figures map[string]float64,
	err error) {
	leave, err := t.enterEvaluation(&callEvaluateMetrics)
	if err != nil {
		return nil, err
	}
	defer leave()
	o := EvaluateOptions{Episodes: max(episodes, t.limits.loops*t.world.env.NumEnvs()), MaxSteps: t.limits.steps,
		Seed: seed}
	e, err := t.evaluateUndisturbed(ctx, o)
	if err != nil {
		return nil, err
	}
	return e.figures(episodeFigure), nil
}

// CheckEvaluation implements pbt.Evaluator: before training, it returns the error with which EvaluateMetrics would
// fail.
func (t *Trainer) CheckEvaluation() error { return t.world.undisturbed(&t.cfg) }

// evaluateUndisturbed evaluates so that training continues as without the evaluation.
func (l *loop) evaluateUndisturbed(ctx context.Context, o EvaluateOptions) (e Evaluation, err error) {
	err = l.aside(ctx, o.Seed, l.evaluation(ctx, o, &e))
	return e, err
}

// aside lets play use an environment so that training continues as without it: an environment of Config.EvaluationEnv,
// made with the seed, or the training environment, whose state aside restores.
func (l *loop) aside(ctx context.Context, seed int64, play func(*stepper) error) error {
	if l.cfg.EvaluationEnv != nil {
		return l.world.apart(&l.cfg, seed, play)
	}
	if err := l.world.undisturbed(&l.cfg); err != nil {
		return err
	}
	if err := l.open(ctx); err != nil { // there must be a state to come back to
		return err
	}
	return l.inPlace(ctx, play)
}

// inPlace lets play use the training environment. Then it restores the environment's state, or resets the environment
// if that is impossible. It does nothing more to a blocked environment.
func (l *loop) inPlace(ctx context.Context, play func(*stepper) error) error {
	resume, err := l.world.pause(func() error { return l.restart(ctx) })
	if err != nil {
		return err
	}
	if err = play(l.world.stepper); l.world.stepper.blocked != nil {
		return err
	}
	return errors.Join(err, resume())
}

// undisturbed returns an error if an evaluation would disturb training.
func (w *world) undisturbed(cfg *Config) error {
	if _, _, can := w.stateful(); !can && cfg.EvaluationEnv == nil {
		return fmt.Errorf("trainers: evaluating would disturb training, because the environment (%T) cannot restore "+
			"its state (envs.Stateful, envs.Observer); give Config.EvaluationEnv", w.env)
	}
	return nil
}

// apart lets play use an environment that Config.EvaluationEnv makes, and closes that environment. The environment must
// have the spaces and the number of environments that the agent is bound to.
func (w *world) apart(cfg *Config, seed int64, play func(*stepper) error) (err error) {
	n := w.env.NumEnvs()
	var env envs.Env
	err = panics.Guard("EvaluationEnv", func() (err error) { env, err = cfg.EvaluationEnv(n, seed); return err })
	if err == nil && env == nil {
		err = errors.New("EvaluationEnv returned none")
	}
	if err != nil {
		return fmt.Errorf("trainers: the environment for evaluation: %w", err)
	}
	// The environment belongs to play. It is closed at the end, unless it is blocked.
	s := newStepper(env, cfg.StopTimeout)
	defer func() {
		if s.blocked == nil {
			err = errors.Join(err, s.close())
		}
	}()
	// The agent is bound to the number of environments it trains in.
	if got := env.NumEnvs(); got != n {
		return fmt.Errorf("trainers: the environment for evaluation has %d environments, want %d", got, n)
	}
	if err := cmp.Or(fit(env, w.agent), envs.CopyStatistics(env, w.env)); err != nil {
		return fmt.Errorf("trainers: the environment for evaluation: %w", err)
	}
	return play(s)
}

// pause copies the environment's state and gives all environments the parameters set last. resume restores the state,
// or calls restart if the environment cannot restore its state.
func (w *world) pause(restart func() error) (resume func() error, err error) {
	curriculum, err := w.curriculum().keep() // an evaluation must not move it
	if err != nil {
		return nil, err
	}
	// Without a state to return to, training goes on with new episodes, and the figures of those in progress are
	// dropped.
	_, _, can := w.stateful()
	if w.now == nil || !can || w.needsReset {
		return func() error {
			if err := curriculum(); err != nil || w.now == nil {
				return err
			}
			return restart()
		}, w.parameters.all()
	}
	state, err := w.state().keep()
	if err != nil {
		return nil, err
	}
	// The parameters of each environment are restored after the state that they belong to.
	before := w.parameters.copy()
	return func() error {
		return errors.Join(curriculum(), state(), w.parameters.restore(before))
	}, w.parameters.all()
}
