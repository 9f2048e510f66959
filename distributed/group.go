package distributed

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/gorl-dev/gorl/tensor"
)

// Group is what one rank has of all. Every operation waits for the others, so all ranks must call the same operations in
// the same order; where one does not, the others end with a [PeerError] after Config.Timeout. After any error the group
// is of no more use. It is used by one goroutine at a time. A nil *Group is one process alone.
type Group struct {
	place Place
	cfg   Config
	store *tensor.Store
	cpu   *tensor.Ranks
	cuda  *tensor.Ranks // with NCCL, otherwise nil
	lost  error         // why the group is of no more use
	spent time.Duration
	mute  bool // a call of the store has not returned
}

// Join meets the other ranks at place and returns when all are there. A context that ends meanwhile ends the wait.
func Join(ctx context.Context, place Place, cfg Config) (*Group, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if place.Size < 1 || place.Rank < 0 || place.Rank >= place.Size {
		return nil, fmt.Errorf("distributed: rank %d of %d: want a rank from 0 to the number of ranks less one", place.Rank,
			place.Size)
	}
	g := &Group{place: place, cfg: cfg}
	if place.Size == 1 {
		return g, nil
	}
	host, text, err := net.SplitHostPort(place.Address)
	port, bad := strconv.ParseUint(text, 10, 16)
	if err = errors.Join(err, bad); err != nil {
		return nil, fmt.Errorf("distributed: the ranks' address is %q; want host:port: %w", place.Address, err)
	}
	done := make(chan error, 1)
	go func() { done <- g.join(host, int(port)) }() // libtorch's calls cannot be cancelled
	select {
	case err := <-done:
		if err != nil {
			g.release()
			return nil, fmt.Errorf("distributed: rank %d of %d could not join the others at %s within %v: %w; see that all ranks are started, and that they reach this address", place.Rank, place.Size, place.Address, cfg.JoinTimeout, err)
		}
		return g, nil
	case <-ctx.Done():
		go func() { // whenever the calls return
			<-done //nolint:errcheck // the caller has returned
			g.release()
		}()
		return nil, fmt.Errorf("distributed: rank %d waited for the others: %w", place.Rank, context.Cause(ctx))
	}
}

// join opens the store and the connections to all other ranks.
func (g *Group) join(host string, port int) (err error) {
	p := g.place
	if g.store, err = tensor.NewStore(host, port, p.Rank == 0, g.cfg.JoinTimeout); err != nil {
		return err
	}
	return g.connect(host)
}

// connect makes the ranks of an open store, once all are there.
func (g *Group) connect(host string) error {
	own, err := ownAddress(host)
	if err != nil {
		return err
	}
	p := g.place
	if err := g.meet(); err != nil {
		return err
	}
	if g.cpu, err = tensor.NewRanks("gloo", g.store, g.key("gloo"), p.Rank, p.Size, own, g.cfg.Timeout); err != nil {
		return err
	}
	if g.takesNCCL() {
		g.cuda, err = tensor.NewRanks("nccl", g.store, g.key("nccl"), p.Rank, p.Size, own, g.cfg.Timeout)
	}
	return err
}

// takesNCCL reports whether tensors on CUDA devices are added up by NCCL.
func (g *Group) takesNCCL() bool {
	if g.cfg.Backend == "auto" {
		return tensor.HasNCCL() && tensor.CUDADevices() >= g.place.LocalSize
	}
	return g.cfg.Backend == "nccl"
}

