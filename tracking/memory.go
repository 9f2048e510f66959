package tracking

import (
	"slices"
	"sync"
	"time"
)

// Memory is a [Sink] that keeps every scalar in memory. The zero value is ready.
type Memory struct {
	// Now is the clock. Default time.Now. Set it before the first scalar.
	Now func() time.Time

	mu      sync.Mutex
	scalars []Scalar
	closed  bool
	err     error
}

// Scalar implements [Sink].
func (m *Memory) Scalar(tag string, step int64, value float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		m.err = ErrClosed
		return
	}
	m.scalars = append(m.scalars, Scalar{Time: Options{Now: m.Now}.now()(), Step: step, Tag: tag, Value: value})
}

// Flush implements [Sink].
func (m *Memory) Flush() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Close implements [Sink]. The scalars remain readable.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return m.err
}

// Scalars returns a copy of all scalars, in their order.
func (m *Memory) Scalars() []Scalar {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.scalars)
}
