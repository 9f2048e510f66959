package workspace

// This file says what a heartbeat is and how it stands in its file. Heartbeats are small and frequent: they tell the
// other members and people that a process lives, and renew its lease. They decide nothing that must survive a crash.
// What notices that they have stopped is listed in the package comment (store.go).

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/number"
)

const (
	heartbeatName   = "heartbeat.json"
	heartbeatSchema = 1
	maxHeartbeat    = 1 << 20 // bytes; readers refuse more, so that a file which is something else costs no memory
)

// Phase is what a member's process is doing.
type Phase string

// The phases. A member in one of the last three writes no more heartbeats until a process joins it again.
const (
	// Training is everything that is not one of the others.
	Training Phase = "training"
	// Waiting is for other members, at the end of an interval.
	Waiting Phase = "waiting"
	// Yielded has ended its process so that another member may use the machine, and will be started again. The others
	// do not take its silence for death.
	Yielded Phase = "yielded"
	// Stopped was asked to stop, by a signal for example, and can be continued.
	Stopped Phase = "stopped"
	// Finished has trained for as many environment steps as it was told to.
	Finished Phase = "finished"
	// Failed has given up; Note says why.
	Failed Phase = "failed"
)

// Heartbeat is what a member says of itself every few seconds. [Store] explains who reads it.
type Heartbeat struct {
	// Member is filled in by Beat.
	Member int
	// Owner names the process for people, by host and process number. Beat fills it in where it is empty.
	Owner string
	Phase Phase
	// Iteration is the interval in progress, from 1.
	Iteration int64
	// Copies is as in Record. A reader takes records of fewer copies for stale as soon as it sees the heartbeat.
	Copies int64
	// Steps are the environment steps that this member has trained, unaffected by copies; Total is how many it trains
	// in all.
	Steps, Total int64
	// Objective is the latest, where HasObjective is set. It may be NaN or infinite.
	Objective    float64
	HasObjective bool
	// Hyperparameters are those in effect.
	Hyperparameters map[string]float64
	// Parent is as in Record.
	Parent int
	// Note is for people: the last decision, or why the member failed. Long ones are cut.
	Note string
}

// heartbeatFile is the JSON of a heartbeat's file. The keys are older than the names in Go: "policy" is the member,
// "frame" its environment steps, "params" its hyperparameters. Their order counts, because the checksum is over the
// text.
type heartbeatFile struct {
	Schema    int                `json:"schema"`
	Member    int                `json:"policy"`
	Owner     string             `json:"owner"`
	Phase     Phase              `json:"phase"`
	Iteration int64              `json:"iteration"`
	Copies    int64              `json:"copies"`
	Frame     int64              `json:"frame"`
	Total     int64              `json:"total"`
	Objective *number.JSON       `json:"objective,omitempty"`
	Params    map[string]float64 `json:"params,omitempty"`
	Parent    int                `json:"parent"`
	Note      string             `json:"note,omitempty"`
	Check     string             `json:"check"`
}

// encodeHeartbeat returns the text of the file.
func encodeHeartbeat(h Heartbeat) ([]byte, error) {
	f := heartbeatFile{
		Schema: heartbeatSchema, Member: h.Member, Owner: h.Owner, Phase: h.Phase, Iteration: h.Iteration,
		Copies: h.Copies,
		Frame:  h.Steps, Total: h.Total, Objective: number.Optional(h.Objective, h.HasObjective),
		Params: h.Hyperparameters,
		Parent: h.Parent, Note: h.Note,
	}
	return durable.Seal(&f, &f.Check)
}

// decodeHeartbeat reads what encodeHeartbeat wrote. A checksum that does not match, another member's heartbeat (a file
// that was copied into this folder) and numbers that no member can have are errors.
func decodeHeartbeat(text []byte, member, members int) (Heartbeat, error) {
	var f heartbeatFile
	if err := durable.UnsealSchema(text, heartbeatSchema, &f, &f.Check); err != nil {
		return Heartbeat{}, err
	}
	if f.Member != member {
		return Heartbeat{}, fmt.Errorf("it is the heartbeat of member %d", f.Member)
	}
	h := Heartbeat{
		Member: f.Member, Owner: f.Owner, Phase: f.Phase, Iteration: f.Iteration, Copies: f.Copies, Steps: f.Frame,
		Total:           f.Total,
		Hyperparameters: f.Params, Parent: f.Parent, Note: f.Note,
	}
	h.Objective, h.HasObjective = f.Objective.Known()
	return h, h.check(members)
}

// clone returns a copy that shares nothing with h.
func (h Heartbeat) clone() Heartbeat {
	h.Hyperparameters = maps.Clone(h.Hyperparameters)
	return h
}

// prepare checks a heartbeat before it is written and returns a copy that shares nothing with it, with the member and
// the owner filled in and texts cut. What it lets through, decodeHeartbeat reads.
func (h Heartbeat) prepare(member, members int, owner string) (Heartbeat, error) {
	h.Member, h.Owner, h.Note = member, cut(cmp.Or(h.Owner, owner)), cut(h.Note)
	if !h.HasObjective {
		h.Objective = 0
	}
	if err := h.check(members); err != nil {
		return h, fmt.Errorf("workspace: member %d: heartbeat: %w", member, err)
	}
	return h.clone(), nil
}

// check reports an unknown phase and numbers that no member of so many can have.
func (h Heartbeat) check(members int) error {
	if !slices.Contains([]Phase{Training, Waiting, Yielded, Stopped, Finished, Failed}, h.Phase) {
		return fmt.Errorf("unknown phase %.40q", h.Phase)
	}
	if h.Member < 0 || h.Member >= members || h.Parent < -1 || h.Parent >= members {
		return fmt.Errorf("member %d and parent %d, where there are members 0 to %d", h.Member, h.Parent, members-1)
	}
	return checkParams(h.Hyperparameters)
}
