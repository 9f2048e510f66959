// Package launch runs populations of processes: it starts the members of one on this machine and looks after them
// ([Run]), writes what Slurm ([Slurm]) and Kubernetes ([Kubernetes]) need to do so, and is what a member program is
// made of ([Main], [Member]).
//
// The processes have nothing in common but a folder (see package workspace) and one YAML file. Whoever starts a member
// tells it three things in its environment, [EnvConfig], [EnvPolicy] and [EnvSlice], and it answers with its exit
// status: [StatusFinished], [StatusYielded], [StatusRestart], [StatusStopped] or, with any other, that it failed. A
// program in any language that keeps to this can be a member.
package launch
