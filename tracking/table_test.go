package tracking

import (
	"bytes"
	"io"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestTable(t *testing.T) {
	var out bytes.Buffer
	must.Do(t, Table(&out, []string{"member", "parent", "objective", "done"}, [][]string{
		{"0", "-", "243.5", "100 %"},
		{"歩く", "0", "-3e-4", "5 %"},
		{"é\nx", "", "NaN"},
	}))
	must.Equal(t, "the table", `member  parent  objective   done
──────  ──────  ─────────  ─────
0            -      243.5  100 %
歩く         0      -3e-4    5 %
é x                   NaN
`, out.String())
	must.Refuse(t, Table(io.Discard, []string{"a"}, [][]string{{"1"}, {"1", "2"}}), "row 1")
	must.Refuse(t, Table(&brokenWriter{}, []string{"a"}, nil), errDisk.Error())
}
