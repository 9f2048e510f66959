package wrappers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/durable"
)

// RecordOptions are the settings of [NewRecord].
type RecordOptions struct {
	// Dir is the folder of the files. NewRecord makes it if it is missing.
	Dir string
	// Env is the index of the environment to record.
	Env int
	// Every records every n-th episode, beginning with the first. 0 means every episode.
	Every int
	// MaxSteps is the number of steps to keep of an episode, from its first step. 0 means 1000.
	MaxSteps int
}

// Record writes the transitions of one environment of a batch to files: episode-N.jsonl, one JSON object per step. Its
// keys are step (from 1), observation, action, reward, next_observation (null if the simulator did not keep an
// episode's last one), terminated, truncated. If the spaces exist, there are also state, next_state, amp_observation,
// seat_rewards, seat_terminated, seat_truncated and seat_active.
//
// A file appears complete when its episode ends. An episode that Reset or Close interrupts is written up to there. N
// continues from the highest number in Dir. After RestoreState (see [envs.Stateful]) recording begins with the next
// episode.
type Record struct {
	keeper
	opts RecordOptions
	// number is that of the next file, episode the number of episodes begun since NewRecord.
	number  int
	episode int
	// running is true while the current episode is recorded, steps counts its recorded steps, at most MaxSteps.
	running bool
	steps   int
	// last holds the observation and state that the next step starts from, copied: the step inside is overwritten.
	last transition
	// lines are the transitions of the episode so far, as JSON.
	lines bytes.Buffer
}

// transition is a line of episode-N.jsonl. Its values are those that pass through Record: the environment's own if
// Record is inside a normalising wrapper, the normalised ones if it is outside.
type transition struct {
	// Step counts the steps of the episode from 1.
	Step int `json:"step"`
	// Observation (O) and State (S) are what the action was chosen for.
	Observation []float32 `json:"observation"`
	State       []float32 `json:"state,omitempty"`
	Action      []float32 `json:"action"`
	// Reward is the one that Record was given, which a wrapper inside may have changed.
	Reward float32 `json:"reward"`
	// NextObservation and NextState are null if the episode ended and its last observation is unknown.
	NextObservation []float32 `json:"next_observation"`
	NextState       []float32 `json:"next_state,omitempty"`
	// AMPObservation (M) is what the discriminator sees of this step.
	AMPObservation []float32 `json:"amp_observation,omitempty"`
	Terminated     bool      `json:"terminated"`
	Truncated      bool      `json:"truncated"`
	// Those of the seats are (K), if there are seats. Active says which of them act next; after the end of an episode,
	// in the next one.
	SeatRewards    []float32 `json:"seat_rewards,omitempty"`
	SeatTerminated []bool    `json:"seat_terminated,omitempty"`
	SeatTruncated  []bool    `json:"seat_truncated,omitempty"`
	SeatActive     []bool    `json:"seat_active,omitempty"`
}

// NewRecord returns env with the episodes of one environment recorded.
func NewRecord(env envs.Env, opts RecordOptions) (*Record, error) {
	opts.Every, opts.MaxSteps = cmp.Or(opts.Every, 1), cmp.Or(opts.MaxSteps, 1000)
	switch {
	case opts.Dir == "":
		return nil, errors.New("wrappers: NewRecord needs a folder: set Dir")
	case opts.Env < 0 || opts.Env >= env.NumEnvs():
		return nil, fmt.Errorf("wrappers: environment to record is %d; it must be 0 to %d", opts.Env, env.NumEnvs()-1)
	case opts.Every < 0 || opts.MaxSteps < 0:
		return nil, fmt.Errorf("wrappers: Every is %d and MaxSteps %d; neither may be negative", opts.Every,
			opts.MaxSteps)
	}
	if err := os.MkdirAll(opts.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("wrappers: recording: %w", err)
	}
	number, err := nextEpisodeFile(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("wrappers: recording: %w", err)
	}
	return &Record{keeper: keeper{inner{env}}, opts: opts, number: number}, nil
}

// nextEpisodeFile returns one more than the highest N of the files episode-N.* in dir, so that a resumed run
// overwrites none; 0 if there are none.
func nextEpisodeFile(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	next := 0
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "episode-%d.", &n); err == nil {
			next = max(next, n+1)
		}
	}
	return next, nil
}

