// Package gymnasium runs Gymnasium's environments, which are Python, as an [envs.Env].
//
// [New] splits a batch over a few Python processes, its children. They share one piece of memory with this process:
// actions are written into it for all environments at once, and the children write observations, rewards and flags
// straight to where this process reads them, so that a step pickles nothing and goes through no socket. A step costs
// one wake-up of each child and one of this process, whatever the number of environments. What is rare (pictures,
// texts in infos, errors) goes through pipes.
//
// Environments that end are reset by the children in the same step, which Gymnasium calls AutoresetMode.SAME_STEP: no
// transition is lost or made up, and the last observation reaches the agent (see [envs.Step]).
//
// Simulators that step a batch by themselves (EnvPool, Isaac Lab, mjlab and others, see [Options].Simulator) are one
// child that copies what they return into the same memory, whole arrays at a time. What they do at an episode's end is
// told in the FinalUnknown and Invalid of [envs.Step].
//
// [Serve] is the other way round: a Python program asks an agent of this process what to do, through the same kind of
// memory (clients/python/gorl_client.py).
//
// The bridge needs Linux, and for environments Python 3.8 with gymnasium 1.0 and numpy 1.21 or later.
package gymnasium
