package onpolicy

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/recipes"
	"github.com/gorl-dev/gorl/spaces"
)

// Validate returns which of the settings that PPO and AMP share makes no sense. networks is how many networks the agent
// trains.
func Validate(c *agents.OnPolicy, prefix string, networks int) error {
	switch rates, clips, l := len(c.LearningRate), len(c.GradNormClip), c.SequenceLength; {
	case rates != 1 && rates != networks:
		return fmt.Errorf("%s: \"learning_rate\" has %d values: want 1, or %d (one a network)", prefix, rates,
			networks)
	case clips != 1 && clips != networks:
		return fmt.Errorf("%s: \"grad_norm_clip\" has %d values: want 1, or %d (one a network)", prefix, clips,
			networks)
	case l > 0 && c.Rollouts%l != 0:
		return fmt.Errorf("%s: \"sequence_length\" is %d, which does not divide \"rollouts\" (%d): "+
			"a rollout is made of whole sequences", prefix, l, c.Rollouts)
	case c.SGDMomentum > 0 && c.Optimizer != "sgd":
		return fmt.Errorf("%s: \"sgd_momentum\" is %g, but \"optimizer\" is %q, which has no such momentum: set "+
			"\"optimizer\" to \"sgd\"", prefix, c.SGDMomentum, c.Optimizer)
	case c.Skrl() && (c.BoundsLossScale > 0 || c.MiniBatchOrder != "random"):
		return fmt.Errorf("%s: \"compatibility\" is %q, which has neither \"bounds_loss_scale\" nor "+
			"\"mini_batch_order\"", prefix, c.Compatibility)
	case c.Skrl() && c.Overlap:
		return fmt.Errorf("%s: \"overlap\" is true, but \"compatibility\" is %q, which learns and acts in turns",
			prefix, c.Compatibility)
	case c.Experiment.StoreSeparately:
		return fmt.Errorf("%s: \"experiment.store_separately\" is true: gorl stores one checkpoint a time, whose "+
			"arrays are named by module; set it to false", prefix)
	case c.RewardsShaperScale == 0:
		return fmt.Errorf("%s: \"rewards_shaper_scale\" is 0: every reward would vanish; leave it out, or use 1",
			prefix)
	}
	return cmp.Or(
		CheckKwargs(prefix, "learning_rate_scheduler", c.LearningRateScheduler, c.LearningRateSchedulerKwargs),
		CheckKwargs(prefix, "observation_preprocessor", c.ObservationPreprocessor, c.ObservationPreprocessorKwargs),
		CheckKwargs(prefix, "state_preprocessor", c.StatePreprocessor, c.StatePreprocessorKwargs),
		CheckKwargs(prefix, "value_preprocessor", c.ValuePreprocessor, c.ValuePreprocessorKwargs))
}

// Clone returns a copy that shares no slice with c.
func Clone(c *agents.OnPolicy) agents.OnPolicy {
	out := *c
	out.LearningRate = slices.Clone(c.LearningRate)
	out.GradNormClip = slices.Clone(c.GradNormClip)
	return out
}

// Merge merges a dictionary of settings over the settings c, of which shared is a part, and validates c. With
// "compatibility" it begins with the defaults of that release of skrl.
func Merge(dict map[string]any, sp spaces.Set, c any, shared *agents.OnPolicy, o config.Options,
	validate func() error) error {
	if v := dict["compatibility"]; v == agents.SKRL2 || v == agents.SKRL21 {
		shared.TimeLimitBootstrap = false
	}
	own, err := rename(o.Prefix, dict, sp)
	if err != nil {
		return err
	}
	o.Hints = recipes.Hints()
	if err := config.Merge(c, own, o); err != nil {
		return err
	}
	return validate()
}

// OlderNames are the keys that rename rewrites.
var OlderNames = []string{"lambda", "clip_predicted_values", "shared_state_preprocessor",
	"shared_state_preprocessor_kwargs"}

// rename rewrites a dictionary of skrl 1.4's or 2.0's keys into gorl's, in a copy: "lambda", "clip_predicted_values",
// "shared_state_preprocessor", and "state_preprocessor" if it means observations, which it does in 1.4 and wherever
// the environment has no privileged states.
func rename(prefix string, dict map[string]any, sp spaces.Set) (map[string]any, error) {
	out := make(map[string]any, len(dict))
	maps.Copy(out, dict)
	if v, ok := out["clip_predicted_values"]; ok {
		var clip struct {
			On bool `yaml:"clip_predicted_values"`
		}
		given := map[string]any{"clip_predicted_values": v} // Merge knows the words of YAML 1.1, such as no, and null
		if err := config.Merge(&clip, given, config.Options{Prefix: prefix}); err != nil {
			return nil, err
		}
		if !clip.On {
			out["value_clip"] = 0.0
		}
		delete(out, "clip_predicted_values")
	}
	renames := [][2]string{{"lambda", "gae_lambda"}}
	_, has := out["observation_preprocessor"]
	if _, old := out["shared_state_preprocessor"]; !has && (old || sp.State.Kind == spaces.None) {
		renames = append(renames, [2]string{"state_preprocessor", "observation_preprocessor"},
			[2]string{"state_preprocessor_kwargs", "observation_preprocessor_kwargs"})
	}
	renames = append(renames, [2]string{"shared_state_preprocessor", "state_preprocessor"},
		[2]string{"shared_state_preprocessor_kwargs", "state_preprocessor_kwargs"})
	// In this order: what was called state_preprocessor has moved away when another key takes the name.
	for _, names := range renames {
		from, to := names[0], names[1]
		v, ok := out[from]
		if !ok {
			continue
		}
		if w, both := out[to]; both && fmt.Sprint(v) != fmt.Sprint(w) {
			return nil, fmt.Errorf("%s: %q (%v) is an older name of %q (%v); give one of them", prefix, from, v, to, w)
		}
		out[to] = v
		delete(out, from)
	}
	return out, nil
}

