package timeline_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/timeline"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timeline.json")
	want := course()
	want.Phases[1].Architecture = "of two layers"
	must.Do(t, timeline.Write(path, want))
	must.Refuse(t, timeline.Write(path, timeline.Timeline{}))
	must.Equal(t, "the timeline read again", want, must.Get(timeline.Read(path))(t))
	for name, text := range map[string]string{
		"nothing": "", "cut": written[:60], "more": written + "{}",
		"another format": strings.Replace(written, `"schema": 1`, `"schema": 2`, 1),
		"unknown key":    strings.Replace(written, `"steps"`, `"stesp"`, 1),
	} {
		must.RefusedAs(timeline.Decode(strings.NewReader(text)))(t, name, "timeline: ")
	}
}

const written = `{"schema": 1, "member": 0, "steps": 9,
"phases": [{"from": 0, "member": 0, "hyperparameters": {"a": 1}}]}`

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
		must.Equal(t, "read again", s, must.Get(timeline.Read(path))(t))
	})
}
