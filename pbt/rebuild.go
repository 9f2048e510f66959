package pbt

import "errors"

// ErrRebuild is returned, wrapped, by [Trainee.SetHyperparameters] for values that only take effect when the trainee is
// built anew.
var ErrRebuild = errors.New("the trainee must be built anew for these hyperparameters")
