// Package preset reads a population's settings from YAML in the words of four well-known systems, and writes the files
// that they leave behind.
//
// A file names its preset and holds that system's own keys, with its own defaults, under pbt:
//
//	preset: isaaclab      # isaaclab (default), isaacgymenvs, samplefactory or raytune
//	strict: false         # true reproduces the original's decisions, flaws included
//	pbt:
//	  enabled: true
//	  num_policies: 8
//	  objective: episode.return
//	  interval_steps: 50000000
//	  mutation:
//	    agent.params.config.learning_rate: mutate_float
//	  total_steps: 1000000000   # gorl's own keys stand beside the preset's
//
// The section launcher: belongs to package launch, and agent:, environment:, models:, trainer:, memory:, seed: and member: to
// the program that trains; of these, numbers of agent: are looked at where a preset needs a hyperparameter's default,
// and seed: where pbt.seed is missing. Any other key is an error that names it and the nearest known one.
//
// # gorl's own keys
//
// In every preset: policy_idx, num_policies, directory and workspace (where the population lives); total_steps; seed;
// synchronous (members that are processes wait for each other) and asynchronous (members of one process do not; see
// [Settings]); start_after; settle_mutations;
// measure: {minimise, window, reducer, min_samples, evaluation_episodes, evaluation_seed}; inherit: {optimizer,
// moment_decay, normalizers, schedule, environment, buffers}; initial: {key: value}; sample: {key: [low, high] or
// {low, high, log}}; bounds: {key: [least, greatest]}; parameters: {key: {rule, min, max, outside, change_range,
// step, choices, sample, default}}; reference: [numbers]; max_copies; rebuild: [keys]; parallel; progress_steps;
// save_steps; and for members that are processes or do not wait heartbeat, silence, lease_ttl, slack and
// restart_process. They mean what the fields with these names mean in [pbt.Options], [explore.Parameter],
// [strategy.Limited], [pbt.ProcessOptions] and workspace.FolderOptions.
//
// A population that is not enabled (with_pbt in Sample Factory's words) trains without decisions, see
// [strategy.Never]. Populations are enabled by default. isaaclab has initial_delay and diversify besides, both
// Isaac presets have resample_probability and reset_probability, and isaacgymenvs has an objective.
//
// # Hyperparameters
//
// Hyperparameters may be given by the preset's names or by gorl's: agent.params.config.grad_norm, or just grad_norm_clip.
// Those of the environment are env.<name>, or task.env.<name>. Settings of the originals that cannot change while gorl's
// agents train, such as mini_epochs, are accepted and do nothing; [Settings.Notes] says so.
package preset