// meet waits until all ranks are at the store, so that an error can name those that are missing.
func (g *Group) meet() error {
	if err := g.store.Set(g.key("here", g.place.Rank), nil); err != nil {
		return err
	}
	for end := time.Now().Add(g.cfg.JoinTimeout); ; time.Sleep(5 * time.Millisecond) {
		var missing []int
		for r := range g.others() {
			if _, here, err := g.store.Get(g.key("here", r)); err != nil {
				return err
			} else if !here {
				missing = append(missing, r)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s not there", are(missing))
		}
	}
}

// key is a key of this run in the store.
func (g *Group) key(parts ...any) string {
	key := fmt.Sprintf("gorl/%s/%d", g.place.Run, g.place.Attempt)
	for _, p := range parts {
		key += fmt.Sprintf("/%v", p)
	}
	return key
}

// ownAddress is the address of this machine that faces host: that of the network interface GLOO_SOCKET_IFNAME, as
// PyTorch's users set it, or else the one from which host is reached.
func ownAddress(host string) (string, error) {
	if name := os.Getenv("GLOO_SOCKET_IFNAME"); name != "" {
		i, err := net.InterfaceByName(name)
		if err != nil {
			return "", fmt.Errorf("GLOO_SOCKET_IFNAME is %q: %w", name, err)
		}
		addresses, err := i.Addrs()
		if err != nil || len(addresses) == 0 {
			return "", fmt.Errorf("GLOO_SOCKET_IFNAME is %q, an interface without an address", name)
		}
		ip, _, err := net.ParseCIDR(addresses[0].String())
		return ip.String(), err
	}
	c, err := net.Dial("udp", net.JoinHostPort(host, "9")) // sends nothing
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }() // it has sent nothing
	return c.LocalAddr().(*net.UDPAddr).IP.String(), nil
}

// Local returns the groups of size ranks within this process, for tests of programs that run in several: each rank is a
// goroutine. They compute together as processes do.
func Local(size int, cfg Config) (groups []*Group, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	first, err := tensor.NewStore("127.0.0.1", 0, true, cfg.JoinTimeout)
	if err != nil {
		return nil, fmt.Errorf("distributed: %w", err)
	}
	type joined struct {
		g   *Group
		err error
	}
	all := make([]joined, size)
	done := make(chan int)
	for r := range size {
		g := &Group{cfg: cfg, store: first, place: Place{Rank: r, Size: size, LocalRank: r, LocalSize: size,
			Address: fmt.Sprintf("127.0.0.1:%d", first.Port), Launcher: "Local"}}
		go func() {
			defer func() { done <- r }()
			all[r].g = g
			if r > 0 {
				g.store, all[r].err = tensor.NewStore("127.0.0.1", first.Port, false, cfg.JoinTimeout)
			}
			if all[r].err == nil && size > 1 {
				all[r].err = g.connect("127.0.0.1")
			}
		}()
	}
	for range size {
		<-done
	}
	for _, j := range all {
		groups, err = append(groups, j.g), errors.Join(err, j.err)
	}
	if err != nil {
		for _, g := range groups {
			g.release()
		}
		return nil, fmt.Errorf("distributed: %w", err)
	}
	return groups, nil
}

// Rank returns the number of this rank, from 0 on.
func (g *Group) Rank() int {
	if g == nil {
		return 0
	}
	return g.place.Rank
}

// Size returns the number of ranks.
func (g *Group) Size() int {
	if g == nil {
		return 1
	}
	return g.place.Size
}

// Place returns where this rank is among the others.
func (g *Group) Place() Place {
	if g == nil {
		return Place{Size: 1, LocalSize: 1}
	}
	return g.place
}

// Config returns how the ranks compute together.
func (g *Group) Config() Config { return g.cfg }

// Spent returns how long this rank has spent in operations so far, most of it waiting for the others.
func (g *Group) Spent() time.Duration {
	if g == nil {
		return 0
	}
	return g.spent
}

// Several reports whether there are other ranks.
func (g *Group) Several() bool { return g.Size() > 1 }

// Sum replaces t by the sum of all ranks' tensors, which have one shape and type. Every rank gets the same numbers, bit
// for bit. An error is the scope's; a scope with an error takes no part.
func (g *Group) Sum(s *tensor.Scope, t tensor.Tensor) {
	g.operate(s, t, func(r *tensor.Ranks, t tensor.Tensor) error { return r.Sum(t) })
}

// Broadcast replaces t by the tensor of rank root.
func (g *Group) Broadcast(s *tensor.Scope, t tensor.Tensor, root int) {
	g.operate(s, t, func(r *tensor.Ranks, t tensor.Tensor) error { return r.Broadcast(t, root) })
}

