package trainers

import (
	"context"
	"fmt"
	"image"
	"path/filepath"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/film"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/panics"
)

// This file makes films while training. Every VideoInterval timesteps, after the agent has learned, it plays one
// episode beside training, as evaluations do.

// defaultVideoLength, in steps, is used if Config.VideoLength is 0. It is Isaac Lab's.
const defaultVideoLength = 200

// films reports whether the configuration asks for films.
func (c *Config) films() bool { return c.VideoInterval != (agents.Interval{}) }

// checkFilms returns an error if the configuration asks for films of a training environment that cannot draw itself.
// An environment of EvaluationEnv is checked by the first film, which is made before training.
func (c *Config) checkFilms(env envs.Env) error {
	if !c.films() || c.EvaluationEnv != nil {
		return nil
	}
	_, err := rendererOf(env)
	return err
}

// rendererOf returns the part of env that draws.
func rendererOf(env envs.Env) (envs.Renderer, error) {
	r, ok := envs.As[envs.Renderer](env)
	if !ok {
		return nil, fmt.Errorf("trainers: \"video_interval\" needs an environment that draws itself, and %T does not "+
			"(it is no envs.Renderer); set it to 0", env)
	}
	return r, nil
}

// filmDue reports whether a film must be made at this timestep. It is false again after the film.
func (l *loop) filmDue() bool {
	n := int64(l.cfg.VideoInterval.Of(l.cfg.Timesteps, 10))
	return n > 0 && l.files.dir != "" && l.timestep%n == 0 && l.filmed != l.timestep+1
}

// makeFilm makes the film of this timestep. If the context is cancelled, filmed stays as it was, and settle makes the
// film before the next step.
func (l *loop) makeFilm(ctx context.Context) error {
	var pictures []image.Image
	var rate float64
	err := l.aside(ctx, l.cfg.EvaluationSeed, func(s *stepper) (err error) {
		pictures, rate, err = filmEpisode(ctx, s, l.agent, l.cfg.EvaluationSeed, l.cfg.VideoLength)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w (film at timestep %d)", err, l.timestep)
	}
	folder := filepath.Join(l.files.dir, "videos")
	if err := durable.MkdirAll(folder, 0o777); err != nil {
		return fmt.Errorf("trainers: the folder of films: %w", err)
	}
	frame := func(i int) (image.Image, error) { return pictures[i], nil }
	if err := film.SaveGIF(filepath.Join(folder, fmt.Sprintf("step-%09d.gif", l.timestep)), len(pictures), rate,
		frame); err != nil {
		return fmt.Errorf("trainers: %w", err)
	}
	l.filmed = l.timestep + 1
	return nil
}

// filmEpisode plays one episode of environment 0 without learning, at most length steps. It returns pictures of the
// first state and of every n-th state after that, and their rate in pictures a second ([film.Pace]). There is no
// picture after the episode's last step, because the environment has begun the next episode by then.
func filmEpisode(ctx context.Context, s *stepper, agent agents.Agent, seed int64, length int) (pictures []image.Image,
	rate float64, err error) {
	renderer, err := rendererOf(s.env)
	if err != nil {
		return nil, 0, err
	}
	learn, err := stopLearning(s, agent)
	if err != nil {
		return nil, 0, err
	}
	defer learn()
	step, err := s.reset(ctx, seed)
	if err != nil {
		return nil, 0, fmt.Errorf("trainers: film: %w", err)
	}
	resetHidden(agent)
	every, rate := film.Pace(envs.StepDuration(s.env))
	for i := range length {
		if i%every == 0 {
			err := panics.Guard(s.what(), func() error {
				picture, err := renderer.Render(0)
				pictures = append(pictures, picture)
				return err
			})
			if err != nil {
				return nil, 0, fmt.Errorf("trainers: film: %w", err)
			}
		}
		if step, err = playStep(ctx, s, agent, step, "film", int64(i+1)); err != nil {
			return nil, 0, err
		}
		if step.Ended(0) {
			break
		}
	}
	return pictures, rate, nil
}
