// Package gymnasium runs Gymnasium's environments, which are Python, as an [envs.Env].
//
// [New] splits a batch over a few Python processes, its children. They share one piece of memory with this process.
// Actions are written into it for all environments at once, and the children write observations, rewards and flags
// straight to where this process reads them. A step therefore pickles nothing and uses no socket. It costs one
// wake-up of each child and one of this process, whatever the number of environments. Rare things (pictures, texts in
// infos, errors) go through pipes.
//
// The children reset environments that end in the same step, which Gymnasium calls AutoresetMode.SAME_STEP. No
// transition is lost or made up, and the last observation reaches the agent (see [envs.Step]).
//
// Simulators that step a batch by themselves (EnvPool, Isaac Lab, mjlab and others, see [Options].Simulator) run in
// one child. It copies what they return into the same memory, whole arrays at a time. FinalUnknown and Invalid of
// [envs.Step] say what they do at an episode's end.
//
// Games of PettingZoo, in which several agents act, run in the same way (Options.PettingZoo). Each possible agent is a
// seat of spaces.Set.Seats. So is each agent of a simulator that has several (Isaac Lab's DirectMARLEnv).
//
// [Serve] works in the other direction: a Python program asks an agent of this process for actions, through the same
// kind of memory (clients/python/gorl_client.py).
//
// The bridge needs Linux, and for environments Python 3.8 with gymnasium 1.0 and numpy 1.21 or later.
package gymnasium
