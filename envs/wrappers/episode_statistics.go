package wrappers

import (
	"errors"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/internal/statecodec"
)

// EpisodeStatistics counts returns and lengths of episodes, for environments that report none. It counts the
// environment's own rewards, even around wrappers that change rewards. If the environment inside reports an episode,
// EpisodeStatistics keeps its metrics, and replaces its return and length. It is [envs.Stateful] if the environment
// inside is.
type EpisodeStatistics struct {
	keeper
	// step is what Step returns.
	step envs.Step
	// returns and lengths (N) belong to the episodes in progress.
	returns []float64
	lengths []int
	// episodes are those that ended in the last step. The slice is reused.
	episodes []envs.Episode
}

// NewEpisodeStatistics returns env with every finished episode listed.
func NewEpisodeStatistics(env envs.Env) (*EpisodeStatistics, error) {
	if env == nil {
		return nil, errors.New("wrappers: NewEpisodeStatistics needs an environment, got nil")
	}
	n := env.NumEnvs()
	return &EpisodeStatistics{keeper: keeper{inner{env}},
		returns: make([]float64, n), lengths: make([]int, n), episodes: make([]envs.Episode, 0, n)}, nil
}

// Reset resets the environment inside and counts from 0.
func (e *EpisodeStatistics) Reset(seed int64) (*envs.Step, error) {
	clear(e.returns)
	clear(e.lengths)
	return e.within.Reset(seed)
}

// Step steps the environment inside and counts.
func (e *EpisodeStatistics) Step(actions []float32) (*envs.Step, error) {
	s, err := e.within.Step(actions)
	if err != nil {
		return nil, err
	}
	if err := checkRewards("episode_statistics", s, s.Raw()); err != nil {
		return nil, err
	}
	e.episodes = e.episodes[:0]
	reported := s.Episodes
	// The sums are float64: in a long episode a float32 sum would lose small rewards.
	for i, r := range s.Raw() {
		// A row that only reset belongs to no episode.
		if s.ResetOnly(i) {
			continue
		}
		e.returns[i] += float64(r)
		e.lengths[i]++
		if !s.Ended(i) {
			continue
		}
		ended := envs.Episode{Env: i, Return: e.returns[i], Length: e.lengths[i]}
		// Both lists are in the order of environments, so one pass over them finds the metrics.
		for len(reported) > 0 && reported[0].Env < i {
			reported = reported[1:]
		}
		if len(reported) > 0 && reported[0].Env == i {
			ended.Metrics = reported[0].Metrics
		}
		e.episodes = append(e.episodes, ended)
		e.returns[i], e.lengths[i] = 0, 0
	}
	e.step = *s
	// Step.Episodes is nil, not empty, if no episode ended.
	e.step.Episodes = nil
	if len(e.episodes) > 0 {
		e.step.Episodes = e.episodes
	}
	return &e.step, nil
}

// statisticsHeader begins a saved state. Its number changes with the format.
const statisticsHeader = "gorl episode statistics 1"

// MarshalState returns what was counted so far and the state of the environment inside.
func (e *EpisodeStatistics) MarshalState() ([]byte, error) {
	return marshal(e.stateful(), statisticsHeader, func(enc *statecodec.Encoder) {
		enc.Int(len(e.returns))
		for i := range e.returns {
			enc.Float(e.returns[i])
			enc.Int(e.lengths[i])
		}
	})
}

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (e *EpisodeStatistics) RestoreState(b []byte) error {
	n := len(e.returns)
	returns, lengths := make([]float64, n), make([]int, n)
	err := restore(e.stateful(), statisticsHeader, b, func(d *statecodec.Decoder) {
		if got := d.Int(); got != n {
			d.Fail("it is of %d environments, here are %d", got, n)
		}
		for i := range n {
			returns[i], lengths[i] = d.Float(), d.Int()
			if lengths[i] < 0 {
				d.Fail("environment %d: the episode's length is %d", i, lengths[i])
			}
		}
	})
	if err != nil {
		return err
	}
	e.returns, e.lengths = returns, lengths
	return nil
}
