package onpolicy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/tensor"
)

// Several ranks train one agent: each acts in environments of its own and computes the gradients of its own
// minibatches, and all make the same optimizer step by the mean over the rows of all of them. Whatever decides
// something travels with the gradients, in one sum a minibatch: the divergence, by which a schedule or kl_threshold
// acts; the losses; the count of rows; and a flag for each rank whose losses are not finite. So all ranks decide
// alike, and none waits for another that has left the loop. Scalers and the statistics of advantages are those of all
// ranks' rows.
//
// skrl's modes compute as skrl does: the mean of the ranks' means, and scalers, advantages and tracked losses of each
// rank's own.

// shared is the most figures that travel with the gradients.
const shared = 24

// ranks is this rank's part of all that train the agent.
type ranks struct {
	// Group is nil if one process trains the agent.
	Group *distributed.Group

	apart bool          // skrl's modes: statistics are of each rank's own rows
	flags tensor.Tensor // (ranks), how often the losses of each were not finite in this update
}

// Ranks returns this rank's part of all that train the agent, nil if there is one.
func (c *ranks) Ranks() *distributed.Group { return c.Group }

// sharedSize returns the number of elements behind the gradients that ranks exchange: rows, figures, and a flag for
// each rank.
func (c *ranks) sharedSize() int64 {
	if !c.Group.Several() {
		return 0
	}
	return int64(1 + shared + c.Group.Size())
}

// pooled reports whether statistics are of all ranks' rows.
func (c *ranks) pooled() bool { return c.Group.Several() && !c.apart }

// ownDevice returns the device of a rank on a machine with the given number of GPUs. If the setting names no index,
// each rank gets its own GPU as long as there are any. Slurm may show each task only its own GPU, which is then the
// first one.
func ownDevice(g *distributed.Group, device string, gpus int) string {
	if !g.Several() || device != "cuda" && (device != "auto" || gpus == 0) {
		return device
	}
	return fmt.Sprintf("cuda:%d", g.Place().LocalRank%max(gpus, 1))
}

// checkRanks refuses settings that several ranks cannot have.
func (c *Core) checkRanks() error {
	if c.Group.Several() && c.Config.Overlap {
		return c.errorf("\"overlap\" is true, and %d ranks train the agent; set it to false", c.Group.Size())
	}
	return nil
}

// shareParameters gives all ranks the parameters of rank 0. It returns an error if the ranks' settings, spaces, or
// names and shapes of parameters differ. The settings device and cuda_graphs may differ, because they belong to a
// machine; so may seeds. The initial values of parameters may differ, because those of rank 0 replace them.
func (c *Core) shareParameters(settings any) error {
	if !c.Group.Several() {
		return nil
	}
	dict, shapes := config.Dict(settings), map[string]any{}
	delete(dict, "device")
	delete(dict, "cuda_graphs")
	for _, n := range c.networks {
		for _, p := range n.Parameters() {
			shapes[layout.Parameter(n.Name, p.Name)] = tensor.Shape(p.Tensor)
		}
	}
	if err := c.Group.RequireEqual(map[string]any{"agent": dict, "agent.class": c.name, "parameters": shapes,
		"observation space": c.spaces.Observation, "state space": c.spaces.State, "action space": c.spaces.Action,
		"AMP observation space": c.spaces.AMPObservation}); err != nil {
		return err
	}
	c.Group.Broadcast(c.resident, c.Flat.Values, 0)
	c.flags = c.resident.Zeros(int64(c.Group.Size()))
	return c.resident.Err()
}

