// Package wrappers changes, limits and records environments. [Parallel] runs many [envs.Single] environments as one
// batch, [TimeLimit] truncates their episodes, and the other wrappers change or record what passes through an
// [envs.Env].
//
// A wrapper passes on what it does not change. The optional interfaces ([envs.Renderer], [envs.MotionSource],
// [envs.Stateful], [envs.Observer], [envs.RewardShaper], [envs.Curriculum]) are found by [envs.As], which looks
// through the wrappers. A wrapper owns its environment and closes it.
package wrappers

import "github.com/gorl-dev/gorl/envs"

// within is [envs.Env] under an unexported name. A struct that embeds it has all methods of the environment, and
// users see no field.
type within = envs.Env

// inner is embedded by wrappers. It passes on the methods that a wrapper does not define itself.
type inner struct{ within }

// Unwrap returns the environment inside, see [envs.As].
func (in inner) Unwrap() envs.Env { return in.within }
