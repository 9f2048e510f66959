package distributed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tensor"
)

// messages are what strangers send to a listener of ranks. They keep the connection open.
var messages = map[string][]byte{
	"nothing":              nil,
	"one byte":             {0},
	"a request":            []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
	"64 kB of noise":       noise(),
	"a length of 2^63 − 1": append([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, "abc"...),
}

func noise() []byte {
	b := make([]byte, 64<<10)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// attack connects to an address with every message, several times, and leaves the connections open.
func attack(t *testing.T, network, address string) {
	t.Helper()
	for range 20 {
		for _, m := range messages {
			c, err := net.Dial(network, address)
			if err != nil {
				return // nothing listens any more
			}
			t.Cleanup(func() { _ = c.Close() })
			_, _ = c.Write(m) // the listener may close the connection at the first byte
		}
	}
}

// freeAddress returns a loopback address at which nothing listens, at a port that no outgoing connection takes.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(20000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
}

// soon fails the test if f does not return.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s does not end", what)
	}
}

// listening returns the addresses at which this process listens for TCP.
func listening(t *testing.T) (addresses []string) {
	t.Helper()
	own := map[string]bool{}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs Linux's /proc")
	}
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); err == nil {
			own[to] = true
		}
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for _, line := range strings.Split(string(text), "\n") {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" && own["socket:["+f[9]+"]"] {
				addresses = append(addresses, f[1])
			}
		}
	}
	return addresses
}

// until waits until something has happened.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s has not happened", what)
		}
	}
}

// Strangers that connect while ranks join, and while they compute, change nothing. Nothing listens beyond loopback, and
// nothing at all once the ranks have joined.
func TestStrangers(t *testing.T) {
	address := freeAddress(t)
	cfg := DefaultConfig()
	cfg.Timeout, cfg.JoinTimeout = 20*time.Second, 20*time.Second
	before := len(listening(t))
	var errs [3]error
	soon(t, "a run among strangers", func() {
		done := make(chan int)
		joined := make(chan int)
		attacked := make(chan struct{})
		rank := func(r int) error {
			g, err := Join(t.Context(), Place{Rank: r, Size: len(errs), LocalSize: 1, Address: address, Run: "x/0"},
				cfg)
			if err != nil {
				return err
			}
			defer g.Close()
			s := tensor.NoGrad()
			defer s.Close()
			x := s.Ones(100_000)
			g.Sum(s, x)
			joined <- r
			<-attacked
			g.Sum(s, x)
			if sum, err := tensor.Item(s.Select(x, 0, 7)); sum != 9 {
				return fmt.Errorf("the sum is %v, want 9: %w", sum, err)
			}
			return s.Err()
		}
		start := func(r int) {
			go func() { errs[r] = rank(r); done <- r }()
		}
		start(0)
		until(t, "rank 0 listens", func() bool { return len(listening(t)) > before })
		for _, a := range listening(t)[before:] {
			if !strings.HasPrefix(a, "0100007F:") {
				t.Errorf("rank 0 listens at %s, want 127.0.0.1 alone", a)
			}
		}
		attack(t, "tcp", address)
		for r := range errs[1:] {
			start(1 + r)
		}
		for range errs {
			select {
			case <-joined:
			case r := <-done:
				t.Errorf("rank %d: %v", r, errs[r])
				return
			}
		}
		if left := listening(t); len(left) > before {
			t.Errorf("after the ranks have joined %v are open", left)
		}
		attack(t, "tcp", address)
		close(attacked)
		for range errs {
			<-done
		}
	})
	must.Do(t, errors.Join(errs[:]...))
}

