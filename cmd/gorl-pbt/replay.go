package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/timeline"
	"github.com/gorl-dev/gorl/tracking"
)

func replayCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "replay DIR",
		Short: "take the best schedule of hyperparameters from a population",
		Long: `
Follows the weights of a member back through all that they were copied from, and
writes the hyperparameters that they were trained with, step by step, as JSON.
gorl train --config FILE --schedule schedule.json trains one agent with them, where
FILE is the population's without the section pbt. Architectures of networks that
evolved are printed and not replayed.

DIR is a population's folder (with 000, 001, ...) or a journal.`,
		Example: `
gorl-pbt replay runs/population                        # of the best member so far
gorl-pbt replay --member 3 --out three.json runs/population`,
		Args: commandline.Arguments(1, 1, "the population's folder"),
	}
	member := c.Flags().String("member", "best", "`member` whose weights they are: a number, for those it has now, or "+
		"best, for the best that any had at an interval's end")
	out := c.Flags().String("out", "schedule.json", "`file` to write")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := ofMember(args[0], *member)
		if err != nil {
			return err
		}
		if err := timeline.Write(*out, s); err != nil {
			return err
		}
		keys, note := s.Keys(), ""
		header := append([]string{"from environment step", "member"}, keys...)
		if len(s.Architectures()) > 0 {
			header = append(header, "architecture")
			note = "Architectures are not replayed: an agent that trains by this schedule keeps the networks that it " +
				"is given.\n"
		}
		var rows [][]string
		for _, p := range s.Phases {
			row := tracking.Cells(p.From, p.Member)
			for _, key := range keys {
				row = append(row, fmt.Sprintf("%.5g", s.At(p.From)[key]))
			}
			rows = append(rows, append(row, p.Architecture)[:len(header)])
		}
		if err := tracking.Table(cmd.OutOrStdout(), header, rows); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "\n%s%d environment steps in all, founding seed %d. Written to %s.\n",
			note, s.Steps, s.Seed, *out)
		return err
	}
	return c
}

// ofMember is the schedule of a member of the population at path.
func ofMember(path, member string) (timeline.Timeline, error) {
	id, err := strconv.Atoi(member)
	if err != nil && member != "best" {
		return timeline.Timeline{}, commandline.Usagef("--member is %q: want a number or best", member)
	}
	history, err := journal.ReadHistory(path)
	if err != nil {
		return timeline.Timeline{}, err
	}
	if member != "best" {
		return timeline.Extract(history, id)
	}
	id, at, ok := history.Best()
	if !ok {
		return timeline.Timeline{},
			errors.New("no objective is known yet, so there is no best member; name one with --member")
	}
	return timeline.ExtractAt(history, id, at.Iteration)
}
