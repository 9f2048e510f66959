package selfplay

import (
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// Inner is a trainee that can use self-play, such as *trainers.Trainee.
type Inner interface {
	pbt.Trainee
	pbt.Reseeder
	pbt.Planner
	pbt.Sampler
	pbt.Evaluator
	pbt.Holder
}

// Trainee is a member of a population whose members play against each other: a [pbt.Meeter].
type Trainee struct {
	Inner
	member int
	env    *Env
}

// NewTrainee returns the trainee of a member (pbt.Member.ID) that trains in env. env is, or wraps, an [Env]. On an
// error inner is closed.
func NewTrainee(inner Inner, member int, env envs.Env) (*Trainee, error) {
	own, ok := envs.As[*Env](env)
	if !ok {
		return nil, errors.Join(fmt.Errorf("selfplay: a %T has no *selfplay.Env inside; make one with NewGames or Wrap",
			env), inner.Close())
	}
	return &Trainee{Inner: inner, member: member, env: own}, nil
}

// Meet adds to the pool the members' weights at the end of an interval, and the present weights as a past self.
func (t *Trainee) Meet(interval int64, members []*checkpoint.Snapshot) error {
	own, err := t.Snapshot()
	if err != nil {
		return err
	}
	return t.env.Meet(t.member, interval, members, own)
}

// SelfPlay returns the rating and the games since the interval's beginning.
func (t *Trainee) SelfPlay() *journal.SelfPlay { return t.env.pool.results() }
