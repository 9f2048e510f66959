package models

import (
	"cmp"
	"fmt"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// GaussianConfig tunes a [Gaussian] or [MultivariateGaussian] distribution; names and defaults are skrl's
// GaussianMixin.
type GaussianConfig struct {
	// ClipActions limits the environment's actions to the bounded action space. The log-probability is that of the
	// unclipped action.
	ClipActions bool `yaml:"clip_actions"`
	// ClipMeanActions limits the mean to the bounded action space.
	ClipMeanActions bool `yaml:"clip_mean_actions"`
	// ClipLogStd keeps the log standard deviation between MinLogStd and MaxLogStd. Default true.
	ClipLogStd bool `yaml:"clip_log_std"`
	// MinLogStd and MaxLogStd are limits of the log standard deviation. Default −20 and 2.
	MinLogStd float64 `yaml:"min_log_std"`
	MaxLogStd float64 `yaml:"max_log_std"`
	// Reduction joins the log-probabilities of the action's dimensions: "sum" is the joint log-density. Agents
	// refuse "none".
	Reduction string `yaml:"reduction" config:"oneof=sum|mean|prod|none"`
	// InitialLogStd is the initial log standard deviation. Default 0.
	InitialLogStd float64 `yaml:"initial_log_std"`
	// FixedLogStd keeps it; otherwise it is a parameter per dimension, the same in every state.
	FixedLogStd bool `yaml:"fixed_log_std"`
	// StateDependentLogStd takes it from a second half of the network's outputs, whose layer must be linear: weights
	// start at 0, biases at InitialLogStd (rl_games: fixed_sigma: False).
	StateDependentLogStd bool `yaml:"state_dependent_log_std"`
	// ClipBeforeLogProb uses the log-probability of the clipped action, as skrl 2.0 does with ClipActions.
	ClipBeforeLogProb bool `yaml:"clip_before_log_prob"`
}

// DefaultGaussianConfig returns the defaults named in [GaussianConfig].
func DefaultGaussianConfig() GaussianConfig {
	return GaussianConfig{ClipLogStd: true, MinLogStd: -20, MaxLogStd: 2, Reduction: "sum"}
}

// Validate returns an error that names the setting that does not fit the action space.
func (c GaussianConfig) Validate(action spaces.Space) error {
	if err := config.Check(c, "models"); err != nil {
		return err
	}
	if action.Kind != spaces.Box {
		return fmt.Errorf("models: a Gaussian policy needs a Box action space, got %v", action)
	}
	if (c.ClipActions || c.ClipMeanActions) && !action.Bounded() {
		return fmt.Errorf("models: clip_actions and clip_mean_actions need limits in every dimension; the action "+
			"space %v has none somewhere", action)
	}
	if c.FixedLogStd && c.StateDependentLogStd {
		return fmt.Errorf("models: fixed_log_std and state_dependent_log_std are both true; choose one")
	}
	// the negation refuses NaN, too
	if !(c.MinLogStd <= c.MaxLogStd) {
		return fmt.Errorf("models: min_log_std %g exceeds max_log_std %g", c.MinLogStd, c.MaxLogStd)
	}
	return nil
}

// Gaussian is an independent normal distribution for each action dimension. The network's outputs are the means. The
// log standard deviation is one vector for all states (skrl: GaussianMixin), or further outputs of the network.
type Gaussian struct {
	// cfg has been validated; its Reduction is not empty.
	cfg GaussianConfig
	// width is A, the number of action dimensions.
	width int
	// logStd is (A), a leaf that requires a gradient unless it is fixed. It is a zero Tensor if the network computes
	// it.
	logStd tensor.Tensor
	// low and high (A) are the bounds for clipping. They are zero Tensors if the action space is unbounded. They follow
	// the device of the actions: a policy is built on the CPU and may be moved to a GPU afterwards.
	low, high tensor.Tensor
	// scope owns logStd, low and high.
	scope *tensor.Scope
	// joint sums the entropy over the dimensions, see NewMultivariateGaussian.
	joint bool
}

// NewGaussian returns the distribution for a Box action space. Its only parameter is named log_std_parameter, as in
// skrl. With StateDependentLogStd it has no parameter.
func NewGaussian(action spaces.Space, cfg GaussianConfig) (*Gaussian, error) {
	cfg.Reduction = cmp.Or(cfg.Reduction, "sum")
	if err := cfg.Validate(action); err != nil {
		return nil, err
	}
	s := tensor.NoGrad()
	g := &Gaussian{cfg: cfg, width: action.Width(), scope: s}
	if !cfg.StateDependentLogStd {
		g.logStd = s.Full(tensor.Float32, cfg.InitialLogStd, int64(g.width))
		if !cfg.FixedLogStd {
			s.RequireGrad(g.logStd)
		}
	}
	if action.Bounded() {
		g.low, g.high = tensor.From(s, action.Low), tensor.From(s, action.High)
	}
	return g, s.Err()
}

// NewMultivariateGaussian returns the distribution with a diagonal covariance as one joint density: one log-probability
// and one entropy for each row, whatever the reduction. The standard deviation is e^log_std. (skrl 2.0's
// MultivariateGaussianMixin passes σ² where σ belongs.)
func NewMultivariateGaussian(action spaces.Space, cfg GaussianConfig) (*Gaussian, error) {
	cfg.Reduction = "sum"
	g, err := NewGaussian(action, cfg)
	if err != nil {
		return nil, err
	}
	g.joint = true
	return g, nil
}

// Outputs implements [Distribution].
func (g *Gaussian) Outputs() int {
	if g.cfg.StateDependentLogStd {
		return 2 * g.width
	}
	return g.width
}

// ActionWidth implements [Distribution].
func (g *Gaussian) ActionWidth() int { return g.width }

// Config returns the settings.
func (g *Gaussian) Config() GaussianConfig { return g.cfg }

// LogStd returns the log standard deviation (A) before clipping. It is a zero Tensor if it depends on the state.
func (g *Gaussian) LogStd() tensor.Tensor { return g.logStd }

// Parameters implements [Distribution]. A fixed log standard deviation is listed too, so that checkpoints hold it, but
// it has no gradient.
func (g *Gaussian) Parameters() []tensor.Parameter {
	if g.cfg.StateDependentLogStd {
		return nil
	}
	return []tensor.Parameter{{Name: "log_std_parameter", Tensor: g.logStd, Fixed: g.cfg.FixedLogStd}}
}

// begin initialises the log standard deviation if it depends on the state. The second half of the rows of net's output
// layer gets weights of 0 and biases of InitialLogStd, so that every state starts with the same deviation. net is the
// network before the distribution or the policy's head. Its last two parameters must be the weight (2A, n) and the bias
// (2A) of the output layer.
func begin(dist Distribution, net Network) error {
	g, ok := dist.(*Gaussian)
	if !ok || !g.cfg.StateDependentLogStd {
		return nil
	}
	params, w := net.Parameters(), int64(g.width)
	if n := len(params); n >= 2 {
		weight, bias := params[n-2].Tensor, params[n-1].Tensor
		if a, b := tensor.Shape(weight), tensor.Shape(bias); len(a) == 2 && a[0] == 2*w && len(b) == 1 && b[0] == 2*w {
			s := tensor.NoGrad()
			defer s.Close()
			s.Fill(s.Narrow(weight, 0, w, w), 0)
			s.Fill(s.Narrow(bias, 0, w, w), g.cfg.InitialLogStd)
			return s.Err()
		}
	}
	return fmt.Errorf("models: with state_dependent_log_std the last parameters of the policy's network must be the "+
		"weight (%d, n) and the bias of its output layer", 2*w)
}

// moments returns the mean (n, A) and the log standard deviation, (A) or (n, A). Both are clipped as cfg says.
func (g *Gaussian) moments(s *tensor.Scope, out tensor.Tensor) (mean, logStd tensor.Tensor) {
	mean, logStd = g.means(s, out), g.logStd
	if w := int64(g.width); g.cfg.StateDependentLogStd {
		logStd = s.Narrow(out, -1, w, w)
	}
	if g.cfg.ClipMeanActions {
		mean = g.limit(s, mean)
	}
	if g.cfg.ClipLogStd {
		logStd = s.Clamp(logStd, g.cfg.MinLogStd, g.cfg.MaxLogStd)
	}
	return mean, logStd
}

// means returns the columns of the outputs that are the means: all of them, or the first A of 2A.
func (g *Gaussian) means(s *tensor.Scope, out tensor.Tensor) tensor.Tensor {
	if g.cfg.StateDependentLogStd {
		return s.Narrow(out, -1, 0, int64(g.width))
	}
	return out
}

// limit clips x (n, A) to the action space. It first moves the bounds to x's device if they are on another one.
func (g *Gaussian) limit(s *tensor.Scope, x tensor.Tensor) tensor.Tensor {
	if s.Err() != nil {
		return tensor.Tensor{}
	}
	if d := tensor.DeviceOf(x); d != tensor.DeviceOf(g.low) {
		g.low, g.high = g.scope.To(g.low, tensor.Float32, d), g.scope.To(g.high, tensor.Float32, d)
	}
	return s.Min(s.Max(x, g.low), g.high)
}

// Sample implements [Distribution].
func (g *Gaussian) Sample(s *tensor.Scope, out tensor.Tensor, gen *tensor.Generator) Action {
	if s.Err() != nil {
		return Action{}
	}
	mean, logStd := g.moments(s, out)
	noise := s.Randn(gen, tensor.Shape(mean)...)
	a := Action{Mean: mean, StdDev: s.Exp(logStd)}
	a.Actions = s.Add(mean, s.Mul(a.StdDev, noise))
	a.Executed = a.Actions
	if g.cfg.ClipActions {
		a.Executed = g.limit(s, a.Actions)
		// skrl 2.0 takes the log-probability of the clipped action. gorl's default takes that of the action that was
		// drawn: the normal density at a limit is not the probability of being clipped to the limit.
		if g.cfg.ClipBeforeLogProb {
			a.Actions = a.Executed
		}
	}
	a.LogProb = g.logProb(s, a.Actions, mean, logStd)
	return a
}

// Mode implements [Distribution]: the mean, limited to the action space if actions or means are clipped.
func (g *Gaussian) Mode(s *tensor.Scope, out tensor.Tensor) tensor.Tensor {
	mean := g.means(s, out)
	if g.cfg.ClipActions || g.cfg.ClipMeanActions {
		return g.limit(s, mean)
	}
	return mean
}

// Evaluate implements [Distribution].
func (g *Gaussian) Evaluate(s *tensor.Scope, out, actions tensor.Tensor) Evaluation {
	if s.Err() != nil {
		return Evaluation{}
	}
	mean, logStd := g.moments(s, out)
	// ½ ln(2πe). The entropy of a normal distribution is ½ ln(2πe) + ln σ, in nats.
	const halfLog2PiE = 1.4189385332046727
	e := Evaluation{
		LogProb: g.logProb(s, actions, mean, logStd),
		Mean:    mean,
		StdDev:  s.Exp(s.Detach(logStd)),
	}
	e.Entropy = s.AddScalar(logStd, halfLog2PiE)
	// The entropy is the same for all rows, so one row (1, A) stands for all.
	if !g.cfg.StateDependentLogStd {
		e.Entropy = s.Unsqueeze(e.Entropy, 0)
	}
	if g.joint {
		e.Entropy = s.SumKeep(e.Entropy, -1)
	}
	return e
}

// logProb returns the log-density (n, 1) of actions (n, A), joined over the dimensions as Reduction says. Reduction
// "none" returns (n, A).
func (g *Gaussian) logProb(s *tensor.Scope, actions, mean, logStd tensor.Tensor) tensor.Tensor {
	// The usual case is one fused native operation.
	if g.cfg.Reduction == "sum" {
		return s.GaussianLogProbSum(actions, mean, logStd)
	}
	logProb := s.GaussianLogProb(actions, mean, logStd)
	switch g.cfg.Reduction {
	case "mean":
		return s.MeanKeep(logProb, -1)
	case "prod":
		p := s.Narrow(logProb, -1, 0, 1)
		for i := 1; i < g.width; i++ {
			p = s.Mul(p, s.Narrow(logProb, -1, int64(i), 1))
		}
		return p
	}
	return logProb
}

// Close implements [Distribution].
func (g *Gaussian) Close() { g.scope.Close() }
