package launch

import (
	"time"

	"github.com/gorl-dev/gorl/pbt/workspace"
)

// beat is a policy's last heartbeat and when it was written, by the folder's clock.
type beat struct {
	beat *workspace.Heartbeat
	seen time.Time
}

// heartbeats reads the last heartbeats of all policies. What cannot be read just now stays as it was.
func heartbeats(board workspace.Store, last []beat) {
	view, err := board.View()
	if err != nil {
		return
	}
	for _, p := range view.Members {
		if p.Heartbeat != nil {
			last[p.Member] = beat{p.Heartbeat, p.Seen}
		}
	}
}
