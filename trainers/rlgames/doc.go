// Package rlgames reads the YAML files of rl_games, as Isaac Lab (rl_games_ppo_cfg.yaml) and IsaacGymEnvs (cfg/train)
// have them, and makes dictionaries of them that gorl trains from: the sections of package trainers, the wrappers of
// package envs/catalog, and a population's section of package pbt/preset.
//
// Every key of a file is honoured, or has no meaning for gorl, which a note says, or is refused by an error that names
// the key, its value and the reason. docs/reference/rl-games.md lists all keys, and what is known to differ.
package rlgames
