// Package trainers runs agents in environments: training, step by step or all at once, and evaluation, with progress,
// tracked values and checkpoints.
//
//	trainer, err := trainers.New(env, agent, trainers.Config{Timesteps: 25_000})
//	// ...
//	err = trainer.Train(ctx)
//
// A timestep is one step of all N environments. It has six parts, in this order (see loop.go):
//
//  1. The agent acts.
//  2. The environments step.
//  3. The agent records the transition.
//  4. Figures are counted.
//  5. The agent learns, if its rollout is complete.
//  6. What is due is written.
//
// If the configuration asks for files, a run has a folder:
//
//	runs/walker/events.out.tfevents...   tracked values for TensorBoard
//	runs/walker/scalars.jsonl            the same, one a line
//	runs/walker/provenance.yaml          versions, host, command line and changed settings of every start
//	runs/walker/checkpoints/             snapshots of trainer, agent and environment
//	runs/walker/videos/                  films, with Config.VideoInterval
//
// A run that was interrupted continues from its newest valid checkpoint (see save.go and restore.go), bit for bit with
// Config.SaveBuffers. [NewTrainee] makes a trainer a member of a population, and [Group] makes one agent of several.
// [FromDict], [FromYAML] and [FromFile] build everything from a configuration in skrl's words.
package trainers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/exclusive"
	"github.com/gorl-dev/gorl/tracking"
)

// Trainer trains one agent in one environment. [New] and [FromDict] make trainers. The owner closes the trainer. One
// goroutine at a time may use it.
//
// Train, Step and Evaluate can be mixed: each continues where the previous one stopped. Train, Step, Evaluate,
// EvaluateMetrics and Close must not overlap: a call during another one returns an error. Only a callback may evaluate
// during training.
type Trainer struct {
	*loop
	// guard refuses overlapping calls.
	guard  exclusive.Guard
	made   *runner // the dictionary that the trainer was made of; nil without one
	limits limits  // of evaluations for a population
}

// New returns a trainer of agent in env. New makes no files and does not reset the environment: [Trainer.Open] does, or
// the first Train, Step or evaluation.
//
// New returns an error if:
//   - a setting of cfg makes no sense;
//   - cfg asks for checkpoints, and the agent cannot be saved;
//   - the spaces of env and agent differ;
//   - the agent ends episodes (agents.Terminator), and env cannot (envs.Terminator);
//   - the agent is already bound to another number of environments.
//
// The caller closes the agent. Close closes the environment if Config.CloseEnvironmentAtExit is set. [NewTrainee] owns
// both.
func New(env envs.Env, agent agents.Agent, cfg Config) (*Trainer, error) {
	if env == nil || agent == nil {
		return nil, errors.New("trainers: a trainer needs an environment and an agent")
	}
	// Everything is checked before the agent is bound, which cannot be undone.
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.complete()
	if i := slices.Index(cfg.Callbacks, nil); i >= 0 {
		return nil, fmt.Errorf("trainers: callback %d is nil", i)
	}
	states, err := callbackStates(cfg.Callbacks)
	if err != nil {
		return nil, err
	}
	if err := fit(env, agent); err != nil {
		return nil, fmt.Errorf("trainers: %w", err)
	}
	if err := saves(cfg, agent); err != nil {
		return nil, err
	}
	terminate, err := terminations(env, agent)
	if err != nil {
		return nil, err
	}
	// rankOf changes cfg: it shifts the seed, and removes what rank 0 alone does. Copies of cfg are made after it.
	own, err := rankOf(agent, &cfg, env.NumEnvs())
	if err != nil {
		return nil, err
	}
	w := &world{env: env, agent: agent, seed: cfg.Seed, keepsState: cfg.SaveBuffers, terminate: terminate,
		running: newRunning(env.NumEnvs()), stepper: newStepper(env, cfg.StopTimeout)}
	l := &loop{agent: agent, cfg: cfg, world: w, rank: own, files: files{cfg: cfg}}
	t := &Trainer{loop: l, guard: exclusive.Guard{Object: "trainers: the trainer", Advice: "a trainer serves one " +
		"goroutine at a time: cancel the context of the running call and wait until it returns, or use a callback"}}
	l.calls = callbacks{trainer: t, list: orderCallbacks(cfg.Callbacks), states: states}
	if cfg.evaluates() || cfg.films() {
		if err := cmp.Or(w.undisturbed(&cfg), cfg.checkFilms(env)); err != nil {
			return nil, err
		}
	}
	if err := bind(agent, env.NumEnvs()); err != nil {
		return nil, fmt.Errorf("trainers: %w", err)
	}
	if w.parameters, err = newParameters(env); err != nil {
		return nil, err
	}
	if l.figures.episodes, err = tracking.NewEpisodes(env.NumEnvs()); err != nil {
		return nil, err
	}
	l.plan(cfg.Timesteps)
	// Timestep is right before Open has restored anything.
	if cfg.Resume && own.Rank() == 0 {
		l.timestep = newest(cfg)
	}
	return t, nil
}

