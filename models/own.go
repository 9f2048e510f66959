package models

// Own reports whether every part of a policy, a network or a distribution is a type of this package. What these types
// compute depends on their parameters and inputs only, and takes the same operations each time. An agent may therefore
// record the operations of a minibatch once and replay them. Other types may decide things in Go from call to call,
// which a replay would not repeat.
func Own(x any) bool {
	switch x := x.(type) {
	case *Net, *Gaussian, *Categorical:
		return true
	case head:
		return Own(x.shared.trunk) && Own(x.net)
	case *Stochastic:
		return Own(x.Net) && Own(x.Dist)
	}
	return false
}
