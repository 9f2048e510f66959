package trainers

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
)

// Evaluation is what a number of whole episodes were like.
type Evaluation struct {
	// Episodes is how many were finished; the other figures are means over them.
	Episodes int
	// Return and Length are the mean undiscounted return and number of steps.
	Return, Length float64
	// Metrics are the means of the environment's own episode figures.
	Metrics map[string]float64
	// Each has the episodes themselves, in the order in which they ended. Env is the environment that played one.
	Each []envs.Episode
}

// Evaluate resets the environment with the given seed and lets the agent act, without learning, until at least episodes
// have finished. Only an environment's first k episodes count, the same k for all environments, so that short episodes
// do not weigh more.
func Evaluate(ctx context.Context, env envs.Env, agent agents.Agent, episodes int, seed int64) (Evaluation, error) {
	return evaluate(ctx, env, agent, episodes, seed, nil)
}

// Evaluate is [Evaluate] with the trainer's agent and environment, and with StochasticEvaluation sampled actions. An
// environment that can restore its state (envs.Stateful, envs.Observer) goes on training as if nothing had been, another
// one from a fresh reset.
func (t *Trainer) Evaluate(ctx context.Context, episodes int, seed int64) (Evaluation, error) {
	if s, ok := t.agent.(stochastic); ok && t.cfg.StochasticEvaluation {
		s.SetStochastic(true)
		defer s.SetStochastic(false)
	}
	resume, err := t.pause()
	if err != nil {
		return Evaluation{}, err
	}
	e, err := evaluate(ctx, t.env, t.agent, episodes, seed, t.cfg.OnRender)
	return e, errors.Join(err, resume())
}

// EvaluateMetrics evaluates like [Evaluate], with the mean action, and returns figures by the names that Metrics has
// ("episode.return"). Training goes on as if nothing had been: the episodes are those of an environment that
// Config.EvaluationEnv makes for the purpose or, without one, of the training environment, which must then be able to
// restore its state (envs.Stateful, envs.Observer). The former is evaluated as it was made, without the parameters and the
// curriculum of training; the latter with the parameters that were set last. The agent's figures and random numbers do
// not change.
func (t *Trainer) EvaluateMetrics(ctx context.Context, episodes int, seed int64) (figures map[string]float64, err error) {
	var e Evaluation
	if t.cfg.EvaluationEnv != nil {
		e, err = t.evaluateApart(ctx, episodes, seed)
	} else {
		e, err = t.evaluateInPlace(ctx, episodes, seed)
	}
	if err != nil {
		return nil, err
	}
	figures = map[string]float64{}
	for name, x := range e.Metrics {
		figures[episodeFigure+name] = x
	}
	figures[episodeFigure+"return"], figures[episodeFigure+"length"] = e.Return, e.Length
	return figures, nil
}

// evaluateApart evaluates in an environment of its own.
func (t *Trainer) evaluateApart(ctx context.Context, episodes int, seed int64) (e Evaluation, err error) {
	n := t.env.NumEnvs()
	env, err := t.cfg.EvaluationEnv(n, seed)
	if err == nil && env == nil {
		err = errors.New("EvaluationEnv returned none")
	}
	if err != nil {
		return e, fmt.Errorf("trainers: the environment for evaluation: %w", err)
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	if got := env.NumEnvs(); got != n {
		return e, fmt.Errorf("trainers: the environment for evaluation has %d environments, want %d", got, n)
	}
	if err := fit(env, t.agent); err != nil {
		return e, fmt.Errorf("trainers: the environment for evaluation: %w", err)
	}
	return t.evaluateLimited(ctx, env, episodes, seed)
}

// evaluateInPlace evaluates in the environment that the agent trains in.
func (t *Trainer) evaluateInPlace(ctx context.Context, episodes int, seed int64) (Evaluation, error) {
	_, stateful := envs.As[envs.Stateful](t.env)
	_, observer := envs.As[envs.Observer](t.env)
	if !stateful || !observer {
		return Evaluation{}, fmt.Errorf("trainers: evaluating would disturb training, because the environment (%T) cannot restore its state (envs.Stateful, envs.Observer); give Config.EvaluationEnv", t.env)
	}
	if err := t.open(); err != nil { // there must be a state to come back to
		return Evaluation{}, err
	}
	resume, err := t.pause()
	if err != nil {
		return Evaluation{}, err
	}
	e, err := t.evaluateLimited(ctx, t.env, episodes, seed)
	return e, errors.Join(err, resume())
}

// stochastic is implemented by agents that can sample in evaluation.
type stochastic interface{ SetStochastic(on bool) }

// pause remembers the environment, and returns what brings it back. Meanwhile all of it has the parameters set last.
func (t *Trainer) pause() (resume func() error, err error) {
	curriculum := func() error { return nil }
	if c, ok := envs.As[envs.Curriculum](t.env); ok {
		if curriculum, err = keepCurriculum(c); err != nil {
			return nil, err
		}
	}
	s, stateful := envs.As[envs.Stateful](t.env)
	o, observer := envs.As[envs.Observer](t.env)
	if t.now == nil || !stateful || !observer {
		return func() error {
			if err := curriculum(); err != nil || t.now == nil {
				return err
			}
			t.episodes.Reset()
			return t.reset(-1)
		}, t.parameters.all()
	}
	state, err := s.MarshalState()
	if err != nil {
		return nil, fmt.Errorf("trainers: the environment's state: %w", err)
	}
	before := t.parameters.standing()
	return func() error {
		return errors.Join(curriculum(), t.setState(s, o, state), t.parameters.restore(before))
	}, t.parameters.all()
}

func evaluate(ctx context.Context, env envs.Env, agent agents.Agent, episodes int, seed int64, render RenderFunc) (e Evaluation, err error) {
	defer func() {
		if err != nil {
			e = Evaluation{}
		}
	}()
	if episodes <= 0 {
		return e, fmt.Errorf("trainers: Evaluate needs a positive number of episodes, not %d", episodes)
	}
	if err := agent.Bind(env.NumEnvs()); err != nil {
		return e, err
	}
	training := agent.Training()
	agent.SetTraining(false)
	defer agent.SetTraining(training)
	step, err := env.Reset(seed)
	if err != nil {
		return e, err
	}
	each := (episodes + env.NumEnvs() - 1) / env.NumEnvs()
	done := make([]int, env.NumEnvs())
	e.Metrics = map[string]float64{}
	for k := int64(0); e.Episodes < each*env.NumEnvs(); k++ {
		if err := ctx.Err(); err != nil {
			return e, err
		}
		actions, err := agent.Act(Observation(step))
		if err != nil {
			return e, err
		}
		if step, err = env.Step(actions); err != nil {
			return e, err
		}
		if render != nil {
			if err := renderTo(env, k, render); err != nil {
				return e, err
			}
		}
		for _, x := range step.Episodes {
			if done[x.Env] == each {
				continue
			}
			done[x.Env]++
			e.Episodes++
			e.Return += x.Return
			e.Length += float64(x.Length)
			for name, v := range x.Metrics {
				e.Metrics[name] += v
			}
			x.Metrics = maps.Clone(x.Metrics)
			e.Each = append(e.Each, x)
		}
	}
	n := float64(e.Episodes)
	e.Return, e.Length = e.Return/n, e.Length/n
	for name := range e.Metrics {
		e.Metrics[name] /= n
	}
	return e, nil
}

func renderTo(env envs.Env, k int64, render RenderFunc) error {
	r, ok := envs.As[envs.Renderer](env)
	if !ok {
		return nil
	}
	picture, err := r.Render(0)
	if err != nil {
		return err
	}
	return render(k, picture)
}
