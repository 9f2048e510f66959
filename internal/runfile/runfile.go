// Package runfile reads the YAML file of a run, once, for everyone who owns a section of it. It knows which sections
// there are and who reads each; what a section holds is its reader's to say:
//
//	seed, models, memory, motion_dataset, reply_buffer, agent, trainer   package trainers
//	environment                                                          package envs/catalog
//	distributed                                                          package distributed
//	preset, strict, pbt                                                  package pbt/preset
//	launcher                                                             package pbt/launch
//	network, mutation, selection_strategy, training                      package pbt/evolution
//	member                                                               a member program of a user's own
package runfile

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/internal/config"
)

// Reader is a set of those who read sections.
type Reader uint

// The readers of sections. Agents is the reader of agent: and trainer: in an evolution, which makes its agents itself.
const (
	Trainers Reader = 1 << iota
	Agents
	Environments
	Populations
	Launchers
	Evolutions
	Members
	Ranks
)

// section is a section and its readers.
type section struct {
	name    string
	readers Reader
}

// known are all sections in the order in which they are written.
var known = []section{
	{"seed", Trainers | Populations | Evolutions},
	{"environment", Environments},
	{"distributed", Ranks},
	{"preset", Populations},
	{"strict", Populations | Evolutions},
	{"pbt", Populations | Launchers},
	{"launcher", Launchers},
	{"member", Members},
	{"models", Trainers},
	{"memory", Trainers},
	{"motion_dataset", Trainers},
	{"reply_buffer", Trainers},
	{"replay_buffer", Trainers}, // another name of reply_buffer
	{"agent", Trainers | Agents},
	{"trainer", Trainers | Agents},
	{"network", Evolutions},
	{"mutation", Evolutions},
	{"selection_strategy", Evolutions},
	{"tournament_selection", Evolutions}, // an older name of selection_strategy
	{"training", Evolutions},
}

// lacking says why a section has no reader in a run, by the first of its readers.
var lacking = map[Reader]string{
	Trainers: "its agents' networks evolve, which the sections of evolution say; write network: {encoder_config: " +
		"..., head_config: ...} instead of models: (docs/evolution.md)",
	Populations: "it belongs to a population; give the section pbt too",
	Launchers:   "it belongs to a population; give the section pbt too",
	Evolutions:  "it belongs to an evolution, which has no section pbt and is trained by gorl train",
	Ranks: "it belongs to a run of one agent, which several processes may train, and to a population with " +
		"launcher.ranks_per_member",
	Members: "it belongs to a member program of your own (pbt/launch.Main)",
}

// Kind is what a file describes.
type Kind int

// The kinds of runs.
const (
	// Single is one agent.
	Single Kind = iota
	// Population has the section pbt.
	Population
	// Evolution has a section of evolution and no section pbt.
	Evolution
)

// Sections is a run's file: its sections by name.
type Sections map[string]any

// Read reads the file at path; see Parse. A file of more than 16 MiB is an error. Errors name the file.
func Read(path string) (Sections, error) {
	s, _, err := ReadWithSource(path, nil)
	return s, err
}

// Parse splits a YAML document into its sections. Errors of YAML carry line numbers; see [config.FromYAML]. Which
// sections there may be is for Check to say.
func Parse(data []byte) (Sections, error) {
	dict, err := config.FromYAML(data)
	return dict, err
}

// Check refuses sections that do not exist, naming the nearest that does, and those that none of the readers reads. All
// are reported, with prefix in front of each.
func (s Sections) Check(prefix string, readers Reader) error {
	var names []string
	for _, k := range known {
		names = append(names, k.name)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s)) {
		e := &config.Error{Prefix: prefix, Path: name, Given: s[name]}
		if i := slices.Index(names, name); name == "params" {
			e.Reason = "it is the section of a file of rl_games, which gorl train trains from and gorl convert " +
				"turns into one of gorl's (docs/reference/rl-games.md)"
		} else if i < 0 {
			e.Unknown, e.Nearest = true, config.Nearest(name, names)
		} else if r := known[i].readers; r&readers == 0 && s[name] != nil {
			e.Reason = lacking[r&-r]
		} else {
			continue
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// Kind says what the file describes.
func (s Sections) Kind() Kind {
	if _, ok := s["pbt"]; ok {
		return Population
	}
	for _, k := range known {
		if _, ok := s[k.name]; ok && k.readers == Evolutions {
			return Evolution
		}
	}
	return Single
}

// Of returns the sections that a reader reads, in a map of its own. The sections themselves are not copied.
func (s Sections) Of(r Reader) Sections {
	own := Sections{}
	for _, k := range known {
		if value, ok := s[k.name]; ok && k.readers&r != 0 {
			own[k.name] = value
		}
	}
	return own
}

// Member returns the sections of which a population's member with this seed is made: those of package trainers, without
// the trainer's own seed.
func (s Sections) Member(seed int64) Sections {
	own := s.Of(Trainers)
	own["seed"] = seed
	trainer := maps.Clone(own.Section("trainer"))
	delete(trainer, "seed")
	own["trainer"] = trainer
	return own
}

// Section returns the section of a name, which is made where it is missing or no mapping. It is no copy.
func (s Sections) Section(name string) map[string]any {
	if section, ok := s[name].(map[string]any); ok {
		return section
	}
	section := map[string]any{}
	s[name] = section
	return section
}

// DrawSeed draws a seed where the file leaves it open.
func (s Sections) DrawSeed() {
	if s["seed"] == nil {
		s["seed"] = rand.Int64N(1 << 31)
	}
}

// Has reports whether there is a section of a name.
func Has(name string) bool {
	return slices.ContainsFunc(known, func(k section) bool { return k.name == name })
}
