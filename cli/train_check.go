package cli

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

// checkFlags are the flags of gorl train --check.
type checkFlags struct {
	mode                       string // "", checkSettings or checkEnv
	observation, action, state string
	given                      runfile.Sections // what buildable has changed
}

// Values of --check.
const (
	checkSettings = "settings"
	checkEnv      = "env"
)

func (f *checkFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.mode, "check", "", "check the configuration, print it with all defaults, and do not train; "+
		"=env also starts an environment of Python (`what`: settings or env)")
	flags.Lookup("check").NoOptDefVal = checkSettings
	flags.StringVar(&f.observation, "observation-space", "", "for --check, the `space` that the policy sees: 48, "+
		"Box(64, 64, 3), Discrete(5), MultiDiscrete(3, 2), Dict(joints=12, camera=Box(64, 64, 3))")
	flags.StringVar(&f.action, "action-space", "", "for --check, the `space` of actions, in the same form")
	flags.StringVar(&f.state, "state-space", "", "for --check, the `space` of privileged states, in the same form")
}

// checkMode reads the flags of --check.
func (f *trainFlags) checkMode() error {
	x := &f.checks
	f.check = f.check || x.mode != "" // gorl sweep has a flag of its own
	switch {
	case f.check && !slices.Contains([]string{"", checkSettings, checkEnv}, x.mode):
		return commandline.Usagef("--check is %q; want settings or env", x.mode)
	case x.observation+x.action+x.state != "" && x.mode != checkSettings:
		return commandline.Usagef("--observation-space, --action-space and --state-space are for --check, which does " +
			"not start the environment")
	case (x.observation == "") != (x.action == "") || x.state != "" && x.action == "":
		return commandline.Usagef("give --observation-space and --action-space together: networks depend on both")
	}
	_, err := x.spaces()
	return err
}

// values are the sections that are not mappings.
var values = []string{"seed", "preset", "strict"}

