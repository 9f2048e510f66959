package trainers

import (
	"context"
	"fmt"
	"maps"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
)

// This file has the loop of all evaluations. [Evaluate] uses it with any environment. [Trainer.Evaluate] and
// [Trainer.EvaluateMetrics] also make sure that training goes on undisturbed (evaluate_training.go).

// EvaluateOptions configure an evaluation. Episodes must be set.
type EvaluateOptions struct {
	// Episodes is the smallest number of episodes to play. Each environment plays the same number k, rounded up. Only
	// its first k episodes count, because otherwise short episodes would have more weight. More episodes make the means
	// more certain.
	Episodes int
	// MaxSteps is the number of environment steps after which an episode is cut, with its return so far. 0, the
	// default, plays episodes to their end. An episode that has not ended after a million steps is then an error. With
	// a limit, all environments are reset together, and each plays one episode between resets.
	MaxSteps int
	// Seed seeds the environment's first reset. The same seed gives the same episodes.
	Seed int64
}

// Evaluation is the result of an evaluation: the episodes and means over them.
type Evaluation struct {
	// Episodes is the number of episodes that count.
	Episodes int
	// Return and Length are the means over these episodes of the undiscounted return and of the number of steps.
	Return, Length float64
	// Metrics are the means of the environment's own episode figures, each over the episodes that have it: those that
	// were played to their end, or fewer.
	Metrics map[string]float64
	// Each has the episodes themselves, in the order in which they ended. Env is the environment that played one.
	Each []envs.Episode
}

// Evaluate resets env with the seed and lets the agent act, without learning, until the episodes have been played. It
// returns an error if Episodes is not positive or MaxSteps is negative. It also returns an error if env ends an
// episode without listing it in Step.Episodes, or if an episode does not end.
//
// The running statistics of the environment's wrappers are frozen during the evaluation. A new environment has no
// statistics yet: see [envs.CopyStatistics] and [Trainer.RestoreStatistics]. Returns are sums of the environment's own
// rewards.
//
// Afterwards the agent is in the mode in which it was before. The environment stays as the last episode left it: reset
// the environment before training in it. [Trainer.Evaluate] does so, or restores the environment's state.
func Evaluate(ctx context.Context, env envs.Env, agent agents.Agent, o EvaluateOptions) (Evaluation, error) {
	return evaluate(ctx, newStepper(env, defaultStopTimeout), agent, o)
}

// evaluate is Evaluate in the environment of a stepper.
func evaluate(ctx context.Context, s *stepper, agent agents.Agent, o EvaluateOptions) (Evaluation, error) {
	if o.Episodes <= 0 {
		return Evaluation{}, fmt.Errorf("trainers: Evaluate needs a positive number of episodes, not %d", o.Episodes)
	}
	if o.MaxSteps < 0 {
		return Evaluation{}, fmt.Errorf("trainers: MaxSteps of an evaluation is %d; give 0 (no limit) or more",
			o.MaxSteps)
	}
	learn, err := stopLearning(s, agent)
	if err != nil {
		return Evaluation{}, err
	}
	defer learn()
	n := s.n
	p := play{stepper: s, agent: agent, maxSteps: o.MaxSteps,
		sum: Evaluation{Metrics: map[string]float64{}}, having: map[string]int{}}
	rounds, each := 1, (o.Episodes+n-1)/n
	if o.MaxSteps > 0 { // all episodes of a round begin together, so that all can be cut together
		rounds, each = each, 1
	}
	// Without a limit of steps there is one round, in which environments begin new episodes by themselves.
	seed := o.Seed
	for range rounds {
		if err := p.round(ctx, seed, each); err != nil {
			return Evaluation{}, err
		}
		seed = -1 // later rounds go on in the environment's random sequence
	}
	return p.means(), nil
}

// stopLearning makes the agent act by its mean or mode and record nothing, and stops the running statistics of the
// environment's wrappers. The caller must call the result when the episodes have been played.
func stopLearning(s *stepper, agent agents.Agent) (learn func(), err error) {
	if err := bind(agent, s.n); err != nil {
		return nil, err
	}
	was, unfreeze := agent.SetTraining(false), freeze(s.env)
	return func() {
		unfreeze()
		agent.SetTraining(was)
	}, nil
}

