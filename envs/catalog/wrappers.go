package catalog

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/config"
)

// wrapper is an element of the list "wrappers" that has been read.
type wrapper struct {
	name string
	// settings is the struct with its settings.
	settings any
	// wrap puts the wrapper around an environment.
	wrap func(env envs.Env) (envs.Env, error)
}

// kind is a kind of wrapper that a file can name.
type kind struct {
	name string
	// needs is the setting that has no default and must be given; "" if there is none.
	needs string
	// read reads a dictionary over the defaults. prefix begins its errors.
	read func(prefix string, dict map[string]any) (wrapper, error)
}

// The defaults are Gymnasium's and Stable-Baselines3's, which agree but for the variants.
var (
	clipDefaults        = clip{Low: -10, High: 10}
	observationDefaults = wrappers.NormalizeObservationOptions{Epsilon: 1e-8, Variant: wrappers.Gymnasium}
	rewardDefaults      = wrappers.NormalizeRewardOptions{Epsilon: 1e-8, Variant: wrappers.SB3}
)

// kinds are all kinds of wrappers, sorted by name.
var kinds = []kind{
	of("clip_action", "", actionLimits{}, func(env envs.Env, s actionLimits) (envs.Env, error) {
		if s.Low == nil && s.High == nil {
			return made(wrappers.NewClipAction(env))
		}
		low, high := math.Inf(-1), math.Inf(1)
		return made(wrappers.NewClipActionTo(env, *cmp.Or(s.Low, &low), *cmp.Or(s.High, &high)))
	}),
	of("clip_observation", "", clipDefaults, func(env envs.Env, s clip) (envs.Env, error) {
		return made(wrappers.NewClipObservation(env, s.Low, s.High))
	}),
	of("clip_reward", "", clipDefaults, func(env envs.Env, s clip) (envs.Env, error) {
		return made(wrappers.NewClipReward(env, s.Low, s.High))
	}),
	of("episode_statistics", "", none{}, func(env envs.Env, _ none) (envs.Env, error) {
		return made(wrappers.NewEpisodeStatistics(env))
	}),
	of("normalize_observation", "", observationDefaults, wrappers.NewNormalizeObservation),
	of("normalize_reward", "discount", rewardDefaults, wrappers.NewNormalizeReward),
	of("rescale_action", "", none{}, func(env envs.Env, _ none) (envs.Env, error) {
		return made(wrappers.NewRescaleAction(env))
	}),
	of("reward_scale", "scale", rewardScale{}, func(env envs.Env, s rewardScale) (envs.Env, error) {
		return made(wrappers.NewRewardScale(env, s.Scale))
	}),
}

// RegisterWrapper adds a wrapper under a name. defaults is a struct with the default settings, with the tags of
// [Register]; wrap puts the wrapper around an environment, and closes the environment if it returns an error. A name
// that is empty or taken, and defaults that are no struct, are programming errors and panic. RegisterWrapper is meant
// for init functions.
func RegisterWrapper[S any](name string, defaults S, wrap func(env envs.Env, settings S) (envs.Env, error)) {
	config.Keys(defaults) // panics if defaults is no struct
	mu.Lock()
	defer mu.Unlock()
	if name == "" || slices.ContainsFunc(kinds, func(k kind) bool { return k.name == name }) {
		panic(fmt.Sprintf("catalog: %q cannot name a wrapper: it is empty, or a wrapper there is already", name))
	}
	kinds = append(slices.Clone(kinds), of(name, "", defaults, wrap))
	slices.SortFunc(kinds, func(a, b kind) int { return strings.Compare(a.name, b.name) })
}

// allKinds returns the kinds of wrappers at present.
func allKinds() []kind {
	mu.RLock()
	defer mu.RUnlock()
	return kinds
}

// none is for wrappers without settings.
type none struct{}

type rewardScale struct {
	// Scale is what every reward is multiplied by; it must be given, and not be 0. Returns of episodes stay unscaled.
	Scale float64 `yaml:"scale"`
}

// clip are the settings of clip_observation and clip_reward.
type clip struct {
	// Low and High bound every number.
	//
	// Narrower limits hide more of what is rare; wider ones let rare numbers move the networks far.
	Low  float64 `yaml:"low"`
	High float64 `yaml:"high"`
}

// actionLimits are the settings of clip_action.
type actionLimits struct {
	// Low and High are limits in addition to the action space's; null is none.
	//
	// Narrower limits keep a policy from extreme actions; wider ones let it use the whole range of its actuators.
	Low  *float64 `yaml:"low"`
	High *float64 `yaml:"high"`
}

// of returns the kind of a wrapper whose settings are a struct S. wrap makes the wrapper from them.
func of[S any, E envs.Env](name, needs string, defaults S, wrap func(env envs.Env, s S) (E, error)) kind {
	config.Declare("wrappers", name, defaults)
	return kind{name: name, needs: needs, read: func(prefix string, dict map[string]any) (wrapper, error) {
		s := defaults
		if err := config.Merge(&s, dict, config.Options{Prefix: prefix}); err != nil {
			return wrapper{}, err
		}
		return wrapper{name, s, func(env envs.Env) (envs.Env, error) { return made(wrap(env, s)) }}, nil
	}}
}

// made returns an environment as an interface. A nil pointer in an interface would not equal nil, so an error returns
// a plain nil.
func made[E envs.Env](env E, err error) (envs.Env, error) {
	if err != nil {
		return nil, err
	}
	return env, nil
}

// parseWrappers reads the list "wrappers". An element is a name, or a mapping of one name to its settings. nil is an
// empty list.
func parseWrappers(value any) ([]wrapper, error) {
	if value == nil {
		return nil, nil
	}
	kinds := allKinds()
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	wrong := func(path string, given any, nearest string) error {
		return &config.Error{Prefix: "catalog", Path: path, Given: given, Nearest: nearest,
			Reason: fmt.Sprintf("want a list of wrappers, each a name or {name: {setting: value}}; the names are %s",
				list(names))}
	}
	elements, ok := value.([]any)
	if !ok {
		return nil, wrong("wrappers", value, "")
	}
	var out []wrapper
	for i, e := range elements {
		path := fmt.Sprintf("wrappers[%d]", i)
		name, isName := e.(string)
		one, _ := e.(map[string]any)
		dict := map[string]any{}
		for key, settings := range one {
			name = key
			dict, _ = settings.(map[string]any)
			if isName = len(one) == 1 && (settings == nil || dict != nil); !isName {
				break
			}
		}
		if !isName {
			return nil, wrong(path, e, "")
		}
		at := slices.Index(names, name)
		if at < 0 {
			return nil, wrong(path, name, config.Nearest(name, names))
		}
		k := kinds[at]
		if _, given := dict[k.needs]; k.needs != "" && !given {
			return nil, &config.Error{Prefix: "catalog", Path: path, Given: e,
				Reason: fmt.Sprintf("it needs a setting: {%s: {%s: value}}", k.name, k.needs)}
		}
		w, err := k.read("catalog", dict)
		if err != nil {
			return nil, config.Under("catalog", path+"."+k.name, err)
		}
		out = append(out, w)
	}
	return out, nil
}
