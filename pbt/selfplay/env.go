package selfplay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
)

// Env is a batch of games for one learner, see [Game], with the pool of its opponents. Env counts the results after
// every step, in the order of the environments. It reports the learner's rating as the figure "rating" of every
// episode, so "episode.rating" can be the objective of a population.
//
// Env is an [envs.Curriculum] whose state is the pool. The pool is saved and copied with the learner's weights. Env is
// an [envs.Stateful] if the game is.
type Env struct {
	*batch
	pool  *Pool
	games []*Game
}

type batch = wrappers.Parallel

// NewGames makes n games by calling create, as [wrappers.NewParallel] does. At first the only opponent is the random
// player. Games with fewer than two seats, or with seats of different spaces, are an error. The games are then closed.
func NewGames(n int, create func(i int) (envs.Single, error), cfg Config, opts wrappers.ParallelOptions) (*Env, error) {
	p, err := wrappers.NewParallel(n, create, opts)
	if err != nil {
		return nil, err
	}
	return Wrap(p, cfg)
}

// Wrap turns a batch of games with seats into a batch for one learner. The batch must be a [*wrappers.Parallel], as
// gorl's own games are. Env owns the batch: it is closed with Env, or before Wrap returns an error.
func Wrap(games envs.Env, cfg Config) (*Env, error) {
	p, ok := games.(*wrappers.Parallel)
	if !ok {
		return nil, errors.Join(fmt.Errorf("selfplay: the environment is a %T; self-play needs the games themselves, "+
			"in a *wrappers.Parallel: put other wrappers around the result, and use no game of another process", games),
			games.Close())
	}
	err := cfg.Validate()
	var own []int
	if err == nil {
		own, err = cfg.seatsFor(p.Spaces())
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	e := &Env{pool: newPool(cfg, p.Spaces().Seat(own[0]))}
	e.batch, err = wrappers.Rewrap(p, func(_ int, single envs.Single) (envs.Single, error) {
		g := newGame(single, e.pool, own)
		e.games = append(e.games, g)
		return g, nil
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Pool returns the opponents and the table of results.
func (e *Env) Pool() *Pool { return e.pool }

// Unwrap returns the batch of games.
func (e *Env) Unwrap() envs.Env { return e.batch }

// Supports reports what the batch of games supports. Env is always an [envs.Curriculum].
func (e *Env) Supports(iface any) bool {
	if _, ok := iface.(*envs.Curriculum); ok {
		return true
	}
	return e.batch.Supports(iface)
}

// Reset starts new games. With SeatTurns the first game begins with the first seat again, the second with the next.
func (e *Env) Reset(seed int64) (*envs.Step, error) {
	for i, g := range e.games {
		g.turn = i - 1
	}
	return e.batch.Reset(seed)
}

// MarshalState returns the state of the games, and the rating and results in the pool. The policies of the pool are
// part of the curriculum's state only, which is restored first.
func (e *Env) MarshalState() ([]byte, error) {
	b, err := e.batch.MarshalState()
	if err != nil {
		return nil, err
	}
	table, err := json.Marshal(e.pool.table())
	if err != nil {
		return nil, fmt.Errorf("selfplay: %w", err)
	}
	return append(append(table, '\n'), b...), nil
}

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (e *Env) RestoreState(state []byte) error {
	table, rest, err := readHeader(state)
	if err != nil {
		return err
	}
	if err := e.batch.RestoreState(rest); err != nil {
		return err
	}
	e.pool.setTable(table)
	return nil
}

// Step steps the games and counts the results of those that ended.
func (e *Env) Step(actions []float32) (*envs.Step, error) {
	step, err := e.batch.Step(actions)
	if err != nil {
		return nil, err
	}
	for i := range step.Episodes {
		episode := &step.Episodes[i]
		e.pool.record(e.games[episode.Env].results)
		episode.Metrics["rating"] = e.pool.Rating()
	}
	return step, nil
}

// inner returns the game's own curriculum, if it has one.
func (e *Env) inner() (envs.Curriculum, bool) {
	return e.batch, e.batch.Supports((*envs.Curriculum)(nil))
}

// CurriculumState returns the pool's state, and the state of the game's own curriculum if there is one.
func (e *Env) CurriculumState() ([]byte, error) {
	var own []byte
	if c, ok := e.inner(); ok {
		b, err := c.CurriculumState()
		if err != nil {
			return nil, err
		}
		own = append([]byte{}, b...)
	}
	return e.pool.marshal(own)
}

// SetCurriculumState puts back what CurriculumState returned, all or (on an error) nothing. The learner then has other
// weights. So episodes in progress do not count when they end, unless RestoreState restores them afterwards.
func (e *Env) SetCurriculumState(state []byte) error {
	before, err := e.pool.marshal(nil)
	if err != nil {
		return err
	}
	own, err := e.pool.restore(state)
	if err != nil {
		return err
	}
	if c, ok := e.inner(); ok && own != nil {
		if err := c.SetCurriculumState(own); err != nil {
			_, undone := e.pool.restore(before)
			return errors.Join(err, undone)
		}
	}
	for _, g := range e.games {
		g.foreign = true
	}
	return nil
}

// Meet begins an interval of a population. The pool gets the other members' newest weights, and the learner's present
// weights, own, as a past self. members are the members' snapshots by number; nil entries are skipped. learner is the
// learner's number. On an error nothing has changed.
func (e *Env) Meet(learner int, interval int64, members []*checkpoint.Snapshot, own *checkpoint.Snapshot) error {
	var newest []*opponent
	for i, snapshot := range members {
		if i == learner || snapshot == nil {
			continue
		}
		rating, err := ratingIn(snapshot)
		if err != nil {
			return err
		}
		o, err := e.pool.freeze(ID{i, interval}, false, rating, snapshot)
		if err != nil {
			return err
		}
		newest = append(newest, o)
	}
	self, err := e.pool.freeze(ID{learner, interval}, true, 0, own)
	if err != nil {
		return err
	}
	e.pool.next(newest, self, learner)
	return nil
}

// ratingIn returns the rating in a member's snapshot.
func ratingIn(snapshot *checkpoint.Snapshot) (float64, error) {
	a, ok := snapshot.Arrays[layout.EnvironmentCurriculum]
	if !ok {
		return 0, errors.New("selfplay: the snapshot of another member has no pool; all members must use self-play")
	}
	b, err := a.Bytes()
	if err != nil {
		return 0, fmt.Errorf("selfplay: %w", err)
	}
	saved, _, err := readHeader(bytes.Clone(b))
	return saved.Rating, err
}
