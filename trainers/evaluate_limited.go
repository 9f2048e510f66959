package trainers

import (
	"context"
	"fmt"

	"github.com/gorl-dev/gorl/envs"
)

// limits are what LimitEvaluation was given.
type limits struct{ steps, loops int }

// LimitEvaluation says how EvaluateMetrics evaluates from now on: every environment of the batch plays at least loops
// episodes, and an episode ends after steps steps, with the return so far. 0 means no such limit, which is the default. With
// a limit of steps all environments are reset together, and each plays one episode between resets.
func (t *Trainer) LimitEvaluation(steps, loops int) error {
	if steps < 0 || loops < 0 {
		return fmt.Errorf("trainers: LimitEvaluation of %d steps and %d loops; give 0 or more", steps, loops)
	}
	t.limits = limits{steps, loops}
	return nil
}

// evaluateLimited evaluates as LimitEvaluation says.
func (t *Trainer) evaluateLimited(ctx context.Context, env envs.Env, episodes int, seed int64) (Evaluation, error) {
	n := env.NumEnvs()
	episodes = max(episodes, t.limits.loops*n)
	if t.limits.steps == 0 || episodes <= 0 {
		return evaluate(ctx, env, t.agent, episodes, seed, nil)
	}
	if err := t.agent.Bind(n); err != nil {
		return Evaluation{}, err
	}
	training := t.agent.Training()
	t.agent.SetTraining(false)
	defer t.agent.SetTraining(training)
	e, finished := Evaluation{Metrics: map[string]float64{}}, 0
	for range (episodes + n - 1) / n {
		k, err := t.cutEpisodes(ctx, env, seed, &e)
		if err != nil {
			return Evaluation{}, err
		}
		finished += k
		seed = -1 // later loops go on from there
	}
	e.Return, e.Length = e.Return/float64(e.Episodes), e.Length/float64(e.Episodes)
	for name := range e.Metrics {
		e.Metrics[name] /= float64(finished)
	}
	return e, nil
}

// cutEpisodes adds up one episode of every environment, of at most limits.steps steps, and returns how many came to their
// end.
func (t *Trainer) cutEpisodes(ctx context.Context, env envs.Env, seed int64, e *Evaluation) (finished int, err error) {
	n := env.NumEnvs()
	step, err := env.Reset(seed)
	if err != nil {
		return 0, err
	}
	done, sum := make([]bool, n), make([]float64, n)
	for k := 0; k < t.limits.steps && finished < n; k++ {
		if err := ctx.Err(); err != nil {
			return finished, err
		}
		actions, err := t.agent.Act(Observation(step))
		if err != nil {
			return finished, err
		}
		if step, err = env.Step(actions); err != nil {
			return finished, err
		}
		for i, r := range step.Rewards {
			sum[i] += float64(r)
		}
		for _, x := range step.Episodes {
			if done[x.Env] {
				continue
			}
			done[x.Env] = true
			finished++
			e.Return += x.Return
			e.Length += float64(x.Length)
			for name, v := range x.Metrics {
				e.Metrics[name] += v
			}
		}
	}
	for i := range n {
		if !done[i] {
			e.Return += sum[i]
			e.Length += float64(t.limits.steps)
		}
	}
	e.Episodes += n
	return finished, nil
}
