package process_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/process"
)

func TestTail(t *testing.T) {
	ended, latest := 0, ""
	tail := process.Tail{Each: func(line string) {
		latest = line
		if line == fmt.Sprintf("line %d", ended) {
			ended++
		}
	}}
	for i := range 20 {
		fmt.Fprintf(&tail, "line %d\n", i)
	}
	long := strings.Repeat("note", 300)
	if fmt.Fprintln(&tail, long); latest != long {
		t.Errorf("Each was called with %d bytes of a line of %d", len(latest), len(long))
	}
	fmt.Fprint(&tail, "not en")
	fmt.Fprint(&tail, "ded")
	const n = process.TailLines
	last := tail.Lines()
	if ended != 20 {
		t.Errorf("Each was called with %d lines in their order, want 20", ended)
	}
	if len(last) != n || last[0] != "line 10" || last[n-1] != "not ended" {
		t.Errorf("the last lines are %q", last)
	}
	fmt.Fprint(&tail, strings.Repeat("progress\r", 10_000))
	if last = tail.Lines(); len(last[n-1]) > 1000 {
		t.Errorf("a line that never ends takes %d bytes", len(last[n-1]))
	}
	if !slices.Contains(last, "line 19") {
		t.Errorf("the last lines are %q", last)
	}
}
