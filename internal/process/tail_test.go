package process_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/process"
)

func TestTail(t *testing.T) {
	var lines []string
	tail := process.Tail{Each: func(line string) { lines = append(lines, line) }}
	for i := range 20 {
		fmt.Fprintf(&tail, "line %d\n", i)
	}
	long := strings.Repeat("note", 300)
	fmt.Fprintln(&tail, long)
	fmt.Fprint(&tail, "not en")
	fmt.Fprint(&tail, "ded")
	if len(lines) != 21 || lines[19] != "line 19" || lines[20] != long {
		t.Errorf("Each was called with %q", lines)
	}
	const n = process.TailLines
	if last := tail.Lines(); len(last) != n || last[0] != "line 10" || last[n-1] != "not ended" {
		t.Errorf("the last lines are %q", last)
	}
	fmt.Fprint(&tail, strings.Repeat("progress\r", 10_000))
	if last := tail.Lines(); len(last[n-1]) > 1000 || !slices.Contains(last, "line 19") {
		t.Errorf("behind a line that never ends the last lines are %q", last)
	}
}

// several is a writer that cannot be compared or be the key of a map.
type several []io.Writer

func (s several) Write(b []byte) (int, error) { return io.MultiWriter(s...).Write(b) }

// TestWriters runs a program whose outputs go to writers that cannot be compared, and to one writer.
func TestWriters(t *testing.T) {
	var out, err, both strings.Builder
	for _, o := range []process.Options{{Stdout: several{&out}, Stderr: several{&err}},
		{Stdout: &both, Stderr: &both}} {
		o.Argv = []string{"sh", "-c", "echo out; echo err >&2"}
		p, failed := process.Start(o)
		if failed != nil {
			t.Fatal(failed)
		}
		<-p.Done()
	}
	if out.String() != "out\n" || err.String() != "err\n" || both.String() != "out\nerr\n" {
		t.Errorf("the writers have %q, %q and %q", &out, &err, &both)
	}
}
