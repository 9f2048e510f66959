// Package infer lets a trained policy act where it was not trained: on a robot's board, in a browser, in a server. It
// reads the checkpoints that trainers write and computes what the agent's evaluation does: what wrappers of the
// environment did to observations, the observation normalizer, the network, the mean or the most probable choice, the
// limits of the action space. It is plain Go without cgo, and builds on every platform of Go. Many
// goroutines may share a policy, and acting allocates nothing in steady state.
//
//	policy, err := infer.Load("runs/walker/checkpoints/best/agent.safetensors")
//	// ...
//	err = policy.Act(observation, action)
//
// Package infer/onnx writes policies for other programs.
package infer
