package strategy

import (
	"fmt"
	"slices"
)

// Delays are numbers of environment steps that a member trains before decisions about it. A member that failed or
// diverged is rescued at any time, and every member can be copied at any time.
type Delays struct {
	// InitialDelay is the number of its own environment steps that a member trains before the first decision about it
	// (Ray Tune: burn_in_period). Default 0: from the first interval's end on.
	//
	// Early objectives say little about what a member will reach. Give a larger value where learning starts slowly.
	InitialDelay int64
	// StartAfter is the number of its own environment steps that a member trains, after it started or was last given a
	// copy, before the next decision about it. It can still be copied. Members that failed or diverged are rescued at
	// any time. Default 0.
	//
	// A larger value gives copied weights time to show what the mutated hyperparameters make of them, before the member
	// is compared again.
	StartAfter int64
	// SettleMutations lets StartAfter also count from a member's last mutation of its own, as IsaacGymEnvs does, whose
	// processes start again then. Default false.
	SettleMutations bool
}

// Settle applies the rules that hold for every strategy: a member is kept before InitialDelay and within StartAfter
// (and SettleMutations) unless it needs rescue, and the hyperparameters of reference members are never mutated. Reason
// then says which rule applied, and the strategy's reason in brackets. The given decisions are not changed.
func Settle(decisions []Decision, g Generation, o Delays, reference []int) []Decision {
	status := make(map[int]Status, len(g.Members))
	for _, m := range g.Members {
		status[m.Member] = m
	}
	settled := slices.Clone(decisions)
	for i, d := range settled {
		if d.Action == Keep {
			continue
		}
		m := status[d.Member]
		isReference := slices.Contains(reference, d.Member)
		why := ""
		switch {
		case m.Diverged():
		case m.Steps < o.InitialDelay:
			why = fmt.Sprintf("nothing is decided before %d environment steps", o.InitialDelay)
		case o.SettleMutations && m.SinceChange < min(m.SinceCopy, o.StartAfter):
			why = fmt.Sprintf("only %d of %d environment steps since it mutated itself", m.SinceChange, o.StartAfter)
		case m.SinceCopy < o.StartAfter:
			why = fmt.Sprintf("only %d of %d environment steps since it started or took over weights", m.SinceCopy,
				o.StartAfter)
		}
		switch {
		case why != "":
		case isReference && d.Action == SelfMutate:
			why = "reference members are not mutated"
		case isReference:
			settled[i].Mutate = false
		}
		if why != "" {
			settled[i] = Keeping(m, "%s (%s)", why, d.Reason)
		}
	}
	return settled
}