// Every wait ends at JoinTimeout, or when the context ends, and the error says for what the rank has waited.
func TestJoinEnds(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	for name, x := range map[string]struct {
		rank, size int
		address    string
		leads      bool // rank 0 is there, and waits for others
		want       string
	}{
		"rank 0 alone":         {0, 2, freeAddress(t), false, "rank 1 is not there"},
		"rank 1 alone":         {1, 2, freeAddress(t), false, "dial tcp 127.0.0.1"},
		"a silent listener":    {1, 2, silent.Addr().String(), false, "does not answer like a rank"},
		"a rank is missing":    {1, 3, freeAddress(t), true, "still waits for other ranks"},
		"a name of no machine": {1, 2, "no.such.host.invalid:1", false, "no.such.host.invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := DefaultConfig()
			if x.leads {
				ctx, cancel := context.WithCancel(t.Context())
				zero := make(chan struct{})
				go func() {
					defer close(zero)
					_, _ = Join(ctx, Place{Size: x.size, LocalSize: 1, Address: x.address}, cfg)
				}()
				defer func() { cancel(); <-zero }()
			}
			place := Place{Rank: x.rank, Size: x.size, LocalSize: 1, Address: x.address}
			soon(t, "a cancelled wait", func() {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				if _, err := Join(ctx, place, cfg); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a cancelled wait ends with %v", err)
				}
			})
			cfg.JoinTimeout = 2 * time.Second
			soon(t, "a wait", func() {
				_, err := Join(t.Context(), place, cfg)
				must.Refuse(t, err, x.want)
			})
		})
	}
}

// When Join returns, its address is free.
func TestJoinFreesItsAddress(t *testing.T) {
	address := freeAddress(t)
	for range 1000 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := Join(ctx, Place{Size: 2, LocalSize: 1, Address: address}, DefaultConfig())
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
}

// A rank of another run, of an earlier attempt, or of another number of ranks is refused, and both sides say so.
func TestOtherRun(t *testing.T) {
	for name, x := range map[string]struct {
		run  string
		size int
		want string
	}{
		"an earlier attempt": {"a/0", 2, "rank 1 of another run, or of another attempt"},
		"three ranks":        {"a/1", 3, "rank 1 of 3: there are 2 ranks here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := DefaultConfig()
			cfg.JoinTimeout = 5 * time.Second
			address := freeAddress(t)
			other := make(chan error)
			join := func(p Place) {
				p.LocalSize, p.Address = 1, address
				_, err := Join(t.Context(), p, cfg)
				other <- err
			}
			go join(Place{Rank: 1, Size: x.size, Run: x.run})
			go join(Place{Size: 2, Run: "a/1"})
			must.Refuse(t, <-other, x.want)
			must.Refuse(t, <-other, x.want)
		})
	}
}

// Ranks that make different operations, or have tensors of different sizes, end with errors that say so.
func TestDifferentOperations(t *testing.T) {
	for name, different := range map[string]func(g *Group, s *tensor.Scope) error{
		"large sizes": func(g *Group, s *tensor.Scope) error {
			g.Sum(s, s.Ones(int64(100_000+g.Rank())))
			return s.Err()
		},
		"a missed operation": func(g *Group, s *tensor.Scope) error {
			if g.Rank() > 0 {
				g.op++
			}
			g.Sum(s, s.Ones(10))
			return s.Err()
		},
		"operations": func(g *Group, s *tensor.Scope) error {
			if g.Rank() > 0 {
				_, err := g.GatherBytes(nil)
				return err
			}
			g.Sum(s, s.Ones(10))
			return s.Err()
		},
	} {
		soon(t, name, func() {
			for _, err := range inRanks(t, 2, DefaultConfig(), different) {
				must.Refuse(t, err, "run the same program with the same settings")
			}
		})
	}
}

// All ranks name what differs, and may go on.
func TestRequireEqual(t *testing.T) {
	for _, err := range inRanks(t, 3, DefaultConfig(), func(g *Group, _ *tensor.Scope) error {
		values := map[string]any{"agent": map[string]any{"rollouts": 16, "nested": map[string]any{"rate": 0.5}}}
		if err := g.RequireEqual(values); err != nil {
			return err
		}
		if g.Rank() == 2 {
			values["agent"] = map[string]any{"rollouts": 17, "nested": map[string]any{"rate": 0.5},
				"new": strings.Repeat("x", 300)}
		}
		must.RefuseAs(t, g.Rank(), g.RequireEqual(values), `"agent.new" is missing on rank 0 and xxx`,
			`x... on rank 2, "agent.rollouts" is 16 on rank 0 and 17 on rank 2; `)
		_, err := g.GatherBytes(nil)
		return err
	}) {
		must.Do(t, err)
	}
}