// CheckSpaces returns an error unless the spaces are valid and of an environment with one agent.
func CheckSpaces(prefix string, sp spaces.Set) error {
	if err := sp.RefuseSeats(prefix + ": " + strings.ToUpper(prefix)); err != nil {
		return fmt.Errorf("%w; use IPPO or MAPPO, package agents/ippo", err)
	}
	return sp.Validate()
}

// CheckKwargs refuses kwargs if value, the setting that they belong to, is empty, because nothing would read them.
func CheckKwargs(prefix, key, value string, kwargs map[string]any) error {
	if value != "" || len(kwargs) == 0 {
		return nil
	}
	return fmt.Errorf("%s: \"%s_kwargs\" is %v, but \"%s\" is not set, so that nothing reads them; set \"%s\", or "+
		"leave out the kwargs", prefix, key, kwargs, key, key)
}

// MergeScaler merges a preprocessor's kwargs over cfg, a pointer to the settings of its kind. "size" and "device",
// which skrl needs, may be left out: MergeScaler checks size and ignores device. It writes the settings with all
// defaults into kwargs.
func MergeScaler[T any](prefix string, kwargs *map[string]any, size int, cfg *T) error {
	own := map[string]any{}
	for k, v := range *kwargs {
		switch k {
		case "device":
		case "size":
			if n, ok := config.Whole(v); ok && n != size {
				return fmt.Errorf("%s.size is %d, but the rows have %d values", prefix, n, size)
			}
		default:
			own[k] = v
		}
	}
	err := config.Merge(cfg, own, config.Options{Prefix: prefix})
	if err == nil {
		err = config.Check(*cfg, prefix)
	}
	if err == nil {
		*kwargs = config.Dict(*cfg)
	}
	return err
}

// miniBatches returns how many minibatches a pass over a rollout of numEnvs environments has.
func miniBatches(c *agents.OnPolicy, numEnvs int) int {
	if c.MiniBatchSize > 0 {
		return c.Rollouts * numEnvs / c.MiniBatchSize
	}
	return c.MiniBatches
}

// checkMiniBatches refuses minibatches that do not divide a rollout of numEnvs environments.
func checkMiniBatches(c *agents.OnPolicy, numEnvs int) error {
	rows := math.MaxInt // environment steps of a rollout; so many do not fit into memory
	if c.Rollouts <= math.MaxInt/numEnvs {
		rows = c.Rollouts * numEnvs
	}
	if rows < 2 && c.AdvantageNormalization == "rollout" {
		return fmt.Errorf("a rollout of 1 step of 1 environment has no deviation to normalise advantages by; " +
			"raise \"rollouts\" or the number of environments, or set \"advantage_normalization\" to \"none\"")
	}
	if m := c.MiniBatchSize; m > 0 && rows < math.MaxInt && rows%m != 0 {
		return fmt.Errorf("\"mini_batch_size\" is %d, which does not divide the %d rows of a rollout "+
			"(\"rollouts\" %d × %d environments)", m, rows, c.Rollouts, numEnvs)
	}
	if c.MiniBatchSize == 0 && c.MiniBatches > rows {
		return fmt.Errorf("\"mini_batches\" is %d, but a rollout has only %d rows (\"rollouts\" %d × %d "+
			"environments), and no minibatch may be empty", c.MiniBatches, rows, c.Rollouts, numEnvs)
	}
	return nil
}

// checkSequences refuses minibatches that cannot be made of whole sequences of n environments.
func (c *Core) checkSequences(n int) error {
	if len(c.hiddens) == 0 {
		return nil
	}
	l, parts := c.length, miniBatches(c.Config, n)
	count := c.Config.Rollouts / l * n
	if m := c.Config.MiniBatchSize; m%l != 0 {
		return fmt.Errorf("\"mini_batch_size\" is %d, which is no multiple of the %d timesteps of a sequence "+
			"(\"sequence_length\"): with networks that have memory minibatches are made of whole sequences", m, l)
	}
	if parts > count {
		return fmt.Errorf("\"mini_batches\" is %d, but a rollout has only %d sequences "+
			"(%d of %d timesteps, \"sequence_length\", in each of %d environments), and no minibatch may be empty",
			parts, count, c.Config.Rollouts/l, l, n)
	}
	if c.Config.Skrl() && l > 1 && count%parts != 0 {
		return fmt.Errorf("\"mini_batches\" is %d, which does not divide the %d sequences of a rollout "+
			"(\"sequence_length\" %d, %d environments), as compatibility %q asks", parts, count, l, n,
			c.Config.Compatibility)
	}
	return nil
}
