package gymnasium

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/gorl-dev/gorl/spaces"
)

// Observations is the form of agents.Observation: (N, O), (N, S) and (N, K) values. This package does not import
// agents, so that programs which only step environments need no libtorch.
type Observations interface {
	~struct {
		Observations, States, ActionMasks []float32
		Active                            []bool
	}
}

// Policy is what [Serve] asks; agents with agents.Binder, as gorl's are, satisfy it.
type Policy[O Observations] interface {
	// Name is the policy's name, which the asker can read.
	Name() string
	// Spaces are what it sees and does.
	Spaces() spaces.Set
	// NumEnvs is the number of rows that Act expects, 0 until Bind has fixed it.
	NumEnvs() int
	Bind(numEnvs int) error
	// SetTraining(false) makes Act return the mean or mode of its distribution. It returns whether the policy was
	// training.
	SetTraining(on bool) (was bool)
	// Act returns one row of actions for each row of observations.
	Act(in O) ([]float32, error)
}

// remembering is implemented by policies that may have memory (recurrent layers), as agents.Recurrent is by agents. A
// policy has memory if HiddenSizes is not empty.
type remembering interface {
	HiddenSizes() map[string]int
	ResetHidden(environments ...int)
}

// ServeOptions are the settings of [Serve].
type ServeOptions struct {
	// Rows is the largest number of observations in one question, for a policy that is not bound to a number of
	// environments yet. The default 0 means 1.
	Rows int
}

// policyJSON is what a Python program reads about a policy in the header of the memory. State is nil without
// privileged states.
type policyJSON struct {
	Name        string     `json:"name"`
	Observation spaceJSON  `json:"observation"`
	State       *spaceJSON `json:"state,omitempty"`
	Action      spaceJSON  `json:"action"`
}

// maxMessage is the room in bytes for an error's text, with the 0 byte that ends it.
const maxMessage = 4096

// Serve answers a Python program that asks a policy for actions (clients/python/gorl_client.py), until ctx is done,
// which returns nil. path is the file that both map, best in /dev/shm. It exists while Serve runs, and only this user
// can read it. The policy acts by its mean (it is not training meanwhile). A question may have at most as many
// observations as the policy is bound to. One program may ask at a time. An error of Act is passed to the asker.
//
// Row i of a question is environment i to a policy with memory (recurrent layers). Its state continues from question
// to question until the asker says that an episode begins. The states of rows that are not asked about start again.
func Serve[O Observations](ctx context.Context, policy Policy[O], path string, o ServeOptions) (err error) {
	if policy == nil || path == "" {
		return errors.New("gymnasium: Serve needs a policy and a path")
	}
	if err := policy.Spaces().RefuseSeats("gymnasium: Serve"); err != nil {
		return err
	}
	if o.Rows < 0 {
		return fmt.Errorf("gymnasium: rows is %d; it must not be negative", o.Rows)
	}
	if policy.NumEnvs() == 0 {
		if err := policy.Bind(max(1, o.Rows)); err != nil {
			return fmt.Errorf("gymnasium: %w", err)
		}
	}
	s := &server{set: policy.Spaces(), path: path, rows: policy.NumEnvs(),
		act: func(observations, states, masks []float32) ([]float32, error) {
			return policy.Act(O{Observations: observations, States: states, ActionMasks: masks})
		}}
	if r, ok := any(policy).(remembering); ok && len(r.HiddenSizes()) > 0 {
		s.reset = r.ResetHidden
	}
	if err := s.open(policy.Name()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	was := policy.SetTraining(false)
	defer policy.SetTraining(was)
	return s.serve(ctx)
}

// server is a policy and the memory through which it is asked. Everything in the memory is written by another
// program, so server acts on copies that it has checked.
type server struct {
	// act returns actions (rows, A) for observations (rows, O), states (rows, S) and action masks (rows, K).
	act func(observations, states, masks []float32) ([]float32, error)
	// reset clears the memory of the policy for the given rows; nil if it has no memory.
	reset func(environments ...int)
	// begins is (rows), in the shared memory: the asker writes 1 where an episode begins.
	begins []uint8
	// set are the spaces of the policy, path the file that the asker opens.
	set  spaces.Set
	path string
	// file is the open file, which may have lost its path to another policy; memory is its mapping, block the only
	// control block.
	file   *os.File
	memory []byte
	block  *control
	// observations, states and masks are what the asker writes, with the checked copies.
	observations, states, masks table
	// actions (rows, A) and message, the text of an error, are in the shared memory.
	actions []float32
	message []uint8
	// rows is the number of environments to which the policy is bound.
	rows int
}

// open makes the file for the policy of that name and maps it. It makes the file under another name and renames it when
// the header and the control block are complete, so that no program opens half of it.
func (s *server) open(name string) (err error) {
	if err := vacant(s.path); err != nil {
		return err
	}
	set := s.set
	arrays := []array{
		{"observations", "f4", set.Observation.Width()}, {"states", "f4", set.State.Width()},
		{"actions", "f4", set.Action.Width()}, {"action_masks", "f4", set.ActionMask.Width()},
	}
	if s.reset != nil {
		arrays = append(arrays, array{"begins", "u1", -1})
	}
	about := &policyJSON{Name: name, Observation: spaceOf(set.Observation), Action: spaceOf(set.Action)}
	if set.State.Width() > 0 {
		state := spaceOf(set.State)
		about.State = &state
	}
	l := plan("policy", 1, s.rows, arrays, about)
	l.Arrays["message"] = place{Offset: l.Size, DType: "u1", Shape: []int{maxMessage}}
	l.Size += maxMessage
	if s.file, err = os.CreateTemp(filepath.Dir(s.path), "."+filepath.Base(s.path)+"-*"); err != nil {
		return fmt.Errorf("gymnasium: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(s.file.Name()), s.release())
		}
	}()
	if s.memory, err = mapFile(s.file, l.Size); err != nil {
		return fmt.Errorf("gymnasium: mapping %s: %w", s.path, err)
	}
	copy(s.memory, l.header())
	s.block = l.block(s.memory, 0)
	s.block.prepare()
	s.block.server = uint32(os.Getpid())
	of := func(name string, space spaces.Space) table {
		return table{name: name, space: space, width: space.Width(), now: space.Rows(s.rows),
			shared: rows{floats: view[float32](s.memory, l, name)}}
	}
	s.observations, s.states = of("observations", set.Observation), of("states", set.State)
	s.masks, s.actions = of("action_masks", set.ActionMask), view[float32](s.memory, l, "actions")
	s.begins, s.message = view[uint8](s.memory, l, "begins"), view[uint8](s.memory, l, "message")
	if err = os.Rename(s.file.Name(), s.path); err != nil {
		return fmt.Errorf("gymnasium: %w", err)
	}
	return nil
}

// vacant returns an error if a file at path must not be replaced: one that is no served policy, or a policy whose
// process lives. A file left by a process that was killed may be replaced.
func vacant(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var b []byte
	if err == nil && info.Mode().IsRegular() && info.Size() < 1<<32 { // opening a pipe would wait
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return fmt.Errorf("gymnasium: %w", err)
	}
	l, err := parseHeader(b)
	if err != nil || l.Role != "policy" {
		return fmt.Errorf("gymnasium: %s is there already, and is no policy that was served", path)
	}
	if pid := int(l.block(b, 0).server); alive(pid) {
		return fmt.Errorf("gymnasium: process %d serves a policy at %s", pid, path)
	}
	return nil
}

// spaceOf returns a space in the form that the asker reads. It has no limits: the asker checks shapes, and answer
// checks values.
func spaceOf(s spaces.Space) spaceJSON {
	told := spaceJSON{Kind: s.Kind.String(), Shape: s.Shape, NVec: s.NVec, DType: string(s.DType)}
	for _, e := range s.Entries {
		told.Keys, told.Spaces = append(told.Keys, e.Name), append(told.Spaces, spaceOf(e.Space))
	}
	return told
}

// serve answers until ctx is done. It sleeps on the asker's word, at most 4 naps at a time, and ctx wakes it at once.
func (s *server) serve(ctx context.Context) error {
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		futexWake(&s.block.sequence)
		close(woken)
	})
	defer func() {
		if !stop() {
			<-woken // the memory is unmapped next
		}
	}()
	for done := s.block.done; ctx.Err() == nil; {
		sequence := atomic.LoadUint32(&s.block.sequence)
		if sequence == done {
			futexWait(&s.block.sequence, sequence, 4*nap)
			continue
		}
		status := uint32(0)
		if err := s.answer(int(s.block.to)); err != nil {
			status = statusFailed
			text := err.Error()
			n := copy(s.message[:maxMessage-1], text)
			s.message[n] = 0
		}
		// The status must be there before done says so: the asker reads the status as soon as done has changed.
		done = sequence
		atomic.StoreUint32(&s.block.status, status)
		atomic.StoreUint32(&s.block.done, done)
		futexWake(&s.block.done)
	}
	return nil
}

