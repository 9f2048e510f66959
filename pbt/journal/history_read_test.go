package journal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
)

func TestReadHistory(t *testing.T) {
	const head = `{"event":"population","iteration":0,"steps":0,"run":{"schema":1,"members":2,"objective":"o"}}` + "\n"
	starts := []string{
		`{"event":"start","iteration":0,"member":0,"steps":0,"after":{"lr":0.1},"seed":7}` + "\n",
		`{"event":"start","iteration":0,"member":1,"steps":0,"after":{"lr":0.2},"seed":8}` + "\n",
	}
	dir := t.TempDir()
	write := func(folder, text string) string {
		path := filepath.Join(dir, folder, journal.File)
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text),
			0o644)))
		return path
	}
	single := write("single/000", head+starts[0]+starts[1])
	write("many/000", head+starts[0])
	write("many/001", head+starts[1])
	write("empty/000", "")
	for _, path := range []string{filepath.Join(dir, "single"), filepath.Join(dir, "many"), single} {
		h, err := journal.ReadHistory(path)
		if err != nil || len(h.Members) != 2 || h.Members[1].Hyperparameters["lr"][0].Value != 0.2 {
			t.Errorf("%s: %+v, %v", path, h, err)
		}
	}
	must.Refused(journal.ReadHistory(filepath.Join(dir, "empty")))(t, "has not begun to train")
	for _, path := range []string{filepath.Join(dir, "nowhere"), dir} {
		if _, err := journal.ReadHistory(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s gives %v", path, err)
		}
	}
}

// A follower returns what Read returns: of journals that grow, are cut back, end in half a line, and are damaged.
func TestFollower(t *testing.T) {
	dir, f := t.TempDir(), journal.Follower{}
	path := filepath.Join(dir, "000", journal.File)
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	head := `{"event":"population","iteration":0,"steps":0,"run":{"schema":1,"members":1}}` + "\n"
	line := func(n int, kind string) string {
		return fmt.Sprintf(`{"event":%q,"iteration":%d,"member":0,"steps":%d}`+"\n", kind, n, 10*n)
	}
	for i, text := range []string{head, head + line(1, "keep"), head + line(1, "keep") + line(2, "keep") + `{"event":`,
		head + line(1, "keep") + line(2, "failed") + line(3, "keep"), head + line(1, "failed"),
		head + line(1, "keep") + line(2, "keep"), head + line(1, "nothing"), head + "\n", head + line(4, "final")[:50],
		head + strings.TrimSpace(line(4, "final")), head + line(4, "final")} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		want, fault := journal.ReadFS(os.DirFS(dir))
		got, err := f.ReadFS(os.DirFS(dir))
		if d := cmp.Diff(want, got); d != "" || fmt.Sprint(err) != fmt.Sprint(fault) {
			t.Errorf("text %d: %s, error %v, want %v", i, d, err, fault)
		}
	}
}
