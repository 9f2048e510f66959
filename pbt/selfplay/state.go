package selfplay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/infer"
)

// A saved pool is a line of JSON (savedPool), followed by the opponents' policies in order, each a safetensors file.
// Readers that need only the rating read only the line.

// savedPool is the first line of a saved pool.
type savedPool struct {
	Format    int             `json:"self_play"`
	Rating    float64         `json:"rating"`
	Opponents []savedOpponent `json:"opponents"`
	// Inner is the length in bytes of the state of the game's own curriculum, which comes last; -1 if there is none.
	Inner int `json:"inner"`
}

type savedOpponent struct {
	ID
	Past   bool    `json:"past,omitempty"`
	Rating float64 `json:"rating"`
	All    tally   `json:"all"`
	Recent tally   `json:"recent"`
	// Bytes is the length of the policy, 0 for the random player. SHA256 is the policy's checksum.
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"`
}

// poolFormat is the number of the format.
const poolFormat = 1

// marshal returns the pool's state, with the state of the game's own curriculum unless that is nil.
func (p *Pool) marshal(inner []byte) ([]byte, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	saved := p.standing()
	if inner != nil {
		saved.Inner = len(inner)
	}
	var policies bytes.Buffer
	for i, o := range p.opponents() {
		saved.Opponents[i].Bytes, saved.Opponents[i].SHA256 = len(o.policy), checksum(o.policy)
		policies.Write(o.policy)
	}
	line, err := json.Marshal(saved)
	if err != nil {
		return nil, fmt.Errorf("selfplay: %w", err)
	}
	return append(append(append(line, '\n'), policies.Bytes()...), inner...), nil
}

// standing returns the rating and all results.
func (p *Pool) standing() savedPool {
	saved := savedPool{Format: poolFormat, Rating: p.rating, Inner: -1}
	for _, o := range p.opponents() {
		saved.Opponents = append(saved.Opponents, savedOpponent{ID: o.id, Past: o.past, Rating: o.rating, All: o.all,
			Recent: o.recent})
	}
	return saved
}

// table returns standing under the lock.
func (p *Pool) table() savedPool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.standing()
}

// setTable puts back the rating and the results against the opponents that are in the pool.
func (p *Pool) setTable(saved savedPool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rating = saved.Rating
	for _, s := range saved.Opponents {
		if o := p.find(s.ID, s.Past); o != nil {
			o.all, o.recent = s.All, s.Recent
		}
	}
}

// restore puts back what marshal returned, all or (on an error) nothing. It returns the game's own state, nil if there
// is none.
func (p *Pool) restore(state []byte) (inner []byte, err error) {
	saved, rest, err := readHeader(state)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var members, past []*opponent
	for _, s := range saved.Opponents {
		o := &opponent{id: s.ID, past: s.Past, rating: s.Rating, all: s.All, recent: s.Recent}
		if o.policy, rest, err = cut(rest, s.Bytes); err != nil {
			return nil, err
		}
		if checksum(o.policy) != s.SHA256 {
			return nil, fmt.Errorf("selfplay: the policy of %v in the saved pool is damaged", s.ID)
		}
		if err := p.load(o); err != nil {
			return nil, err
		}
		if s.Past {
			past = append(past, o)
		} else {
			members = append(members, o)
		}
	}
	if len(past) == 0 {
		return nil, errors.New("selfplay: the saved pool has no past self")
	}
	if saved.Inner >= 0 {
		if inner, rest, err = cut(rest, saved.Inner); err != nil {
			return nil, err
		}
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("selfplay: %d bytes are left over behind the saved pool", len(rest))
	}
	p.rating, p.members, p.past = saved.Rating, members, past
	return inner, nil
}

// load sets an opponent's player. Opponents with equal policies share one player.
func (p *Pool) load(o *opponent) error {
	if o.id == randomID {
		o.policy, o.player = nil, Random(p.seat)
		return nil
	}
	for _, same := range p.opponents() {
		if same.policy != nil && bytes.Equal(same.policy, o.policy) {
			o.policy, o.player = same.policy, same.player
			return nil
		}
	}
	snapshot, err := checkpoint.DecodeSafetensors(o.policy)
	if err != nil {
		return fmt.Errorf("selfplay: the policy of %v: %w", o.id, err)
	}
	policy, err := infer.FromSnapshot(snapshot)
	if err == nil {
		err = fits(policy, p.seat)
	}
	if err != nil {
		return fmt.Errorf("selfplay: the policy of %v: %w", o.id, err)
	}
	o.policy, o.player = bytes.Clone(o.policy), NewPlayer(policy, p.cfg.Deterministic)
	return nil
}

// freeze returns an opponent with the policy of a snapshot.
func (p *Pool) freeze(id ID, past bool, rating float64, snapshot *checkpoint.Snapshot) (*opponent, error) {
	policy, err := infer.FromSnapshot(snapshot)
	if err != nil {
		return nil, fmt.Errorf("selfplay: %v: %w", id, err)
	}
	var b bytes.Buffer
	if err := checkpoint.EncodeSafetensors(&b, policy.Snapshot()); err != nil {
		return nil, fmt.Errorf("selfplay: %v: %w", id, err)
	}
	o := &opponent{id: id, past: past, rating: rating, policy: b.Bytes()}
	return o, p.load(o)
}

// readHeader reads the first line of a saved pool and returns what follows.
func readHeader(state []byte) (saved savedPool, rest []byte, err error) {
	line, rest, ok := bytes.Cut(state, []byte("\n"))
	if !ok {
		return saved, nil, errors.New("selfplay: the state is not that of a pool")
	}
	if err := json.Unmarshal(line, &saved); err != nil {
		return saved, nil, fmt.Errorf("selfplay: the saved pool: %w", err)
	}
	if saved.Format != poolFormat {
		return saved, nil, fmt.Errorf("selfplay: the saved pool has format %d; want %d", saved.Format, poolFormat)
	}
	for _, o := range saved.Opponents {
		for _, t := range []tally{o.All, o.Recent} {
			if t.Games < 0 || t.Wins < 0 || t.Draws < 0 || t.Wins+t.Draws > t.Games {
				return saved, nil, fmt.Errorf("selfplay: the saved pool has %+v against %v", t, o.ID)
			}
		}
	}
	return saved, rest, nil
}

// cut splits b after n bytes.
func cut(b []byte, n int) (head, tail []byte, err error) {
	if n < 0 || n > len(b) {
		return nil, nil, errors.New("selfplay: the saved pool ends too early")
	}
	return b[:n], b[n:], nil
}

// checksum returns the SHA-256 of a policy in hexadecimal digits, or "" for an empty policy.
func checksum(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// pfsp returns the weight of an opponent against which the learner wins a share x of the games.
func pfsp(x, power float64) float64 { return math.Pow(1-x, power) }
