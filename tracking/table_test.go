package tracking

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestTable(t *testing.T) {
	var out bytes.Buffer
	err := Table(&out, []string{"member", "parent", "objective", "done"}, [][]string{
		{"0", "-", "243.5", "100 %"},
		{"歩く", "0", "-3e-4", "5 %"},
		{"é\nx", "", "NaN"},
	})
	must.Do(t, err)
	want := strings.Join([]string{
		"member  parent  objective   done",
		"──────  ──────  ─────────  ─────",
		"0            -      243.5  100 %",
		"歩く         0      -3e-4    5 %",
		"é x                   NaN",
		"",
	}, "\n")
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestTableErrors(t *testing.T) {
	err := Table(io.Discard, []string{"a"}, [][]string{{"1"}, {"1", "2"}})
	must.Refuse(t, err, "row 1")
	if err := Table(&brokenWriter{}, []string{"a"}, nil); !errors.Is(err, errDisk) {
		t.Errorf("a failing writer: %v", err)
	}
}