// answer acts on the first n rows and writes their actions. The policy is bound to a fixed number of rows, so the
// others are shown zeros and their actions are not used. What a recurrent policy remembers of these others is
// worthless, so their next question begins an episode.
func (s *server) answer(n int) error {
	if n < 1 || n > s.rows {
		return fmt.Errorf("gymnasium: %d observations; the policy takes from 1 to %d at once", n, s.rows)
	}
	for _, t := range []*table{&s.observations, &s.states} {
		asked := t.now[:n*t.width]
		copy(asked, t.shared.floats)
		clear(t.now[len(asked):]) // rows do not depend on each other: those not asked about may hold anything
		if err := t.space.Check(asked, n); err != nil {
			return fmt.Errorf("gymnasium: %s: %w", t.name, err)
		}
	}
	for i := range s.masks.now {
		s.masks.now[i] = 1 // rows that are not asked about allow everything
	}
	copy(s.masks.now, s.masks.shared.floats[:n*s.masks.width])
	if err := s.set.CheckMasks(s.masks.now, s.rows); err != nil {
		return fmt.Errorf("gymnasium: %w", err)
	}
	if s.reset != nil {
		var anew []int
		for i := range s.rows {
			if s.begins[i] != 0 {
				anew = append(anew, i)
			}
			s.begins[i] = 0
			if i >= n {
				s.begins[i] = 1 // it is shown zeros now
			}
		}
		if len(anew) > 0 {
			s.reset(anew...)
		}
	}
	actions, err := s.act(s.observations.now, s.states.now, s.masks.now)
	if err != nil {
		return err
	}
	copy(s.actions, actions)
	return nil
}

// close removes the file, unless another policy has taken its place, unmaps the memory, and wakes an asker that
// waits.
func (s *server) close() error {
	s.block.server = 0 // a program that still has the memory mapped sees that no process answers
	futexWake(&s.block.done)
	own, err := s.file.Stat()
	if there, missing := os.Stat(s.path); err == nil && missing == nil && os.SameFile(own, there) {
		err = os.Remove(s.path)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, s.release())
}

// release unmaps the memory, if it is mapped, and closes the file. It leaves the file in its folder.
func (s *server) release() error {
	var err error
	if s.memory != nil {
		err = unmap(s.memory)
	}
	s.memory = nil
	return errors.Join(err, s.file.Close())
}
