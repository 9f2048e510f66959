package timeline_test

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/timeline"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timeline.json")
	want := course()
	want.Phases[1].Architecture = "of two layers"
	must.Do(t, timeline.Write(path, want))
	if err := timeline.Write(path, timeline.Timeline{}); err == nil {
		t.Error("Write accepts what Read refuses")
	}
	if got, err := timeline.Read(path); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v, %s", err, cmp.Diff(want, got))
	}
	if _, err := timeline.Read(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

const written = `{"schema": 1, "member": 0, "steps": 9,
"phases": [{"from": 0, "member": 0, "hyperparameters": {"a": 1}}]}`

func TestDecodeRejects(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "cut": written[:60], "more": written + "{}",
		"another format": strings.Replace(written, `"schema": 1`, `"schema": 2`, 1),
		"unknown key":    strings.Replace(written, `"steps"`, `"stesp"`, 1),
	} {
		if s, err := timeline.Decode(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(),
			"timeline: ") {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// What Decode accepts is valid, survives writing, and answers everywhere.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(written))
	f.Add([]byte(strings.Replace(written, `"a": 1`, `"a": 1e999`, 1)))
	f.Add([]byte(strings.Replace(written, `"from": 0`, `"from": -9223372036854775808`, 1)))
	path := filepath.Join(f.TempDir(), "timeline.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := timeline.Decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, steps := range []int64{-1 << 63, -1, 0, s.Steps, 1<<63 - 1} {
			s.At(steps)
		}
		must.Do(t, timeline.Write(path, s))
		again := must.Get(timeline.Read(path))(t)
		if d := cmp.Diff(s, again); d != "" {
			t.Error(d)
		}
	})
}
