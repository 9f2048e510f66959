package memory_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// ring is what a replay must be, in plain Go.
type ring struct {
	rows   [][2]float32
	next   int
	length int
}

func (r *ring) add(row [2]float32) {
	r.rows[r.next] = row
	r.next = (r.next + 1) % len(r.rows)
	r.length = min(r.length+1, len(r.rows))
}

// compare looks at every row.
func (r *ring) compare(t *testing.T, m *memory.Replay) {
	t.Helper()
	if m.Len() != int64(r.length) || m.Next() != int64(r.next) || m.Capacity() != int64(len(r.rows)) {
		t.Fatalf("length %d, next %d, capacity %d; want %d, %d, %d", m.Len(), m.Next(), m.Capacity(), r.length,
			r.next, len(r.rows))
	}
	data := check.Get(tensor.Float32s(m.Data()))(t)
	for i, row := range r.rows[:r.length] {
		if data[2*i] != row[0] || data[2*i+1] != row[1] {
			t.Fatalf("row %d is %v, want %v", i, data[2*i:2*i+2], row)
		}
	}
}

// Whatever is written, wherever it wraps, the replay holds the last rows.
func TestReplayWraps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	gen := tensortest.Opened[*tensor.Generator](t)(tensor.NewGenerator(1, tensor.CPU))
	for range 60 {
		capacity := 1 + rng.IntN(12)
		m := check.Get(memory.NewReplay(capacity, 2, tensor.CPU))(t)
		want := &ring{rows: make([][2]float32, capacity)}
		id := float32(1)
		for range 25 {
			n := 1 + rng.IntN(2*capacity+1)
			var rows []float32
			for range n {
				want.add([2]float32{id, -id})
				rows = append(rows, id, -id)
				id++
			}
			s := tensor.NoGrad()
			m.Add(s, tensor.From(s, rows, int64(n), 2))
			want.compare(t, m)
			drawn := tensortest.Float32s(t, s, m.Sample(s, gen, 30)) // whole rows that are there
			for row := range slices.Chunk(drawn, 2) {
				if !slices.Contains(want.rows[:want.length], [2]float32(row)) || len(drawn) != 60 {
					t.Fatalf("Sample drew %v, which is not there", row)
				}
			}
			s.Close()
		}
		m.Close()
		m.Close()
	}
}

// Every row of a replay that has just wrapped is drawn, which is where skrl's is wrong.
func TestReplaySamplesAll(t *testing.T) {
	m := tensortest.Opened[*memory.Replay](t)(memory.NewReplay(10, 1, tensor.CPU))
	gen := tensortest.Opened[*tensor.Generator](t)(tensor.NewGenerator(1, tensor.CPU))
	s := tensortest.NoGrad(t, tensor.CPU)
	for i := range 3 {
		m.Add(s, tensor.From(s, []float32{float32(4 * i), float32(4*i + 1), float32(4*i + 2), float32(4*i + 3)}, 4, 1))
	}
	count := map[float32]int{}
	for _, x := range tensortest.Float32s(t, s, m.Sample(s, gen, 10_000)) {
		count[x]++
	}
	for x := float32(2); x < 12; x++ {
		if count[x] < 850 || count[x] > 1150 { // five standard deviations
			t.Errorf("row %g was drawn %d times of 10000, want about 1000", x, count[x])
		}
	}
	if len(count) != 10 {
		t.Errorf("%d different rows were drawn, want 10", len(count))
	}
}

// Rows of any space come back as they were, whichever columns are bytes, through rollouts and replays.
func TestPacking(t *testing.T) {
	picture, rng := spaces.NewPicture(3, 2, 2), rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		space spaces.Space
		bytes int // of a kept row
	}{
		{spaces.Unbounded(5), 20},
		{picture, 12},
		{spaces.NewTuple(spaces.NewDiscrete(4), picture, spaces.Unbounded(2), picture), 4 + 12 + 8 + 12},
	} {
		p := memory.NewPacking(c.space)
		r := check.Get(memory.NewRollout(2, 3, []memory.Field{p.Field("x")}, tensor.CPU))(t)
		m := check.Get(p.NewReplay(8, tensor.CPU))(t)
		s := tensor.NoGrad()
		size := map[tensor.DType]int{tensor.Uint8: 1, tensor.Float32: 4}[tensor.TypeOf(r.Rows("x"))]
		check.Is(t, int(tensor.Size(r.Rows("x"), 1))*size, c.bytes, "bytes of a row of %v", c.space)
		var all []float32
		for range 2 {
			rows := c.space.Rows(3)
			c.space.Sample(rng, rows)
			all = append(all, rows...)
			s.Copy(r.Row("x"), pack(t, s, p, rows))
			r.Advance()
		}
		m.Add(s, r.Rows("x"))
		m.Add(s, pack(t, s, p, all[:c.space.Width()]))
		for name, kept := range map[string]tensor.Tensor{"rollout": r.Rows("x"), "replay": s.Narrow(m.Data(), 0, 0, 6),
			"packed": s.Cat(0, s.Narrow(m.Data(), 0, 6, 1), s.Narrow(r.Rows("x"), 0, 1, 5))} {
			check.Same(t, tensortest.Float32s(t, s, p.Float32(s, kept)), all, "%v in a %s", c.space, name)
		}
		m.Close()
		r.Close()
		s.Close()
	}
}

