// Package rlgames reads the YAML files of rl_games, as Isaac Lab (rl_games_ppo_cfg.yaml) and IsaacGymEnvs (cfg/train)
// have them. It converts a file to dictionaries that gorl trains from: the sections of package trainers, the wrappers
// of package envs/catalog, and a population's section of package pbt/preset.
//
// Every key of a file has one of three fates. It is honoured. Or it has no meaning for gorl, and a note says so. Or it
// is refused by an error that names the key, its value and the reason. docs/reference/rl-games.md lists all keys and
// the known differences.
package rlgames
