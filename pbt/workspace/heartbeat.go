package workspace

import (
	"fmt"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/number"
)

const (
	heartbeatName   = "heartbeat.json"
	heartbeatSchema = 1
	maxHeartbeat    = 1 << 20
)

// heartbeatFile is a heartbeat as it stands in its file.
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

func encodeHeartbeat(h Heartbeat) ([]byte, error) {
	f := heartbeatFile{
		Schema: heartbeatSchema, Member: h.Member, Owner: h.Owner, Phase: h.Phase, Iteration: h.Iteration, Copies: h.Copies,
		Frame: h.Steps, Total: h.Total, Params: h.Hyperparameters, Parent: h.Parent, Note: h.Note,
	}
	if h.HasObjective {
		o := number.JSON(h.Objective)
		f.Objective = &o
	}
	text, err := durable.Seal(&f, &f.Check)
	if err == nil && len(text) > maxHeartbeat {
		err = fmt.Errorf("workspace: a heartbeat of %d bytes; %d are allowed: list fewer hyperparameters", len(text), maxHeartbeat)
	}
	return text, err
}

// decodeHeartbeat reads the heartbeat of a member.
func decodeHeartbeat(text []byte, member, members int) (Heartbeat, error) {
	var f heartbeatFile
	if err := durable.UnsealSchema(text, heartbeatSchema, &f, &f.Check); err != nil {
		return Heartbeat{}, err
	}
	if f.Member != member {
		return Heartbeat{}, fmt.Errorf("it is the heartbeat of member %d", f.Member)
	}
	h := Heartbeat{
		Member: f.Member, Owner: f.Owner, Phase: f.Phase, Iteration: f.Iteration, Copies: f.Copies, Steps: f.Frame, Total: f.Total,
		Hyperparameters: f.Params, Parent: f.Parent, Note: f.Note,
	}
	if f.Objective != nil {
		h.Objective, h.HasObjective = float64(*f.Objective), true
	}
	return h, h.check(members)
}
