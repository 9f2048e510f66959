package distributed

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFromDict(t *testing.T) {
	want := DefaultConfig()
	want.Backend, want.Timeout = "gloo", 90*time.Second
	got, err := FromDict(map[string]any{"backend": "gloo", "timeout": "90s"})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for key, value := range map[string]any{"backend": "mpi", "timeout": "0s", "join_timeout": 5, "timeuot": "5m"} {
		if _, err := FromDict(map[string]any{key: value}); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v gives %v; want an error that names the key", key, value, err)
		}
	}
}
