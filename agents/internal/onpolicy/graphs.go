package onpolicy

import (
	"cmp"
	"slices"

	"github.com/gorl-dev/gorl/internal/devicename"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// An agent records a minibatch once per update and replays it. On the CPU minibatches of small networks are always
// replayed: a replay spares libtorch's tensors and autograd, and changes no bit. On CUDA the setting cuda_graphs turns
// replays on, and a replay is one launch instead of one for every kernel.
//
// On the CPU the first minibatch of each update is recorded. On a device the first is made as usual, and the second is
// recorded. The others of the same size are replays. Before a replay the numbers of the minibatch's rows are copied to
// where the graph reads them, and what an optimizer step depends on is put on the device (tensor.Optimizer.Advance).
// Whatever else changes from update to update (the length of a replay buffer, settings that a population changes) is
// the same within one.
//
// If something cannot be recorded, the agent goes on without replays.

// graphs are an agent's graphs, one for each size of its minibatches. An update has at most two sizes. graphs live as
// long as the agent, with the memory of their minibatches. What they have recorded lives as long as an update.
type graphs struct {
	list  []*recorded
	scope *tensor.Scope // owns their row numbers
	off   bool          // on the CPU: minibatches turned out not to be recordable
}

// recorded is the graph of the minibatches of one size.
type recorded struct {
	graph    *tensor.Graph
	size     int64         // of the minibatches, 0 if no minibatch of this update has taken the graph
	order    tensor.Tensor // (size) int64, the minibatch's rows of the rollout, with memory its sequences
	rows     *tensor.Scope // owns the minibatch, and learning what is computed of it
	learning *tensor.Scope
	moved    tensor.Tensor // divergence of the recorded minibatch, zero before
	warm     bool          // on a device: whether one has been made as usual
}

// newGraphs makes the agent's graphs. On a device they need the setting cuda_graphs. There are none if no minibatch
// can be recorded: a float16 step asks whether gradients are finite, several ranks add gradients up, and skrl's scalers
// learn from each minibatch. On a device there are none for networks with memory. On the CPU there are none for a
// network type of the user, whose Go code a replay would skip.
func (c *Learner) newGraphs() error {
	on := c.Config.CUDAGraphs || devicename.Graphs
	if c.Device.IsCPU() {
		on = !devicename.Eager && !slices.ContainsFunc(c.networks,
			func(n NamedNetwork) bool { return !models.Own(n.Network) })
	}
	if !on || len(c.hiddens) > 0 && !c.Device.IsCPU() || c.gradients != nil || c.Group.Several() || c.Config.Skrl() {
		return nil
	}
	c.graphs = &graphs{scope: tensor.NoGrad().On(c.Device)}
	if _, err := c.graphs.add(c); err != nil {
		return c.errorf("\"cuda_graphs\" is true: %w; set it to false", err)
	}
	return nil
}

// usable reports whether minibatches are replayed in this update. They are not if kl_threshold reads the divergence
// before each step, if NoReplays is set, if a minibatch could not be recorded, or if networks have memory and some rows
// show no transition: the number of rows to learn from then differs between minibatches.
func (g *graphs) usable(c *Learner) bool {
	return g != nil && !g.off && c.Config.KLThreshold <= 0 && !c.NoReplays &&
		(len(c.hiddens) == 0 || !slices.Contains(c.recordedInvalid(), true))
}

// graphFor returns the graph of the minibatches of a size in this update.
func (g *graphs) graphFor(c *Learner, size int64) (r *recorded, err error) {
	for _, x := range g.list {
		if x.size == size {
			return x, nil
		}
		if x.size == 0 && r == nil {
			r = x
		}
	}
	if r == nil {
		if r, err = g.add(c); err != nil {
			return nil, err
		}
	}
	r.size, r.order = size, g.scope.Full(tensor.Int64, 0, size)
	return r, g.scope.Err()
}

// add adds a graph.
func (g *graphs) add(c *Learner) (*recorded, error) {
	graph, err := tensor.NewGraph(c.Device, c.Gen)
	if err != nil {
		return nil, err
	}
	r := &recorded{graph: graph, rows: tensor.NoGrad().On(c.Device),
		learning: tensor.NewScope().On(c.Device).Layers(c.Precision)}
	g.list = append(g.list, r)
	return r, nil
}

// drop ends an update: it drops what has been recorded and releases the tensors of the minibatches.
func (g *graphs) drop() (err error) {
	if g == nil {
		return nil
	}
	for _, r := range g.list {
		r.rows.Reset()
		r.learning.Reset()
		err = cmp.Or(err, r.graph.Drop())
		r.size, r.order, r.moved, r.warm = 0, tensor.Tensor{}, tensor.Tensor{}, false
	}
	g.scope.Reset()
	return err
}

// close releases the graphs. It may be called twice, and on nil.
func (g *graphs) close() {
	if g == nil {
		return
	}
	for _, r := range g.list {
		r.rows.Close()
		r.learning.Close()
		r.graph.Close()
	}
	g.scope.Close()
}