// Average replaces the gradients of a minibatch, its divergences and its figures by their means over the rows of all
// ranks. Figures without a value, which are computed later, stay as they are. skrl's modes count ranks instead of
// rows, and each rank keeps its own figures but the divergences.
func (c *Learner) Average(s *tensor.Scope, b Batch, kl, moved *tensor.Tensor, figures []Figure) {
	if !c.Group.Several() || s.Err() != nil {
		return
	}
	rows, all := b.Rows, []*tensor.Tensor{kl, moved}
	if c.apart {
		rows = 1
	}
	for _, f := range figures {
		if f.Value != moved && f.Value.T != nil {
			all = append(all, f.Value)
		}
	}
	values := make([]tensor.Tensor, len(all))
	for i, x := range all {
		values[i] = s.Detach(*x)
	}
	c.Flat.Pack(s, rows, c.Group.Rank(), values...)
	c.Group.Sum(s, c.Flat.Shared)
	means, flags := c.Flat.Unpack(s, len(all))
	if s.Err() != nil {
		return
	}
	// Only the first flags count: through the gradients, NaN gets to all ranks.
	none := s.As(s.EqScalar(s.Sum(c.flags), 0), tensor.Float32)
	s.AddTo(c.flags, s.Mul(s.Narrow(flags, 0, 0, int64(c.Group.Size())), none), 1)
	if c.apart {
		all = all[:2]
	}
	for i, x := range all {
		*x = means[i]
	}
}

// checkFlags returns an error that names the ranks whose flag was raised in this update.
func (c *Learner) checkFlags(flags []float64) error {
	var ranks []string
	for r, raised := range flags {
		if raised > 0 {
			ranks = append(ranks, strconv.Itoa(r))
		}
	}
	if len(ranks) == 0 {
		return nil
	}
	return &agents.DivergedError{Agent: c.name, Detail: fmt.Sprintf("the losses of rank %s are not finite",
		strings.Join(ranks, ", "))}
}

// Mean returns the mean of the numbers in x of all ranks, a scalar.
func (c *ranks) Mean(s *tensor.Scope, x tensor.Tensor) tensor.Tensor {
	if !c.pooled() || s.Err() != nil {
		return s.Mean(x)
	}
	sums := s.Stack(0, s.Scalar(float64(tensor.Numel(x))), s.Sum(x))
	c.Group.Sum(s, sums)
	return s.Div(s.Select(sums, 0, 1), s.Select(sums, 0, 0))
}

// deviation returns the mean and the unbiased standard deviation of the numbers in x of all ranks, (1) float32 each.
func (c *ranks) deviation(s *tensor.Scope, x tensor.Tensor) (mean, std tensor.Tensor) {
	if s.Err() != nil {
		return tensor.Tensor{}, tensor.Tensor{}
	}
	n := tensor.Numel(x)
	all := s.As(s.Reshape(x, n), tensor.Float64)
	sums := s.Stack(0, s.Full(tensor.Float64, float64(n)), s.Sum(all), s.Sum(s.Square(all)))
	c.Group.Sum(s, sums)
	count, sum, square := s.Narrow(sums, 0, 0, 1), s.Narrow(sums, 0, 1, 1), s.Narrow(sums, 0, 2, 1)
	m := s.Div(sum, count)
	v := s.Div(s.Sub(square, s.Mul(m, sum)), s.AddScalar(count, -1))
	return s.As(m, tensor.Float32), s.As(s.Sqrt(v), tensor.Float32)
}

// normalise returns (A − mean(A)) / (std(A) + 1e-8) for advantages a, with the mean and the unbiased standard
// deviation of the rows of. It returns a itself if advantage_normalization is not over, "rollout" or "minibatch", and
// if there is one row, which has no deviation.
func (c *Core) normalise(s *tensor.Scope, a, of tensor.Tensor, over string) tensor.Tensor {
	if c.Config.AdvantageNormalization != over || s.Err() != nil {
		return a
	}
	if c.pooled() {
		mean, std := c.deviation(s, of)
		return s.Div(s.Sub(a, mean), s.AddScalar(std, 1e-8))
	}
	if tensor.Numel(of) == 1 {
		return a
	}
	return s.Div(s.Sub(a, s.Mean(of)), s.AddScalar(s.Std(of), 1e-8))
}
