package journal_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/pbt/journal"
)

func TestReadHistory(t *testing.T) {
	const head = `{"event":"population","iteration":0,"steps":0,"run":{"schema":1,"members":2,"objective":"o","interval_steps":10,"seed":1,"strategy":"s"}}` + "\n"
	starts := []string{
		`{"event":"start","iteration":0,"member":0,"steps":0,"after":{"lr":0.1},"seed":7}` + "\n",
		`{"event":"start","iteration":0,"member":1,"steps":0,"after":{"lr":0.2},"seed":8}` + "\n",
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	single, many, empty := t.TempDir(), t.TempDir(), t.TempDir()
	write(filepath.Join(single, "000", journal.File), head+starts[0]+starts[1])
	write(filepath.Join(many, "000", journal.File), head+starts[0])
	write(filepath.Join(many, "001", journal.File), head+starts[1])
	write(filepath.Join(empty, "000", journal.File), "")
	for _, path := range []string{single, many, filepath.Join(single, "000", journal.File)} {
		h, err := journal.ReadHistory(path)
		if err != nil || len(h.Members) != 2 || h.Members[1].Hyperparameters["lr"][0].Value != 0.2 {
			t.Errorf("%s: %+v, %v", path, h, err)
		}
	}
	if _, err := journal.ReadHistory(empty); err == nil || !strings.Contains(err.Error(), "has not begun to train") {
		t.Errorf("an empty journal gives %v", err)
	}
	if _, err := journal.ReadHistory(filepath.Join(empty, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder gives %v", err)
	}
	if _, err := journal.ReadHistory(t.TempDir()); err == nil {
		t.Error("a folder without journals gives no error")
	}
}
