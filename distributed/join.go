package distributed

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"
)

// The ranks meet at rank 0, which listens at Place.Address. Each other rank connects to rank 0 and sends its number and
// the id of its run. When all are connected, rank 0 sends them a random secret and the addresses of all ranks. The
// secret proves that a connection comes from this run. Then every rank connects to the ranks before it, and all
// listeners are closed.
//
// Other processes may connect to a listener while it is open, and send anything. They are refused, at the latest after
// handshakeTime. Meanwhile the ranks continue to wait for each other.

const (
	// handshakeTime limits the time in which a connection identifies itself.
	handshakeTime = 5 * time.Second
	// handshakes limits the number of connections that have not identified themselves.
	handshakes = 256
	// retry is the time between attempts to connect.
	retry = 50 * time.Millisecond
)

// magic is the start of every message that ranks send before they are connected.
var magic = [8]byte{'g', 'o', 'r', 'l', 'r', 'n', 'k', '1'}

// secret proves that a connection comes from a rank of this run. It is a digest of the run's id, or random bytes of
// rank 0.
type secret [sha256.Size]byte

// endpoint is the address at which a rank listens, padded with zeros.
type endpoint [128]byte

func (e endpoint) String() string { return string(bytes.TrimRight(e[:], "\x00")) }

// hello is the first message of a rank to another one.
type hello struct {
	Magic      [8]byte
	Secret     secret
	Rank, Size uint32
	Endpoint   endpoint // the rank's listener, for the ranks after it
}

// answer is the reply to hello.
type answer struct {
	Magic    [8]byte
	Accepted uint32 // 0 or 1
	Reason   [256]byte
}

// refusal is the error of a rank that another one has refused.
type refusal string

func (r refusal) Error() string { return "it was refused: " + string(r) }

// arrival is the connection of a rank that has identified itself.
type arrival struct {
	hello
	conn net.Conn
}

// connect connects a rank to all others, and stores the links.
func connect(ctx context.Context, p Place, links []*link) (err error) {
	m := &meeting{ctx: ctx, place: p, conns: make([]net.Conn, p.Size), run: sha256.Sum256([]byte("gorl run " + p.Run))}
	defer func() {
		m.stopListening()
		for r, c := range m.conns {
			switch {
			case c == nil:
			case err != nil:
				err = errors.Join(err, c.Close())
			default:
				links[r] = newLink(r, c)
			}
		}
	}()
	if p.Rank == 0 {
		return m.lead()
	}
	return m.follow()
}

// meeting is the state of one rank while all ranks connect.
type meeting struct {
	ctx      context.Context
	place    Place
	run      secret
	conns    []net.Conn // by rank
	listener net.Listener
	end      context.CancelFunc // of the listener
	arrived  chan arrival
	refused  atomic.Pointer[string] // a description of the last connection that was refused
}

// lead connects rank 0.
func (m *meeting) lead() error {
	var l net.Listener
	var failed error
	_ = m.retry(func() error { // the name of a pod may become known only after the pod has started
		var unknown *net.DNSError
		if l, failed = listen(m.ctx, m.place.Address); errors.As(failed, &unknown) {
			return failed
		}
		return nil
	})
	if failed != nil {
		return failed
	}
	others := ranksFrom(1, m.place.Size)
	where, err := m.receive(l, m.run, others)
	if err != nil {
		return err
	}
	var drawn secret
	rand.Read(drawn[:]) // never fails
	for _, r := range others {
		if err := m.write(m.conns[r], drawn, where); err != nil {
			return fmt.Errorf("rank %d: %w", r, err)
		}
	}
	return nil
}

