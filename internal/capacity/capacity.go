// Package capacity refuses what does not fit into memory before it is allocated, with the number of bytes: an
// allocation that the machine cannot hold ends a program without a word, long after the mistake.
package capacity

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
)

// Bound is how many bytes are allowed where the memory is not known: on systems other than Linux, and on GPUs. It is 1
// TiB.
const Bound = 1 << 40

// Error says that memory does not suffice.
type Error struct {
	// What names what was about to be allocated. Bytes are how many it would need, and Limit how many there are.
	What         string
	Bytes, Limit float64
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s would need %s bytes of memory (%s); there are %s (%s)",
		e.What, whole(e.Bytes), Size(e.Bytes), whole(e.Limit), Size(e.Limit))
}

// Check returns an *[Error] where bytes, an estimate of what is about to be allocated, are more than the machine's
// memory, or than the limit of the control group (container) that the program runs in. what names it, and the settings
// that make it so large. Bytes are a float64, as products of settings may be larger than any integer.
func Check(what string, bytes float64) error { return check(what, bytes, machine()) }

// CheckDevice is Check for a device whose memory is not known: against [Bound].
func CheckDevice(what string, bytes float64) error { return check(what, bytes, Bound) }

func check(what string, bytes, limit float64) error {
	if bytes <= limit {
		return nil
	}
	return &Error{what, bytes, limit}
}

// whole writes a number of bytes in digits, as far as a float64 has them.
func whole(bytes float64) string {
	if bytes < 1e18 {
		return strconv.FormatFloat(bytes, 'f', 0, 64)
	}
	return strconv.FormatFloat(bytes, 'g', 4, 64)
}

// Size writes a number of bytes with a unit, for example "125.3 KiB".
func Size(bytes float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for ; bytes >= 1024 && i < len(units)-1; i++ {
		bytes /= 1024
	}
	return strconv.FormatFloat(bytes, 'g', 4, 64) + " " + units[i]
}

// machine is the memory that this process may use: the least of what Linux says of the machine and of its control
// group, and Bound where it says nothing.
var machine = sync.OnceValue(func() float64 {
	limit := math.Inf(1)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kib float64
		if n, _ := fmt.Sscanf(string(text), "MemTotal: %f kB", &kib); n == 1 { // the first line
			limit = 1024 * kib
		}
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if text, err := os.ReadFile(path); err == nil {
			if n, err := strconv.ParseFloat(string(bytes.TrimSpace(text)), 64); err == nil { // else it is "max"
				limit = min(limit, n)
			}
		}
	}
	if math.IsInf(limit, 1) {
		return Bound
	}
	return limit
})
