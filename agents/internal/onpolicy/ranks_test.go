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
			{"cuda", 1, [3]string{"cuda:0", "cuda:0", "cuda:0"}}, {"auto", 2, [3]string{"cuda:0", "cuda:1", "cuda:0"}},
			{"auto", 0, [3]string{"auto", "auto", "auto"}}, {"cuda:1", 4, [3]string{"cuda:1", "cuda:1", "cuda:1"}},
		} {
			check.Is(t, ownDevice(g, x.device, x.gpus), x.want[rank], "rank %d, %s of %d GPUs", rank, x.device, x.gpus)
		}
	}
}