// follow connects any other rank.
func (m *meeting) follow() error {
	var drawn secret
	where := make([]endpoint, m.place.Size)
	// Rank 0 may be started later, or again, and another program may listen at its address until then.
	err := m.retry(func() error {
		c, err := m.dial(m.place.Address)
		if err != nil {
			return err
		}
		var own endpoint
		if m.listener == nil && m.place.Rank < m.place.Size-1 {
			if m.listener, err = listenBehind(m.ctx, m.place, c); err != nil {
				return errors.Join(err, c.Close())
			}
		}
		if m.listener != nil {
			copy(own[:], m.listener.Addr().String())
		}
		if err = m.sendHello(c, m.run, own); err == nil {
			err = m.read(c, &drawn, where)
		}
		if err != nil {
			return errors.Join(err, c.Close())
		}
		m.conns[0] = c
		return nil
	})
	if err != nil {
		return err
	}
	errs := make(chan error, 1)
	go func() { errs <- m.dialAll(drawn, where) }()
	if behind := ranksFrom(m.place.Rank+1, m.place.Size); len(behind) > 0 {
		_, err = m.receive(m.listener, drawn, behind)
	}
	return errors.Join(<-errs, err)
}

func ranksFrom(first, size int) (ranks []int) {
	for r := first; r < size; r++ {
		ranks = append(ranks, r)
	}
	return ranks
}

// dialAll connects to the ranks from 1 to the one before this.
func (m *meeting) dialAll(drawn secret, where []endpoint) error {
	for r := 1; r < m.place.Rank; r++ {
		address := where[r].String()
		if host, port, err := net.SplitHostPort(address); err == nil && net.ParseIP(host).IsUnspecified() {
			host, _, _ = net.SplitHostPort(m.place.Address) // a rank on rank 0's machine
			address = net.JoinHostPort(host, port)
		}
		if err := m.retry(func() error {
			c, err := m.dial(address)
			if err != nil {
				return err
			}
			if err := m.sendHello(c, drawn, endpoint{}); err != nil {
				return errors.Join(err, c.Close())
			}
			m.conns[r] = c
			return nil
		}); err != nil {
			return fmt.Errorf("rank %d at %s: %w", r, address, err)
		}
	}
	return nil
}

// retry calls f until it succeeds or the context ends. In that case it returns f's last error.
func (m *meeting) retry(f func() error) (err error) {
	for {
		failed := f()
		if failed == nil {
			return nil
		}
		var refused refusal
		switch {
		case err != nil && m.ctx.Err() != nil: // the context has ended the call
		case errors.As(err, &refused) && !errors.As(failed, &refused): // the refusal is the better error
		default:
			err = failed
		}
		select {
		case <-m.ctx.Done():
			return err
		case <-time.After(retry):
		}
	}
}

func (m *meeting) dial(address string) (net.Conn, error) {
	kind, at, err := network(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: 2 * handshakeTime}
	return d.DialContext(m.ctx, kind, at)
}

// sendHello sends this rank's hello and waits for the answer.
func (m *meeting) sendHello(c net.Conn, s secret, own endpoint) error {
	stop := m.limit(c, handshakeTime)
	defer stop()
	err := binary.Write(c, binary.BigEndian, hello{magic, s, uint32(m.place.Rank), uint32(m.place.Size), own})
	var a answer
	if err == nil {
		err = binary.Read(c, binary.BigEndian, &a)
	}
	switch {
	case err != nil:
		return fmt.Errorf("what listens there does not answer like a rank of this run: %w", err)
	case a.Magic != magic:
		return errors.New("what listens there is not a rank of this run: its answer has another format")
	case a.Accepted != 1:
		return refusal(bytes.TrimRight(a.Reason[:], "\x00"))
	}
	return nil
}

// limit ends reads and writes of c after a time (0: no limit), or when the context ends. stop removes the limit.
func (m *meeting) limit(c net.Conn, within time.Duration) (stop func()) {
	if within > 0 {
		_ = c.SetDeadline(time.Now().Add(within)) // a closed connection fails anyway
	}
	release := context.AfterFunc(m.ctx, func() { _ = c.SetDeadline(time.Now()) })
	return func() {
		if release() {
			_ = c.SetDeadline(time.Time{})
		}
	}
}

