// Package tensor gives gotorch's tensors what training needs: the operations that gotorch lacks, autograd with higher
// derivatives, generators with their own seed, fused optimizer steps over flat parameters, and lifetimes that do not
// wait for the garbage collector.
//
// # Scopes
//
// Operations are methods of a [Scope], which owns their results and releases them when it closes:
//
//	s := tensor.NewScope()
//	defer s.Close()
//	ratio := s.Exp(s.Sub(newLogProb, oldLogProb))
//	loss := s.Neg(s.Mean(s.Mul(advantage, ratio)))
//	s.Backward(loss)
//	if err := s.Err(); err != nil {
//		return err
//	}
//
// A scope remembers its first error (the operation's name, the shapes of its operands, libtorch's message); operations
// after it do nothing, and the error is asked for once, before results leave the scope. What must outlive a scope is
// handed out by name with [Scope.Keep], or written into a tensor that lives elsewhere with [Scope.Copy]. Using a tensor
// after its scope has closed panics with a message.
//
// A scope is used by one goroutine at a time; different scopes may be used by different goroutines at once, on whatever
// OS thread Go runs them.
//
// # The engine
//
// On the CPU, float32 operations that training repeats are done by an engine of the package's own (csrc/engine.h), past
// libtorch's dispatcher and autograd; the others, and all where the environment has GORL_ENGINE=torch, by libtorch.
// Results are libtorch's tensors either way.
//
// # gotorch
//
// [Tensor] is gotorch.Tensor: tensors made by gotorch are accepted everywhere, and gotorch's functions take tensors
// made here. Importing this package releases the main goroutine from the OS thread to which gotorch ties it, and sets
// libtorch to one compute thread (see [SetThreads]): small networks get slower with more.
package tensor