// operate calls f with the ranks that take t: NCCL's for tensors on CUDA, otherwise Gloo's, with a copy on the host where
// t is on another device.
func (g *Group) operate(s *tensor.Scope, t tensor.Tensor, f func(*tensor.Ranks, tensor.Tensor) error) {
	if !g.Several() || s.Err() != nil {
		return
	}
	if g.lost != nil {
		s.Fail(g.lost)
		return
	}
	on, ranks, here := tensor.DeviceOf(t), g.cpu, t
	switch {
	case on == tensor.CPU:
	case g.cuda != nil:
		ranks = g.cuda
	default:
		here = s.To(t, tensor.TypeOf(t), tensor.CPU)
	}
	if s.Err() != nil {
		return
	}
	begin := time.Now()
	err := f(ranks, here)
	if g.spent += time.Since(begin); err != nil {
		s.Fail(g.fail(err))
		return
	}
	if ranks == g.cpu && on != tensor.CPU {
		s.Copy(t, here)
	}
}

// GatherBytes returns the bytes of every rank, by rank. They may be of different lengths.
func (g *Group) GatherBytes(b []byte) ([][]byte, error) {
	if !g.Several() {
		return [][]byte{b}, nil
	}
	if g.lost != nil {
		return nil, g.lost
	}
	s := tensor.NoGrad()
	defer s.Close()
	sizes := tensor.From(s, make([]int64, g.Size()))
	all, err := g.gather(s, tensor.From(s, []int64{int64(len(b))}, 1), sizes)
	if err != nil {
		return nil, err
	}
	longest, lengths := 0, make([]int, g.Size())
	for r := range lengths {
		lengths[r] = int(binary.NativeEndian.Uint64(all[8*r:]))
		longest = max(longest, lengths[r])
	}
	padded := make([]byte, longest)
	copy(padded, b)
	out := make([][]byte, g.Size())
	if longest == 0 {
		return out, nil
	}
	if all, err = g.gather(s, tensor.From(s, padded, int64(longest)),
		tensor.From(s, make([]byte, longest*g.Size()), int64(g.Size()), int64(longest))); err != nil {
		return nil, err
	}
	for r := range out {
		out[r] = all[r*longest:][:lengths[r]]
	}
	return out, nil
}

// BroadcastBytes returns the bytes of rank root; those of the others are not looked at.
func (g *Group) BroadcastBytes(root int, b []byte) ([]byte, error) {
	if !g.Several() {
		return b, nil
	}
	s := tensor.NoGrad()
	defer s.Close()
	size := tensor.From(s, []int64{int64(len(b))}, 1)
	g.Broadcast(s, size, root)
	if err := s.Err(); err != nil {
		return nil, err
	}
	n, err := tensor.Item(size)
	if err != nil || n == 0 {
		return nil, err
	}
	if g.Rank() != root {
		b = make([]byte, int(n))
	}
	data := tensor.From(s, b, int64(n))
	g.Broadcast(s, data, root)
	if err := s.Err(); err != nil {
		return nil, err
	}
	out := make([]byte, int(n))
	return out, tensor.Read(data, out)
}

// gather returns the bytes of all ranks' tensors of one shape, rank by rank.
func (g *Group) gather(s *tensor.Scope, own, all tensor.Tensor) ([]byte, error) {
	if err := s.Err(); err != nil {
		return nil, err
	}
	defer func(begin time.Time) { g.spent += time.Since(begin) }(time.Now())
	if err := g.cpu.Gather(own, s.Reshape(all, append([]int64{int64(g.Size())}, tensor.Shape(own)...)...)); err != nil {
		return nil, g.fail(err)
	}
	bytes := s.Bitcast(all, tensor.Uint8)
	if err := s.Err(); err != nil {
		return nil, err
	}
	out := make([]byte, tensor.Numel(bytes))
	return out, tensor.Read(bytes, out)
}
