package gymnasium

import (
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/spaces"
)

// swap makes room for the rows of the next call, and keeps those of the last one as former.
func (t *table) swap() { t.now, t.former = t.former, t.now }

// repeat writes the former rows of the environments of c into to.
func (t *table) repeat(c *child, to []float32) {
	copy(to[c.from*t.width:c.to*t.width], t.former[c.from*t.width:])
}

// take copies and checks the rows that child c wrote.
func (t *table) take(c *child) error { return t.copy(c, "", c.from, c.to, t.now, t.shared) }

// takeLast copies and checks the last row of the episode of environment i, which is the child's.
func (t *table) takeLast(c *child, i int) error {
	return t.copy(c, "last ", i, i+1, t.finals, t.sharedFinals)
}

// copy copies rows of the shared memory into to, and checks the copy. It takes the environments from first to last
// (exclusive) of child c. Errors put which before the table's name. The usual case, finite real numbers, is one pass;
// inspect looks for the value at fault only after that.
func (t *table) copy(c *child, which string, first, last int, to []float32, from rows) error {
	out := to[first*t.width : last*t.width]
	var good bool
	if len(from.bytes) == 0 {
		good = copyFinite(out, from.floats[first*t.width:last*t.width])
	} else {
		from.widen(out, first, t.width, t.runs)
		good = finite(out)
	}
	if good && t.choices == nil {
		return nil
	}
	return t.inspect(c, which, first, out)
}

// copyFinite copies from into to, which has the same length, and reports whether all numbers of the copy are finite.
// It does so in portions of 8 KiB, which are still in the processor's cache when they are checked.
func copyFinite(to, from []float32) bool {
	const portion = 2048
	good := true
	for len(to) > portion {
		copy(to[:portion], from)
		good = finite(to[:portion]) && good
		to, from = to[portion:], from[portion:]
	}
	copy(to, from)
	return finite(to) && good
}

// finite reports whether all numbers are finite.
func finite(rows []float32) bool { return number.FirstNonFinite(rows) < 0 }

// widen copies rows of width w into out, from environment first on, and makes numbers of the bytes. out's length says
// how many rows.
func (r rows) widen(out []float32, first, w int, runs []spaces.Run) {
	small := 0
	for _, run := range runs {
		if run.DType == spaces.Uint8 {
			small += run.To - run.From
		}
	}
	floats, bytes := r.floats, r.bytes[first*small:]
	if large := w - small; large > 0 {
		floats = floats[first*large:]
	}
	for ; len(out) > 0; out = out[w:] {
		for _, run := range runs {
			n := run.To - run.From
			if run.DType != spaces.Uint8 {
				copy(out[run.From:run.To], floats)
				floats = floats[n:]
				continue
			}
			for j, x := range bytes[:n] {
				out[run.From+j] = float32(x)
			}
			bytes = bytes[n:]
		}
	}
}

// inspect returns an error for the first value that is not finite, or not a valid choice. rows are those of the
// environments from first on.
func (t *table) inspect(c *child, which string, first int, rows []float32) error {
	for j, x := range rows {
		i, column := first+j/t.width, j%t.width
		switch {
		case x-x != 0:
			return c.fault(FaultData, nil, "environment %d: the %s%s has %g in dimension %d; it must be finite", i,
				which, t.name, x, column)
		case t.choices == nil || t.choices[column] == 0:
		case x < 0 || x >= float32(t.choices[column]) || x != float32(int(x)):
			return c.fault(FaultData, nil,
				"environment %d: the %s%s has %g in dimension %d; it must be a whole number "+
					"from 0 to %d", i, which, t.name, x, column, t.choices[column]-1)
		}
	}
	return nil
}