// Reset writes the episode that was running and resets the environment inside.
func (r *Record) Reset(seed int64) (*envs.Step, error) {
	if err := r.flush(); err != nil {
		return nil, err
	}
	s, err := r.within.Reset(seed)
	if err != nil {
		return nil, err
	}
	r.begin(s)
	return s, nil
}

// Step steps the environment inside and records it. An error of writing is returned after the step was made.
func (r *Record) Step(actions []float32) (*envs.Step, error) {
	s, err := r.within.Step(actions)
	if err != nil {
		return nil, err
	}
	i := r.opts.Env
	ended := s.Ended(i)
	// A simulator that resets in its next step showed the last observation of the old episode when begin was called.
	// That observation is dropped: the new episode begins with this step.
	if s.ResetOnly(i) {
		r.remember(s)
		return s, nil
	}
	if r.running && r.steps < r.opts.MaxSteps {
		if err := r.record(s, actions, ended); err != nil {
			return nil, err
		}
	}
	if ended {
		if err := r.flush(); err != nil {
			return nil, err
		}
		r.begin(s)
	} else if r.running {
		r.remember(s)
	}
	return s, nil
}

// Close writes the episode that was running and closes the environment inside.
func (r *Record) Close() error { return errors.Join(r.flush(), r.within.Close()) }

// begin starts the next episode, whose first observation s holds. It decides whether the episode is recorded.
func (r *Record) begin(s *envs.Step) {
	r.running = r.episode%r.opts.Every == 0
	r.episode++
	r.discard()
	r.remember(s)
}

// remember copies the observation and state that the next step starts from.
func (r *Record) remember(s *envs.Step) {
	set := r.Spaces()
	r.last.Observation = append(r.last.Observation[:0], row(s.Observations, r.opts.Env, set.Observation.Width())...)
	r.last.State = append(r.last.State[:0], row(s.States, r.opts.Env, set.State.Width())...)
}

// record adds a step to the running episode. s is what the step returned, actions (N, A) what it was given.
func (r *Record) record(s *envs.Step, actions []float32, ended bool) error {
	r.steps++
	i, set := r.opts.Env, r.Spaces()
	t := r.last
	t.Step, t.Reward, t.Terminated, t.Truncated = r.steps, s.Rewards[i], s.Terminated[i], s.Truncated[i]
	t.Action = row(actions, i, set.Action.Width())
	next, nextState := s.Observations, s.States
	if ended {
		next, nextState = s.FinalObservations, s.FinalStates
	}
	// Otherwise the next observation is null.
	if !ended || s.FinalKnown(i) {
		t.NextObservation, t.NextState = row(next, i, set.Observation.Width()), row(nextState, i, set.State.Width())
	}
	t.AMPObservation = row(s.AMPObservations, i, set.AMPObservation.Width())
	seats := s.Seats.Row(i, len(set.Seats))
	t.SeatRewards, t.SeatTerminated, t.SeatTruncated = seats.Rewards, seats.Terminated, seats.Truncated
	t.SeatActive = seats.Active
	if err := json.NewEncoder(&r.lines).Encode(t); err != nil {
		return fmt.Errorf("wrappers: recording step %d of environment %d: %w", r.steps, i, err)
	}
	return nil
}

// flush writes the file of the running episode, unless it has no steps, and drops the episode. It drops the episode
// even on an error.
func (r *Record) flush() error {
	defer r.discard()
	if r.steps == 0 {
		return nil
	}
	// durable writes a file under another name and renames it, so an interrupted run leaves no half of it.
	path := filepath.Join(r.opts.Dir, fmt.Sprintf("episode-%06d.jsonl", r.number))
	r.number++
	err := durable.WriteFile(path, func(w io.Writer) error {
		_, err := r.lines.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("wrappers: recording: %w", err)
	}
	return nil
}

// discard drops the steps of the running episode.
func (r *Record) discard() {
	r.steps = 0
	r.lines.Reset()
}

// MarshalState returns the state of the environment inside. What is being recorded is not part of the state.
func (r *Record) MarshalState() ([]byte, error) { return r.stateful().MarshalState() }

// RestoreState restores the environment inside. What was recorded of the episode that ran before is dropped, and
// recording goes on with the next episode.
func (r *Record) RestoreState(b []byte) error {
	if err := r.stateful().RestoreState(b); err != nil {
		return err
	}
	r.running = false
	r.discard()
	return nil
}
