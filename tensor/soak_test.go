package tensor_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// residentBytes is the memory of the process that is in RAM, by the kernel's count.
func residentBytes(t *testing.T) int64 {
	t.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("this system does not tell how much memory is in use: %v", err)
	}
	return must.Get(strconv.ParseInt(strings.Fields(string(data))[1], 10, 64))(t) * int64(os.Getpagesize())
}

// TestSoak trains on minibatches of the size of a small AMP agent's and watches the memory. GORL_SOAK_ROUNDS sets how
// many; a million take a few minutes.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	rounds := 20_000
	if text := os.Getenv("GORL_SOAK_ROUNDS"); text != "" {
		rounds = must.Get(strconv.Atoi(text))(t)
		must.Not(t, rounds <= 0, "GORL_SOAK_ROUNDS is %d", rounds)
	}
	const limit = 20 << 20
	tensortest.CheckLive(t)
	tr := newTrainer(t, 1, 4096, 64, 20, 64)
	must.Get(tr.train(min(rounds, 1000)))(t) // the first rounds fill the allocators' pools
	live, resident := tensor.Live(), residentBytes(t)
	for done := 0; done < rounds; done += 1000 {
		must.Get(tr.train(min(1000, rounds-done)))(t)
		now, grown := tensor.Live(), residentBytes(t)-resident
		must.Not(t, now != live || grown > limit, "after %d rounds %d tensors live (%d at first), grown by %d KiB",
			done+1000, now, live, grown>>10)
	}
	t.Logf("%d rounds: resident memory grew by %d KiB, %d tensors live as at first", rounds,
		(residentBytes(t)-resident)>>10, live)
}