// Names of the guarded methods in errors. They are variables because the guard takes their addresses, which allocates
// nothing.
var (
	callTrain           exclusive.Method = "Train"
	callStep            exclusive.Method = "Step"
	callEvaluate        exclusive.Method = "Evaluate"
	callEvaluateMetrics exclusive.Method = "EvaluateMetrics"
)

// enterEvaluation starts an evaluation. The caller must call leave when the evaluation ends. During a callback Train or
// Step holds the guard, so the evaluation neither enters nor leaves it.
func (t *Trainer) enterEvaluation(m *exclusive.Method) (leave func(), err error) {
	if t.calls.calling.Load() {
		return func() {}, nil
	}
	return t.guard.Leave, t.guard.Enter(m)
}

// plan gives the agent the length of the run in timesteps, if it is above 0, and collects the notes for Notes. New
// calls it with Config.Timesteps, [Trainee.Plan] with the length of the population.
func (l *loop) plan(timesteps int) {
	l.notes = nil
	if _, _, can := l.world.stateful(); l.cfg.SaveBuffers && !can {
		l.notes = append(l.notes,
			fmt.Sprintf("\"save_buffers\" is true, but the environment (%T) cannot save its state (envs.Stateful, "+
				"envs.Observer): a resumed run resets the environment, and is not the same, bit for bit", l.world.env))
	}
	if p, ok := agents.As[agents.Planner](l.agent); ok && timesteps > 0 {
		l.notes = append(l.notes, p.Plan(timesteps)...)
	}
}

// bind fixes the number of environments of an agent that needs it (agents.Binder). Other agents take any number.
func bind(agent agents.Agent, numEnvs int) error {
	if b, ok := agents.As[agents.Binder](agent); ok {
		return b.Bind(numEnvs)
	}
	return nil
}

// fit returns an error if the spaces of env differ from those that the agent was made for.
func fit(env envs.Env, agent agents.Agent) error {
	es, as := env.Spaces(), agent.Spaces()
	if err := es.Validate(); err != nil {
		return fmt.Errorf("the environment's %w", err)
	}
	// An agent without a discriminator accepts any AMP observations.
	if as.AMPObservation.Width() == 0 {
		es.AMPObservation = as.AMPObservation
	}
	if name, got, want := es.Difference(as); name != "" {
		return fmt.Errorf("the environment has the %s %s, the agent was made for %s; make the agent with all the "+
			"environment's spaces (Env.Spaces)", name, got, want)
	}
	return nil
}

// Agent returns the agent that the trainer trains.
func (t *Trainer) Agent() agents.Agent { return t.agent }

// Env returns the environment that the agent acts in.
func (t *Trainer) Env() envs.Env { return t.world.env }

// Timestep returns the number of timesteps trained, including those before a resumed checkpoint. With Config.Resume it
// is that of the newest valid checkpoint even before [Trainer.Open].
func (t *Trainer) Timestep() int64 { return t.timestep }

// Dir returns the run's folder. It is empty before [Trainer.Open] or the first step, and if nothing is written.
func (t *Trainer) Dir() string { return t.files.dir }

// Notes lists settings that probably have an unwanted effect. Examples are a run too short for an update, a learning
// rate that is 0 for the rest of the run, and SaveBuffers in an environment that cannot save its state. A run of
// unknown length has no notes about its length. The agent's notes about its data (agents.Noter) follow.
func (t *Trainer) Notes() []string { return slices.Concat(t.made.notes(), t.notes, t.agentNotes) }

// Damaged returns the damaged checkpoints that resuming has skipped, newest first, and then a damaged best one. None is
// deleted, so that they can be inspected.
func (t *Trainer) Damaged() []*checkpoint.DamagedError { return t.files.damaged }

