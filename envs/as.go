package envs

import "iter"

// As returns the first environment in env's chain of wrappers that implements T, an optional interface such as
// [MotionSource], [Renderer], [Stateful] or [Observer], or a concrete type. The chain is env itself and
// what Unwrap() [Env] methods lead to, outermost first. A wrapper that has T's methods but cannot serve them
// (see [Supporter]) ends the search.
func As[T any](env Env) (T, bool) { return find[T](env) }

// SingleAs is [As] for a [Single] and its Unwrap() [Single] methods.
func SingleAs[T any](single Single) (T, bool) { return find[T](single) }

// find returns the first part of a chain that implements T.
func find[T, E any](e E) (none T, ok bool) {
	for in := range chain(e) {
		if t, ok := in.(T); ok {
			return served(t)
		}
	}
	return none, false
}

// chain visits an environment and what Unwrap() E methods lead to, outermost first.
func chain[E any](e E) iter.Seq[any] {
	return func(yield func(any) bool) {
		for in := any(e); in != nil && yield(in); {
			u, ok := in.(interface{ Unwrap() E })
			if !ok {
				return
			}
			in = u.Unwrap()
		}
	}
}

// Supporter is implemented by wrappers that have the methods of an optional interface, which only work if the
// environment inside has them too. Supports is called with a nil pointer to the interface asked for, such as
// (*Renderer)(nil). It reports whether those methods will work, and true for interfaces that it does not know.
type Supporter interface {
	Supports(iface any) bool
}

// served returns t and true, unless t is a [Supporter] that says it does not support T.
func served[T any](t T) (T, bool) {
	if s, ok := any(t).(Supporter); ok && !s.Supports((*T)(nil)) {
		var none T
		return none, false
	}
	return t, true
}
