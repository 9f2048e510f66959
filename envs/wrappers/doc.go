// Package wrappers puts environments into other clothes: [Parallel] runs many [envs.Single] environments as one batch,
// [TimeLimit] cuts their episodes, and the other wrappers change or record what passes through an [envs.Env].
//
// What a wrapper does not change is that of the environment inside, and so are the optional interfaces
// ([envs.Renderer], [envs.MotionSource], [envs.Stateful], [envs.Observer], [envs.RewardShaper], [envs.Curriculum]):
// find them with [envs.As], which looks through the wrappers. A wrapper owns its environment and closes it.
package wrappers

import "github.com/gorl-dev/gorl/envs"

// within is an environment by a name that users do not see as a field.
type within = envs.Env

// inner is embedded by wrappers to pass on the methods that they do not change.
type inner struct{ within }

// Unwrap returns the environment inside, see [envs.As].
func (in inner) Unwrap() envs.Env { return in.within }