// Train trains until Config.Timesteps, or until a callback ends the run ([ErrStop]). If the context is cancelled, Train
// stops after the present step, saves, and returns an error that wraps the context's error and its cause. Calling Train
// again, or a trainer with Resume, continues the run. If the environment does not return within Config.StopTimeout, the
// error wraps [ErrBlocked] instead, and nothing is saved.
//
// If the environment panics ([envs.PanicError]), or returns no step or rows of wrong lengths, the error names its type.
// Train and Step may be called again after an error of the environment, and after the agent has refused the
// environment's values. They reset the environment first. The episodes in progress count as truncated at the last
// completed step, and their figures are dropped. The figure "Stats / Environment resets" counts such resets.
func (t *Trainer) Train(ctx context.Context) (err error) {
	if err := t.guard.Enter(&callTrain); err != nil {
		return err
	}
	defer t.guard.Leave()
	// The other ranks would otherwise wait for this one until their timeout.
	defer func() { t.rank.left(err) }()
	if t.cfg.Timesteps == 0 {
		return errors.New("trainers: Config.Timesteps (\"timesteps\") is 0, so that Train has nothing to do; give " +
			"the number of timesteps of the run, or call Step")
	}
	if err := t.Open(ctx); err != nil {
		return err
	}
	defer func() { t.files.ended(err) }()
	t.agent.SetTraining(true)
	t.startBar()
	// Forget how an earlier Train ended.
	t.calls.stop, t.reason, t.rank.stop, t.rank.asked = nil, nil, nil, ctx
	runCtx, done := t.rank.runContext(ctx)
	defer done()
	for t.timestep < int64(t.cfg.Timesteps) {
		if err := t.rank.cancelled(ctx); err != nil {
			return t.interrupted(err)
		}
		if _, err := t.step(runCtx); errors.Is(err, ErrStop) {
			t.reason = err
			return t.complete()
		} else if err != nil {
			return t.failed(ctx, err)
		}
	}
	if err := t.settle(runCtx); err != nil { // what an interruption of the last step has left
		return t.failed(ctx, err)
	}
	return t.complete()
}

// startBar shows the progress bar, once, if Config.Progress is set. The bar counts environment steps of all ranks, and
// begins with those before a resumed checkpoint.
func (t *Trainer) startBar() {
	if t.cfg.Progress == nil || t.cfg.DisableProgressbar || t.bar != nil {
		return
	}
	t.bar = t.cfg.Progress.Bar(t.agent.Name(), int64(t.cfg.Timesteps)*t.batch())
	t.bar.Set(t.timestep*t.batch(), "")
}

// StopReason returns the error, wrapping [ErrStop], with which a callback ended the last Train. It is nil if the run
// reached Config.Timesteps or failed.
func (t *Trainer) StopReason() error { return t.reason }

// complete ends a run that has reached Config.Timesteps, or that a callback has ended: it finishes the progress bar and
// writes what is due. Only now is an unknown Config.Best an error in any case, because some figures come late.
func (l *loop) complete() error {
	l.calls.stop, l.rank.stop = nil, nil
	if l.bar != nil {
		l.bar.Set(l.timestep*l.batch(), l.figures.text())
		l.bar.Finish(l.figures.text())
	}
	if err := l.finish(); err != nil || l.files.store == nil {
		return err
	}
	return l.figures.metrics.checkBest(&l.cfg, true)
}

// failed returns the error of a step. An error of the context itself is no failure: the step was cancelled and its
// update undone, so the state can be saved as at any other interruption.
func (l *loop) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return l.interrupted(withCause(ctx, err))
	}
	return err
}

// interrupted saves the state that a cancelled run has reached. It returns cause with the timestep, joined with the
// error of saving, if any.
func (l *loop) interrupted(cause error) error {
	if err := l.finish(); err != nil {
		return errors.Join(fmt.Errorf("trainers: stopped at timestep %d: %w", l.timestep, cause), err)
	}
	return fmt.Errorf("trainers: stopped at timestep %d: %w", l.timestep, cause)
}

// usable returns an error after Close. Methods that the guard does not cover begin with it.
func (t *Trainer) usable() error {
	if t.guard.Closed() {
		return errors.New("trainers: the trainer was used after Close; make another one")
	}
	return nil
}

// Close closes the run's files, releases its folder for another trainer, and closes the environment if
// CloseEnvironmentAtExit is set, unless the environment is blocked ([ErrBlocked]). It does not close the agent, which
// belongs to its owner. Close may be called twice. After Close the trainer's methods that can fail return an error.
// While Train, Step or an evaluation is running, Close returns an error and closes nothing: cancel their context
// first, and wait until they return.
func (t *Trainer) Close() error {
	first, err := t.guard.EnterClose()
	if !first {
		return err
	}
	defer t.guard.LeaveClose()
	var errs []error
	if t.files.run != nil {
		errs = append(errs, t.files.run.Close())
	}
	if t.files.unlock != nil {
		errs = append(errs, t.files.unlock())
	}
	if t.cfg.CloseEnvironmentAtExit && t.world.stepper.blocked == nil {
		errs = append(errs, t.world.stepper.close())
	}
	return errors.Join(errs...)
}