// playStep lets the agent act on what now shows, and see what follows. what and k name the step in errors.
func playStep(ctx context.Context, s *stepper, agent agents.Agent, now *envs.Step, what string, k int64) (*envs.Step,
	error) {
	if err := ctx.Err(); err != nil {
		return nil, withCause(ctx, err)
	}
	actions, err := agent.Act(Observation(now))
	if err != nil {
		return nil, err
	}
	next, err := s.step(ctx, actions)
	if err == nil {
		err = agent.Record(Transition(next)) // an agent with memory must know which episodes have ended
	}
	if err != nil {
		return nil, fmt.Errorf("trainers: %s: step %d: %w", what, k, err)
	}
	return next, nil
}

// play is an evaluation in progress. steps counts steps over all rounds, for errors. sum has sums until
// means divides them.
type play struct {
	stepper  *stepper
	agent    agents.Agent
	maxSteps int
	steps    int64
	sum      Evaluation     // of the episodes so far
	having   map[string]int // how many of them have a figure
}

// round resets the environments with seed and plays each episodes in every environment. With maxSteps, each is 1. All
// environments step until the last one has played its episodes; what the others play meanwhile does not count.
func (p *play) round(ctx context.Context, seed int64, each int) error {
	n := p.stepper.n
	// Per environment: the number of counted episodes, the rewards so far, and the first step of the present episode.
	played, returns, begun := make([]int, n), make([]float64, n), make([]int, n)
	step, err := p.stepper.reset(ctx, seed)
	if err != nil {
		return fmt.Errorf("trainers: evaluation: %w", err)
	}
	resetHidden(p.agent)
	// k is the step of this round. left is the number of episodes that are still to be counted.
	for k, left := 0, each*n; left > 0 && (p.maxSteps == 0 || k < p.maxSteps); k++ {
		if step, err = playStep(ctx, p.stepper, p.agent, step, "evaluation", p.steps); err != nil {
			return err
		}
		p.steps++
		// Rewards are summed for episodes that may be cut; those that finish bring their own return.
		for i, r := range step.Raw() {
			returns[i] += float64(r)
		}
		for _, e := range step.Episodes {
			begun[e.Env] = k + 1
			if played[e.Env] == each { // its further episodes do not count
				continue
			}
			played[e.Env]++
			left--
			p.add(e)
		}
		if err := p.checkEnds(step, k, begun); err != nil {
			return err
		}
	}
	for i, k := range played {
		if k < each { // cut: each is 1 then, so the rewards are those of one episode
			p.add(envs.Episode{Env: i, Return: returns[i], Length: p.maxSteps})
		}
	}
	return nil
}

// longestEpisode is the number of steps after which an episode counts as endless. It is far above the longest time
// limits in use (Atari games: 27,000 steps, NetHack: 100,000), so only an environment without a limit reaches it.
const longestEpisode = 1_000_000

// checkEnds returns an error if an episode ended in step k and is not in the step's Episodes, or if an episode is
// endless. The evaluation could otherwise run for ever. begun is the first step of each environment's episode, (N).
func (p *play) checkEnds(step *envs.Step, k int, begun []int) error {
	for i, from := range begun {
		switch {
		case step.Ended(i) && from != k+1:
			return fmt.Errorf("trainers: evaluation: step %d: environment %d (%s) ended an episode (Terminated or "+
				"Truncated) that is not in Step.Episodes; list it there with its return and length, as envs.Check "+
				"verifies", p.steps-1, i, p.stepper.name())
		case k-from >= longestEpisode:
			return fmt.Errorf("trainers: evaluation: the episode of environment %d (%s) has not ended after %d steps; "+
				"give EvaluateOptions.MaxSteps, or let the environment truncate episodes (wrappers.NewTimeLimit)", i,
				p.stepper.name(), k-from)
		}
	}
	return nil
}

// add counts one episode. It copies the metrics, which the environment may reuse.
func (p *play) add(e envs.Episode) {
	p.sum.Episodes++
	p.sum.Return += e.Return
	p.sum.Length += float64(e.Length)
	for name, x := range e.Metrics {
		p.sum.Metrics[name] += x
		p.having[name]++
	}
	e.Metrics = maps.Clone(e.Metrics)
	p.sum.Each = append(p.sum.Each, e)
}

// means returns the evaluation, with the sums divided by the numbers of episodes behind them.
func (p *play) means() Evaluation {
	e := p.sum
	e.Return, e.Length = e.Return/float64(e.Episodes), e.Length/float64(e.Episodes)
	for name := range e.Metrics {
		e.Metrics[name] /= float64(p.having[name])
	}
	return e
}