// check refuses sections that nothing reads, and reports missing sections.
func check(c runfile.Sections) error {
	readers := runfile.Environments | runfile.Trainers
	switch c.Kind() {
	case runfile.Single:
		readers |= runfile.Ranks
	case runfile.Population:
		readers |= runfile.Populations | runfile.Launchers
		launcher, _ := c["launcher"].(map[string]any)
		if n, _ := launcher["ranks_per_member"].(int); n > 1 {
			readers |= runfile.Ranks
		}
	case runfile.Evolution:
		readers = runfile.Environments | runfile.Agents | runfile.Evolutions
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c)) {
		err := runfile.Sections{name: c[name]}.Check("", readers)
		if _, ok := c[name].(map[string]any); !ok && c[name] != nil && !slices.Contains(values, name) && err == nil {
			err = &config.Error{Path: name, Given: c[name], Reason: "want a section of keys"}
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	environment, _ := c["environment"].(map[string]any)
	switch {
	case environment["id"] == nil:
		return errors.New("environment.id is missing: give --env ID, Isaac Lab's --task TASK, or the section " +
			"environment: {id: CartPole, num_envs: 16}")
	case c["agent"] == nil:
		return errors.New("the section agent is missing; want for instance agent: {class: PPO}, and its settings")
	}
	return nil
}

// validate returns all errors of a configuration that are known without its environment.
func (f *trainFlags) validate(c runfile.Sections) error {
	_, err := catalog.Settings(c.Section("environment"))
	errs := []error{config.Under("catalog", "environment", err), checkSelfPlay(c)}
	own := runfile.Sections(maps.Clone(c))
	switch c.Kind() {
	case runfile.Population:
		if own["seed"] == nil && own.Section("pbt")["seed"] == nil {
			own["seed"] = 0
		}
		settings, err := preset.FromDict(own)
		errs = append(errs, err, checkTrainer(c, own.Member(0)))
		if member, _ := f.isaac.memberOf(); err == nil && settings.Options.Members == 1 && member < 0 &&
			!preset.UsesSelfPlay(c) {
			errs = append(errs, &config.Error{Path: "pbt.num_policies", Given: 1, Reason: "want at least 2: the " +
				"member of a population of one has no other to copy; to train one agent, leave out the section pbt"})
		}
		if own["launcher"] != nil {
			_, err := launchFile(own)
			errs = append(errs, err)
		}
	case runfile.Evolution:
		_, err := evolutionOf(own)
		errs = append(errs, err)
		// An evolution makes its networks itself.
		errs = append(errs, trainers.Check(map[string]any{"agent": c["agent"], "trainer": c["trainer"],
			"models": map[string]any{"mlp": []any{1}}}, spaces.Set{}))
	default:
		_, err := distributed.FromDict(c.Section("distributed"))
		errs = append(errs, err, checkTrainer(c, c.Of(runfile.Trainers)))
	}
	return errors.Join(errs...)
}

// checkTrainer is [trainers.Check] of the trainer's sections of a configuration. The environment is made only if there
// are errors: with its spaces, a policy's class for other actions is named instead of the keys that follow from it.
func checkTrainer(c runfile.Sections, sections map[string]any) error {
	err := trainers.Check(sections, spaces.Set{})
	if err != nil {
		err = trainers.Check(sections, known(c))
	}
	return err
}

// known returns the spaces of the environment of a configuration if the environment is of this process. The set is
// empty for other environments, and if the policy names no class, which is what the spaces are compared with.
func known(c runfile.Sections) spaces.Set {
	policy, _ := c.Section("models")["policy"].(map[string]any)
	if policy["class"] == nil || !inProcess(c) {
		return spaces.Set{}
	}
	env, err := makeEnvironment(c)
	if err != nil {
		return spaces.Set{}
	}
	defer env.Close()
	return env.Spaces()
}

// knownSection returns an error that names the section, if an assignment lacks it.
func knownSection(assignment string) error {
	key, _, _ := strings.Cut(assignment, "=")
	first, _, _ := strings.Cut(key, ".")
	if runfile.Has(first) || first == "params" {
		return nil
	}
	for section, settings := range map[string]any{"agent": amp.DefaultConfig(), "trainer": trainers.DefaultConfig(),
		"environment": catalog.Defaults()} {
		if slices.ContainsFunc(config.Keys(settings), func(x config.Field) bool { return x.Key == key }) {
			return commandline.Usagef("--set %s: there is no section %q; did you mean %s.%s?", assignment, first,
				section, key)
		}
	}
	return nil
}

// ofSpaces matches what of models can be built only for the spaces that the models were written for.
var ofSpaces = regexp.MustCompile(`conv2d|permute|flatten|in_features|in_channels|(OBSERVATIONS|STATES)\[|_SPACE`)

// replacesModels reports whether --check builds small perceptrons instead of the models, because the spaces are unknown
// and the models depend on them. [trainers.Check] has read the models in any case.
func (f *checkFlags) replacesModels(c runfile.Sections) bool {
	if !f.needsSpaces(c) || f.action != "" || c["models"] == nil {
		return false
	}
	for _, role := range c.Section("models") {
		model, _ := role.(map[string]any)
		if output := textOf(model["output"]); output != "" && !strings.Contains(output, "ACTIONS") && output != "ONE" {
			return true
		}
	}
	return ofSpaces.MatchString(fmt.Sprint(c["models"]))
}

// buildable returns the configuration that --check builds in this process: on the CPU, and, if the spaces are unknown,
// with small perceptrons instead of its models. asGiven undoes the changes.
func (f *checkFlags) buildable(c runfile.Sections) runfile.Sections {
	if f.mode != checkSettings {
		return c
	}
	own := runfile.Sections(maps.Clone(c))
	agent := maps.Clone(c.Section("agent"))
	for key, needsGPU := range onGPU {
		if needsGPU.MatchString(fmt.Sprint(agent[key])) {
			delete(agent, key)
		}
	}
	own["agent"] = agent
	if f.replacesModels(c) {
		own["models"] = map[string]any{"mlp": []any{8}}
	}
	f.given = c
	return own
}

// onGPU are settings of an agent that --check leaves out, so that it needs no GPU, with the values that it leaves out.
var onGPU = map[string]*regexp.Regexp{"device": regexp.MustCompile(`^(auto|cuda(:\w+)?)$`),
	"mixed_precision": regexp.MustCompile(`^true$`)}

// asGiven returns a complete configuration with the settings that buildable has replaced as the file has them.
func (f *checkFlags) asGiven(full runfile.Sections) runfile.Sections {
	c := f.given
	if c == nil {
		return full
	}
	agent := c.Section("agent")
	for key := range onGPU {
		if value, given := agent[key]; given {
			full.Section("agent")[key] = value
		}
	}
	if f.replacesModels(c) {
		full["models"] = c["models"]
	}
	return full
}

// checkFigure returns an error if no figure of the run has the name that a key gives, and prints a note if only the
// environment knows. An environment of this process is asked: it plays an episode with random actions.
func (f *trainFlags) checkFigure(c runfile.Sections, key, figure string) error {
	if f.checks.needsSpaces(c) && f.checks.action == "" {
		f.note("the environment was not started and its spaces are not known: whether networks fit them was not " +
			"checked; give --observation-space and --action-space, or --check=env to start it")
	}
	known := []string{"episode.return", "episode.length", "evaluation.return", "evaluation.length", "style_reward"}
	if c.Section("agent")["class"] != "AMP" {
		known = known[:4]
	}
	has := func() bool { return slices.Contains(known, figure) || slices.Contains(known, "episode."+figure) }
	if figure == "" || figure == "true_objective" || strings.Contains(figure, " / ") || has() {
		return nil
	}
	own, certain := ownFigures(c)
	for _, name := range own {
		known = append(known, "episode."+name, "evaluation."+name)
	}
	switch {
	case has() || slices.Contains(own, figure):
		return nil
	case certain || figure == "style_reward" || config.Slip(figure, known) || config.Slip("episode."+figure, known):
		return wrong(&config.Error{Path: key, Given: figure, Reason: "the run has no such figure: " +
			config.Among(figure, known)})
	}
	f.note(fmt.Sprintf("%s is %q, which only the environment can report; --check does not know whether it does",
		key, figure))
	return nil
}

// ownFigures returns the names of the figures that the environment itself reports. certain is false if there may be
// others: it runs in another process, or no episode has ended in episodeSteps.
func ownFigures(c runfile.Sections) (names []string, certain bool) {
	if !inProcess(c) {
		return nil, false
	}
	environment := maps.Clone(c.Section("environment"))
	environment["num_envs"] = 1
	env, err := catalog.New(environment)
	if err != nil {
		return nil, false
	}
	defer env.Close()
	step, err := env.Reset(0)
	rng, action := rand.New(rand.NewPCG(1, 2)), env.Spaces().Action
	row := action.Rows(1)
	for range episodeSteps {
		if err == nil {
			action.Sample(rng, row)
			step, err = env.Step(row)
		}
		if err != nil {
			return nil, false
		}
		names = slices.AppendSeq(names, maps.Keys(step.Metrics))
		for _, e := range step.Episodes {
			return slices.AppendSeq(names, maps.Keys(e.Metrics)), true
		}
	}
	return names, false
}

// episodeSteps is the length up to which ownFigures waits for the end of an episode.
const episodeSteps = 1000