// read and write transfer rank 0's message to the others when all are connected.
func (m *meeting) read(c net.Conn, drawn *secret, where []endpoint) error {
	defer m.limit(c, 0)()
	if err := cmp.Or(binary.Read(c, binary.BigEndian, drawn), binary.Read(c, binary.BigEndian, where)); err != nil {
		return fmt.Errorf("rank 0 has ended, or it still waits for other ranks: %w", err)
	}
	return nil
}

func (m *meeting) write(c net.Conn, drawn secret, where []endpoint) error {
	defer m.limit(c, handshakeTime)()
	return cmp.Or(binary.Write(c, binary.BigEndian, drawn), binary.Write(c, binary.BigEndian, where))
}

// receive waits at l until all given ranks have connected, and returns their endpoints.
func (m *meeting) receive(l net.Listener, s secret, ranks []int) (where []endpoint, err error) {
	ctx, cancel := context.WithCancel(m.ctx)
	m.listener, m.end = l, cancel
	m.arrived = make(chan arrival)
	m.refused.Store(nil)
	closed := make(chan struct{})
	context.AfterFunc(ctx, func() { defer close(closed); _ = l.Close() })
	defer func() { <-closed }() // the address is free again when Join returns
	defer m.stopListening()     // ends ctx
	go m.accept(ctx, l, s, ranks)
	where = make([]endpoint, m.place.Size)
	missing := slices.Clone(ranks)
	for len(missing) > 0 {
		select {
		case a := <-m.arrived:
			r := int(a.Rank)
			if m.conns[r] != nil { // the rank was started again
				_ = m.conns[r].Close()
			}
			m.conns[r], where[r] = a.conn, a.Endpoint
			missing = slices.DeleteFunc(missing, func(x int) bool { return x == r })
		case <-ctx.Done():
			err := fmt.Errorf("%s not there", are(missing))
			if text := m.refused.Load(); text != nil {
				err = fmt.Errorf("%w (it refused %s)", err, *text)
			}
			return nil, err
		}
	}
	return where, nil
}

// stopListening closes the listener.
func (m *meeting) stopListening() {
	if m.listener != nil {
		_ = m.listener.Close() // it may be closed already
	}
	if m.end != nil {
		m.end()
	}
}

// accept passes on the connections of ranks until the listener is closed.
func (m *meeting) accept(ctx context.Context, l net.Listener, s secret, ranks []int) {
	places := make(chan struct{}, handshakes)
	for {
		c, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			select { // too many open files, for instance
			case <-ctx.Done():
				return
			case <-time.After(retry):
				continue
			}
		}
		places <- struct{}{}
		go func() {
			defer func() { <-places }()
			h, err := m.answerHello(c, s, ranks)
			if err == nil {
				select {
				case m.arrived <- arrival{h, c}:
					return
				case <-ctx.Done():
				}
			}
			_ = c.Close() // not a rank of this run
		}()
	}
}

// answerHello reads the hello of a connection and answers it.
func (m *meeting) answerHello(c net.Conn, s secret, ranks []int) (h hello, err error) {
	defer m.limit(c, handshakeTime)()
	if err := binary.Read(c, binary.BigEndian, &h); err != nil {
		return h, err
	}
	if h.Magic != magic {
		return h, errors.New("no rank")
	}
	a, reason := answer{Magic: magic}, ""
	switch {
	case h.Size != uint32(m.place.Size):
		reason = fmt.Sprintf("rank %d of %d: there are %d ranks here", h.Rank, h.Size, m.place.Size)
	case h.Secret != s:
		reason = fmt.Sprintf("rank %d of another run, or of another attempt of this one", h.Rank)
	case !slices.Contains(ranks, int(h.Rank)):
		reason = fmt.Sprintf("rank %d: want one of %v", h.Rank, ranks)
	default:
		a.Accepted = 1
	}
	copy(a.Reason[:], reason)
	if reason != "" {
		m.refused.Store(&reason)
		err = errors.New(reason)
	}
	return h, errors.Join(binary.Write(c, binary.BigEndian, a), err)
}
