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

// beats reads a policy's last heartbeat; ok is false where there is none, or none that can be read just now.
type beats func(policy int) (b beat, ok bool)

func heartbeats(dir string) beats { return func(int) (beat, bool) { return beat{}, false } }
