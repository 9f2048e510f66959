package cli

import (
	"context"
	"path/filepath"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/trainers"
)

// playing acts by the checkpoint of a run, and by newer ones as they come. Close it in the end.
type playing struct {
	flags *evalFlags
	run   *savedRun // with the present checkpoint
	env   envs.Env
	newer <-chan *checkpoint.Saved // nil if newer checkpoints are not followed

	agent agents.Agent
	act   func(*envs.Step) ([]float32, error)
	style func(*envs.Step) (map[string]float64, error)
}

// load makes the agent of a checkpoint and closes the earlier agent.
func (p *playing) load(saved *checkpoint.Saved) error {
	p.run.Saved = saved
	trainer, err := p.flags.player(p.env, p.run)
	if err != nil {
		return err
	}
	err = p.Close()
	p.agent = trainer.Agent()
	p.act, p.style = acting(p.agent, p.flags.stochastic), styled(p.agent)
	return err
}

// Close closes the agent.
func (p *playing) Close() error {
	if p.agent == nil {
		return nil
	}
	return p.agent.Close()
}

// Act returns the actions for a step, of a newer checkpoint if there is one.
func (p *playing) Act(step *envs.Step) ([]float32, error) {
	select {
	case saved := <-p.newer:
		if err := p.load(saved); err != nil {
			return nil, err
		}
		first := *step
		first.Rewards = nil // the new agent has not acted before
		step = &first
	default:
	}
	return p.act(step)
}

// Figures returns the style reward of a step, and the checkpoint's timestep if it may change.
func (p *playing) Figures(step *envs.Step) (map[string]float64, error) {
	figures := map[string]float64{}
	if p.style != nil {
		var err error
		if figures, err = p.style(step); err != nil {
			return nil, err
		}
	}
	if p.newer != nil {
		figures["checkpoint"] = float64(p.run.Manifest.Step)
	}
	return figures, nil
}

// newestIn returns the path of the newest checkpoint of a run's folder; of another folder, such as a population's, that
// of the best one.
func newestIn(dir string) (string, error) {
	latest := filepath.Join(dir, "checkpoints")
	if !exists(latest) {
		return inspection.Find(dir)
	}
	list, err := manifests(latest)
	if err != nil {
		return "", err
	}
	return filepath.Join(latest, list[0].File), nil
}

// followEvery is the time between two looks for a newer checkpoint.
var followEvery = 3 * time.Second

// follow sends the newest checkpoint of a folder whenever it is another than the one at path, until ctx ends. A
// checkpoint that cannot be read is tried again: training may have replaced it.
func follow(ctx context.Context, dir, path string) <-chan *checkpoint.Saved {
	newer := make(chan *checkpoint.Saved)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(followEvery):
			}
			now, err := newestIn(dir)
			if err != nil || now == path {
				continue
			}
			saved, err := checkpoint.Load(now)
			if err != nil {
				continue
			}
			select {
			case newer <- saved:
				path = now
			case <-ctx.Done():
				return
			}
		}
	}()
	return newer
}

// acting returns a function that acts as the agent does in evaluation.
func acting(agent agents.Agent, stochastic bool) func(*envs.Step) ([]float32, error) {
	agent.SetTraining(false)
	if s, ok := agents.As[agents.Stochastic](agent); ok {
		s.SetStochastic(stochastic)
	}
	return func(step *envs.Step) ([]float32, error) {
		if step.Rewards != nil {
			if err := agent.Record(trainers.Transition(step)); err != nil { // episodes that ended reset memories
				return nil, err
			}
		} else if r, ok := agents.As[agents.Recurrent](agent); ok {
			r.ResetHidden()
		}
		return agent.Act(trainers.Observation(step))
	}
}

// styled returns a function of the style reward of a step. It is nil if the agent has no discriminator.
func styled(agent agents.Agent) func(*envs.Step) (map[string]float64, error) {
	judge, ok := agents.As[interface {
		StyleRewards(ampObservations []float32) ([]float32, error)
	}](agent)
	if !ok {
		return nil
	}
	return func(step *envs.Step) (map[string]float64, error) {
		rewards, err := judge.StyleRewards(step.AMPObservations)
		if err != nil {
			return nil, err
		}
		return map[string]float64{"style reward": float64(rewards[0])}, nil
	}
}
