package onpolicy

import (
	"testing"

	"github.com/gorl-dev/gorl/distributed"
	check "github.com/gorl-dev/gorl/internal/test/must"
)

// Each rank of a machine has a GPU of its own, also where it sees no other.
func TestOwnDevice(t *testing.T) {
	groups := check.Get(distributed.Local(3, distributed.DefaultConfig()))(t)
	for rank, g := range groups {
		defer g.Close()
		for _, x := range []struct {
			device string
			gpus   int
			want   [3]string
		}{
			{"cuda", 4, [3]string{"cuda:0", "cuda:1", "cuda:2"}}, {"cuda", 1, [3]string{"cuda:0", "cuda:0", "cuda:0"}},
			{"auto", 2, [3]string{"cuda:0", "cuda:1", "cuda:0"}}, {"auto", 0, [3]string{"auto", "auto", "auto"}},
			{"cuda", 0, [3]string{"cuda:0", "cuda:0", "cuda:0"}}, {"cuda:1", 4,
				[3]string{"cuda:1", "cuda:1", "cuda:1"}}, {"cpu", 4, [3]string{"cpu", "cpu", "cpu"}},
		} {
			if got := ownDevice(g, x.device, x.gpus); got != x.want[rank] {
				t.Errorf("rank %d, %s of %d GPUs: %s, want %s", rank, x.device, x.gpus, got, x.want[rank])
			}
		}
	}
	if got := ownDevice(nil, "cuda", 4); got != "cuda" {
		t.Errorf("one process alone takes %s", got)
	}
}
