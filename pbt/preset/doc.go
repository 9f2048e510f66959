// Package preset reads a population's settings from YAML, with the keys and defaults of four well-known systems.
//
// A file names its preset, and has that system's keys under pbt:
//
//	preset: isaaclab      # isaaclab (default), isaacgymenvs, samplefactory, raytune, or a registered one
//	strict: false         # true reproduces the original's decisions, flaws included
//	pbt:
//	  enabled: true
//	  num_policies: 8
//	  objective: episode.return
//	  interval_steps: 50000000
//	  mutation:
//	    agent.params.config.learning_rate: mutate_float
//	  total_steps: 1000000000   # gorl's own keys are allowed in every preset
//
// Read settings.go first, then shared.go (gorl's own keys), one preset, e.g. isaac.go, and names.go (names of
// hyperparameters). register.go adds presets of one's own.
//
// An unknown key is an error that names the key and the nearest known one. Other packages read the other sections:
// launch reads launcher:, and the training program reads agent:, environment:, models:, trainer:, memory:, seed: and
// member:. This package reads numbers of agent: if a preset needs a hyperparameter's default, and seed: if pbt.seed is
// missing.
//
// # gorl's own keys
//
// These keys are allowed in every preset. They set the fields of the same names in [pbt.Options], [explore.Parameter],
// [strategy.Limited], [pbt.ProcessOptions] and workspace.FolderOptions:
//
//   - population: policy_idx, num_policies, directory, workspace, total_steps, seed, parallel, progress_steps,
//     save_steps
//   - timing: synchronous, asynchronous (see [Settings]), start_after, settle_mutations
//   - objective: measure: {minimise, window, reducer, min_samples, evaluation_episodes, evaluation_seed}
//   - copies: inherit: {optimizer, moment_decay, normalizers, schedule, environment, buffers}, max_copies
//   - hyperparameters: initial: {key: value}; sample: {key: [low, high] or {low, high, log}}; bounds: {key: [least,
//     greatest]}; parameters: {key: {rule, min, max, outside, change_range, step, choices, sample, default}};
//     reference: [members]; rebuild: [keys]
//   - the program's own: strategy and strategy_kwargs (see [strategy.Register]), explorer and explorer_kwargs
//     ([explore.Register])
//   - processes: heartbeat, silence, lease_ttl, slack, restart_process
//
// A population that is not enabled (with_pbt in Sample Factory) trains without decisions; see [strategy.Never].
// isaaclab also has initial_delay and diversify, both Isaac presets have resample_probability and reset_probability,
// and isaacgymenvs has objective.
//
// # Hyperparameters
//
// Hyperparameters have the preset's names or gorl's: agent.params.config.grad_norm, or grad_norm_clip. Those of the
// environment are env.<name>, or task.env.<name>. Settings that cannot change while gorl's agents train, such as
// mini_epochs, have no effect; [Settings.Notes] lists them.
package preset
