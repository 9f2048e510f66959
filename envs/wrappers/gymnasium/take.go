package gymnasium

import (
	"unsafe"

	"github.com/gorl-dev/gorl/spaces"
)

// take copies rows of the shared memory into to, and checks the copy. It takes the environments from first to last
// (exclusive) of child c, w numbers each; runs say which columns are bytes, choices which are discrete. name is what
// errors call a row. The usual case, finite real numbers, is one pass; inspect looks for the value at fault only
// after that.
func take(c *child, name string, first, last int, to []float32, from rows, w int, runs []spaces.Run,
	choices []int) error {
	out := to[first*w : last*w]
	var good bool
	if len(from.bytes) == 0 {
		good = copyFinite(out, from.floats[first*w:last*w])
	} else {
		from.widen(out, first, w, runs)
		good = finite(out)
	}
	if good && choices == nil {
		return nil
	}
	return inspect(c, name, first, out, w, choices)
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

// finite reports whether all numbers are finite. NaN and infinities have an exponent of ones only, so adding 1 to the
// exponent carries into the bit of the sign. Two numbers are checked in one 64-bit word, four words in a round,
// without a branch: steps of large batches spend much of their time here.
func finite(rows []float32) bool {
	const exponents, ones, signs = 0x7f80_0000_7f80_0000, 0x0080_0000_0080_0000, 0x8000_0000_8000_0000
	if len(rows) < 2 {
		return len(rows) == 0 || rows[0]-rows[0] == 0
	}
	pairs := unsafe.Slice((*uint64)(unsafe.Pointer(&rows[0])), len(rows)/2)
	last := rows[len(rows)-1]
	var a, b, c, d uint64
	for ; len(pairs) >= 4; pairs = pairs[4:] {
		a |= pairs[0]&exponents + ones
		b |= pairs[1]&exponents + ones
		c |= pairs[2]&exponents + ones
		d |= pairs[3]&exponents + ones
	}
	for _, p := range pairs {
		a |= p&exponents + ones
	}
	return (a|b|c|d)&signs == 0 && last-last == 0
}

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
// environments from first on, w numbers each.
func inspect(c *child, name string, first int, rows []float32, w int, choices []int) error {
	for j, x := range rows {
		switch {
		case x-x != 0:
			return c.fault(FaultData, nil, "environment %d: the %s has %g in dimension %d; it must be finite",
				first+j/w, name,
				x, j%w)
		case choices == nil || choices[j%w] == 0:
		case x < 0 || x >= float32(choices[j%w]) || x != float32(int(x)):
			return c.fault(FaultData, nil,
				"environment %d: the %s has %g in dimension %d; it must be a whole number from 0 to %d", first+j/w,
				name, x, j%w, choices[j%w]-1)
		}
	}
	return nil
}
