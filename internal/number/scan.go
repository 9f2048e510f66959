package number

import (
	"fmt"
	"math"
	"unsafe"
)

// A float32 is infinite or NaN if all bits of its exponent are set. Adding 1 to such an exponent carries into the
// sign's bit, which the mask has cleared. One 64-bit word tests two values.
const (
	exponents = 0x7f800000_7f800000
	ones      = 0x00800000_00800000
	carries   = 0x80000000_80000000
)

// FirstNonFinite returns the index of the first NaN or infinity in x, or -1 if all values are finite. It is fast
// enough for every observation of a training: it tests eight values at a time, without a branch for each.
func FirstNonFinite(x []float32) int {
	i := 0
	for ; i+8 <= len(x); i += 8 {
		w := (*[4]uint64)(unsafe.Pointer(&x[i]))
		a, b := w[0]&exponents+ones, w[1]&exponents+ones
		c, d := w[2]&exponents+ones, w[3]&exponents+ones
		if (a|b|c|d)&carries != 0 {
			break
		}
	}
	for ; i < len(x); i++ {
		if math.Float32bits(x[i])&0x7f800000 == 0x7f800000 {
			return i
		}
	}
	return -1
}

// CheckRows returns an error that names the environment, the dimension and the value of the first NaN or infinity in
// rows, one row of width values an environment. It passes over the environments whose skip is true; nil skips none.
func CheckRows(rows []float32, width int, skip []bool) error {
	for from := 0; from < len(rows); {
		i := FirstNonFinite(rows[from:])
		if i < 0 {
			return nil
		}
		i += from
		env := i / width
		if skip == nil || !skip[env] {
			return fmt.Errorf("environment %d, dimension %d is %g; it must be finite", env, i%width, rows[i])
		}
		from = (env + 1) * width
	}
	return nil
}
