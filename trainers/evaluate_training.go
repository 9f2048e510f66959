package trainers

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/panics"
)

// Evaluate is [Evaluate] with the trainer's agent in its own environment; actions are sampled with
// StochasticEvaluation. If the environment can restore its state (envs.Stateful, envs.Observer), training then
// continues where it was. Otherwise the environment is reset: the episodes in progress count as truncated at the last
// step, and their figures are dropped. The figure "Stats / Environment resets" counts the reset.
func (t *Trainer) Evaluate(ctx context.Context, o EvaluateOptions) (Evaluation, error) {
	leave, err := t.enterEvaluation(&callEvaluate)
	if err != nil {
		return Evaluation{}, err
	}
	defer leave()
	if s, ok := agents.As[agents.Stochastic](t.agent); ok && t.cfg.StochasticEvaluation {
		s.SetStochastic(true)
		defer s.SetStochastic(false)
	}
	resume, err := t.pause(ctx)
	if err != nil {
		return Evaluation{}, err
	}
	e, err := evaluate(ctx, t.stepper, t.agent, o, t.cfg.OnRender)
	return e, errors.Join(err, resume())
}

// EvaluateMetrics evaluates with the mean action and returns figures by the names that Metrics has ("episode.return").
// A population measures its members so. Training is not disturbed: the episodes are played in an environment that
// Config.EvaluationEnv makes for the purpose or, without one, in the training environment, which must then be able to
// restore its state (envs.Stateful, envs.Observer). The former is evaluated as it is made, without the parameters and
// the curriculum of training, but with the running statistics of its wrappers; the latter with the parameters that were
// set last. The agent's figures and random numbers do not change.
func (t *Trainer) EvaluateMetrics(ctx context.Context, episodes int, seed int64) (figures map[string]float64,
	err error) {
	leave, err := t.enterEvaluation(&callEvaluateMetrics)
	if err != nil {
		return nil, err
	}
	defer leave()
	o := EvaluateOptions{Episodes: max(episodes, t.limits.loops*t.env.NumEnvs()), MaxSteps: t.limits.steps, Seed: seed}
	e, err := t.evaluateUndisturbed(ctx, o)
	if err != nil {
		return nil, err
	}
	return e.figures(episodeFigure), nil
}

// CheckEvaluation implements pbt.Evaluator: before training it returns the error with which EvaluateMetrics
// would fail.
func (t *Trainer) CheckEvaluation() error { return t.undisturbed() }

// evaluateUndisturbed evaluates without changing what training comes to.
func (t *Trainer) evaluateUndisturbed(ctx context.Context, o EvaluateOptions) (Evaluation, error) {
	if t.cfg.EvaluationEnv != nil {
		return t.evaluateApart(ctx, o)
	}
	return t.evaluateInPlace(ctx, o)
}

// undisturbed returns an error where an evaluation would disturb training.
func (t *Trainer) undisturbed() error {
	if _, _, can := t.stateful(); !can && t.cfg.EvaluationEnv == nil {
		return fmt.Errorf("trainers: evaluating would disturb training, because the environment (%T) cannot restore its state (envs.Stateful, envs.Observer); give Config.EvaluationEnv", t.env)
	}
	return nil
}

// evaluateApart evaluates in an environment that Config.EvaluationEnv makes, and closes it.
func (t *Trainer) evaluateApart(ctx context.Context, o EvaluateOptions) (e Evaluation, err error) {
	n := t.env.NumEnvs()
	var env envs.Env
	err = panics.Guard("EvaluationEnv", func() (err error) { env, err = t.cfg.EvaluationEnv(n, o.Seed); return err })
	if err == nil && env == nil {
		err = errors.New("EvaluationEnv returned none")
	}
	if err != nil {
		return e, fmt.Errorf("trainers: the environment for evaluation: %w", err)
	}
	s := newStepper(env, t.cfg.StopTimeout)
	defer func() {
		if s.blocked == nil {
			err = errors.Join(err, s.close())
		}
	}()
	// The agent is bound to the number of environments it trains in.
	if got := env.NumEnvs(); got != n {
		return e, fmt.Errorf("trainers: the environment for evaluation has %d environments, want %d", got, n)
	}
	if err := fit(env, t.agent); err != nil {
		return e, fmt.Errorf("trainers: the environment for evaluation: %w", err)
	}
	if err := envs.CopyStatistics(env, t.env); err != nil {
		return e, fmt.Errorf("trainers: the environment for evaluation: %w", err)
	}
	return evaluate(ctx, s, t.agent, o, nil)
}

// evaluateInPlace evaluates in the training environment, and puts its state back.
func (t *Trainer) evaluateInPlace(ctx context.Context, o EvaluateOptions) (Evaluation, error) {
	if err := t.undisturbed(); err != nil {
		return Evaluation{}, err
	}
	if err := t.Open(ctx); err != nil { // there must be a state to come back to
		return Evaluation{}, err
	}
	resume, err := t.pause(ctx)
	if err != nil {
		return Evaluation{}, err
	}
	e, err := evaluate(ctx, t.stepper, t.agent, o, nil)
	return e, errors.Join(err, resume())
}

// pause copies the environment's state and gives all of its environments the parameters set last. resume puts
// everything back, or, where the environment cannot restore its state, begins new episodes. It does nothing to an
// environment that is blocked.
func (t *Trainer) pause(ctx context.Context) (resume func() error, err error) {
	// An evaluation must not move the curriculum.
	curriculum := func() error { return nil }
	if c, ok := envs.As[envs.Curriculum](t.env); ok {
		if curriculum, err = keepCurriculum(c); err != nil {
			return nil, err
		}
	}
	// Without a state to come back to, training goes on with new episodes, and the figures of those in progress are
	// dropped.
	s, o, can := t.stateful()
	if t.now == nil || !can || t.needsReset {
		return func() error {
			if t.stepper.blocked != nil {
				return nil
			}
			if err := curriculum(); err != nil || t.now == nil {
				return err
			}
			return t.restart(ctx)
		}, t.parameters.all()
	}
	state, err := s.MarshalState()
	if err != nil {
		return nil, fmt.Errorf("trainers: the environment's state: %w", err)
	}
	// Which environment has which parameters is put back after the state that they belong to.
	before := t.parameters.standing()
	return func() error {
		if t.stepper.blocked != nil {
			return nil
		}
		return errors.Join(curriculum(), t.setState(s, o, state), t.parameters.restore(before))
	}, t.parameters.all()
}
