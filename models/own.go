package models

// Own reports whether a policy, a network or a distribution is of this package's kinds in all its parts. What those compute
// depends on their parameters and inputs alone, and takes the same operations each time, so that an agent may record it and
// do it again without calling it. Kinds made elsewhere may decide things in Go from call to call.
func Own(x any) bool {
	switch x := x.(type) {
	case *Net, *Gaussian, *Categorical, *Deterministic:
		return true
	case *clipped:
		return Own(x.Network)
	case head:
		return Own(x.shared.trunk) && Own(x.net)
	case *Stochastic:
		return Own(x.Net) && Own(x.Dist)
	}
	return false
}
