package schedule_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/pbt/schedule"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "schedule.json")
	if err := schedule.Write(path, course()); err != nil {
		t.Fatal(err)
	}
	got, err := schedule.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(course(), got); d != "" {
		t.Error(d)
	}
	bad := course()
	bad.Steps = 1
	if err := schedule.Write(path, bad); err == nil {
		t.Error("what Read would refuse can be written")
	}
	if kept, err := schedule.Read(path); err != nil || !cmp.Equal(kept, course()) {
		t.Errorf("a refused schedule has changed the file: %v", err)
	}
	if _, err := schedule.Read(path + "x"); !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("a missing file: %v", err)
	}
}

func unwrapAll(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = u.Unwrap()
	}
}

const written = `{"schema": 1, "member": 0, "steps": 9, "phases": [{"from": 0, "member": 0, "hyperparameters": {"a": 1}}]}`

func TestDecodeRejects(t *testing.T) {
	if _, err := schedule.Decode(strings.NewReader(written)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"nothing": "", "cut": written[:60], "more": written + "{}",
		"another format": strings.Replace(written, `"schema": 1`, `"schema": 2`, 1),
		"no format":      strings.Replace(written, `"schema": 1, `, "", 1),
		"unknown key":    strings.Replace(written, `"steps"`, `"stesp"`, 1),
		"text":           strings.Replace(written, `"a": 1`, `"a": "1"`, 1),
		"no phases":      `{"schema": 1, "member": 0, "steps": 9}`,
	} {
		if s, err := schedule.Decode(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), "schedule: ") {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// What Decode accepts is valid, survives writing, and answers everywhere.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(written))
	f.Add([]byte(strings.Replace(written, `"a": 1`, `"a": 1e999`, 1)))
	f.Add([]byte(strings.Replace(written, `"from": 0`, `"from": -9223372036854775808`, 1)))
	path := filepath.Join(f.TempDir(), "schedule.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := schedule.Decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, steps := range []int64{-1 << 63, -1, 0, s.Steps, 1<<63 - 1} {
			s.At(steps)
		}
		if err := schedule.Write(path, s); err != nil {
			t.Fatal(err)
		}
		again, err := schedule.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s, again); d != "" {
			t.Error(d)
		}
	})
}