// pack returns rows as they are kept.
func pack(t *testing.T, s *tensor.Scope, p *memory.Packing, rows []float32) tensor.Tensor {
	t.Helper()
	transfer := tensor.NewTransfer(s.Device())
	defer transfer.Close()
	sent := check.Get(p.Stage(transfer, rows))(t)
	other := slices.Clone(rows)
	other[len(other)-1]++
	if !p.Same(sent, rows) || p.Same(sent, other) {
		t.Errorf("%v in a transfer are compared wrongly", rows)
	}
	transfer.Send(s)
	return sent.Tensor(s)
}

// must ends the test if its error is not nil.
var must = check.Do

// What is too large or empty, or does not fit, is refused before anything is allocated or changed.
func TestRefuses(t *testing.T) {
	fields := []memory.Field{{Name: "x", Width: 2}, {Name: "y", Width: 1}}
	for _, c := range []struct {
		steps, envs int
		fields      []memory.Field
		want        string
	}{
		{0, 1, fields, "must be positive"}, {1, 1, append(fields, fields[0]), "two fields"},
		{math.MaxInt, 1 << 20, fields, "bytes of memory"},
	} {
		check.RefusedAs(memory.NewRollout(c.steps, c.envs, c.fields, tensor.CPU))(t, c, c.want)
	}
	check.RefusedAs(memory.NewReplay(1<<59, 1<<20, tensor.CPU))(t, "a large replay", "bytes of memory")
	m := tensortest.Opened[*memory.Replay](t)(memory.NewReplay(4, 2, tensor.CPU))
	gen := tensortest.Opened[*tensor.Generator](t)(tensor.NewGenerator(1, tensor.CPU))
	for name, f := range map[string]func(s *tensor.Scope){
		"empty":       func(s *tensor.Scope) { m.Sample(s, gen, 1) },
		"narrow rows": func(s *tensor.Scope) { m.Add(s, s.Ones(3, 1)) },
	} {
		s := tensor.NoGrad()
		f(s)
		check.RefuseAs(t, name, s.Err(), "memory: ")
		s.Close()
	}
	for _, c := range [][2]int64{{5, 0}, {0, 4}, {0, -1}} {
		check.RefuseAs(t, c, m.SetCursor(c[0], c[1]), "memory: ")
	}
	p := memory.NewPacking(spaces.NewTuple(spaces.Unbounded(1), spaces.NewPicture(1, 1, 2)))
	transfer := tensor.NewTransfer(tensor.CPU)
	defer transfer.Close()
	for _, bad := range []float32{-1, 256, 1.5, float32(math.NaN())} {
		check.RefusedAs(p.Stage(transfer, []float32{7, 8, 9, 7, 8, bad}))(t, bad, "environment 1, dimension 2")
	}
}

// Split cuts all rows into parts that differ by one row at most, the longer ones first. Chunks cuts equal parts and
// drops the rest.
func TestSplitAndChunks(t *testing.T) {
	for n := range int64(40) {
		for k := int64(1); k < 45; k++ {
			parts, end := memory.Split(n, k), int64(0)
			check.Is(t, int64(len(parts)), min(n, k), "parts of Split(%d, %d)", n, k)
			for i, p := range parts {
				length := n / int64(len(parts))
				if int64(i) < n%int64(len(parts)) {
					length++
				}
				check.Is(t, p, memory.Span{Start: end, Len: length}, "part %d of Split(%d, %d)", i, n, k)
				end += length
			}
			chunks := memory.Chunks(n, k)
			check.Is(t, int64(len(chunks)), min(n/k, 1)*k, "parts of Chunks(%d, %d)", n, k)
			for i, p := range chunks {
				check.Is(t, p, memory.Span{Start: int64(i) * (n / k), Len: n / k}, "part %d of Chunks(%d, %d)", i, n, k)
			}
		}
	}
}

// TestMain fails if a test leaves tensors alive.
func TestMain(m *testing.M) { os.Exit(tensortest.Run(m)) }
