package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// board3 is a folder in which member 0 has published three records and member 1 one.
func board3(t *testing.T) (dir string, s Lease) {
	t.Helper()
	dir = t.TempDir()
	f := openFolder(t, dir, 2, FolderOptions{})
	s = join(t, f, 0)
	for i := int64(1); i <= 3; i++ {
		mustPublish(t, s, record(0, i, float64(i)))
	}
	mustPublish(t, join(t, f, 1), record(1, 3, 1))
	return dir, s
}

// seal gives an altered record a checksum that fits.
func seal(text string) []byte {
	body, _, _ := strings.Cut(text, checkKey)
	sum := sha256.Sum256([]byte(body))
	return []byte(body + checkKey + `"` + hex.EncodeToString(sum[:]) + "\"\n")
}

// A damaged record is reported with its file. The records before it count, and the next one does.
func TestDamagedRecords(t *testing.T) {
	t.Parallel()
	replace := func(old, new string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			text := string(must.Read(t, path))
			if !strings.Contains(text, old) {
				t.Fatalf("%q is not in\n%s", old, text)
			}
			write(t, path, seal(strings.Replace(text, old, new, 1)))
		}
	}
	for name, damage := range map[string]func(t *testing.T, path string){
		"huge": func(t *testing.T, p string) { write(t, p, bytes.Repeat([]byte("#"), maxRecord+1)) },
		"altered": func(t *testing.T, p string) {
			write(t, p, bytes.Replace(must.Read(t, p), []byte("true_objective: 3.0"), []byte("true_objective: 4.0"), 1))
		},
		"cut off":             func(t *testing.T, p string) { write(t, p, must.Read(t, p)[:200]) },
		"Isaac Lab's":         func(t *testing.T, p string) { write(t, p, []byte("frame: 1\niteration: 3\n")) },
		"another iteration's": func(t *testing.T, p string) { write(t, p, must.Read(t, p[:len(p)-6]+"2.yaml")) },
		"another member's": func(t *testing.T, p string) {
			write(t, p, must.Read(t, filepath.Join(p, "../../001/000003.yaml")))
		},
		"newer format":  replace("schema: 1", "schema: 2"),
		"absolute path": replace(`checkpoint: "000/000003.safetensors"`, `checkpoint: "/etc/passwd"`),
		"parent":        replace("parent: -1", "parent: 2"),
		"NaN parameter": replace(": 0.99", ": .nan"),
		"unknown key":   replace("samples: 3", "samples: 3\nepisodes: 3"),
		"link":          link("000002.yaml"),
		"a pipe":        pipe,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, s := board3(t)
			path := filepath.Join(dir, "000", "000003.yaml")
			warm := openFolder(t, dir, 2, FolderOptions{}) // has seen it sound
			mustView(t, warm)
			damage(t, path)
			for _, f := range []*Folder{warm, openFolder(t, dir, 2, FolderOptions{})} {
				wantDamaged(t, f, path)
			}
			mustPublish(t, s, record(0, 4, 4))
			must.Do(t, s.Prune(23))
			v := must.Get(warm.View())(t)
			must.Equal(t, "the records", []int64{4}, iterations(v.Members[0].Records))
		})
	}
}

func link(target string) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		must.Do(t, errors.Join(os.Remove(path), os.Symlink(target, path)))
	}
}

// Weights that are missing, cut off or not a file show in View, altered ones in Fetch. A record that View did not
// return reaches no file.
func TestDamagedWeights(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage  func(t *testing.T, path string)
		atFetch bool // shows only when they are read
	}{
		"missing":   {func(t *testing.T, p string) { os.Remove(p) }, false},
		"truncated": {func(t *testing.T, p string) { os.Truncate(p, 50) }, false},
		"link":      {link("000002.safetensors"), false},
		"a pipe":    {pipe, false},
		"another's": {func(t *testing.T, p string) { write(t, p, must.Read(t, p[:len(p)-13]+"2.safetensors")) }, true},
	} {
		dir, _ := board3(t)
		f := openFolder(t, dir, 2, FolderOptions{})
		newest := mustView(t, f).Members[0].Records[0]
		path := filepath.Join(dir, "000", "000003.safetensors")
		c.damage(t, path)
		_, err := f.Fetch(newest)
		var d *checkpoint.DamagedError
		if damaged := errors.As(err, &d) && d.Path == path; err == nil || damaged == (name == "missing") {
			t.Errorf("%s: %v", name, err)
		}
		if !c.atFetch {
			wantDamaged(t, f, path)
		}
	}
	dir, _ := board3(t)
	f := openFolder(t, dir, 2, FolderOptions{})
	for name, spoil := range map[string]func(r *Record){
		"absolute":   func(r *Record) { r.Weights.Path = filepath.Join(dir, "000", "000003.safetensors") },
		"huge":       func(r *Record) { r.Weights.Size = 1 << 62 },
		"no weights": func(r *Record) { r.Weights = nil },
	} {
		r := mustView(t, f).Members[0].Records[0]
		spoil(&r)
		must.RefusedAs(f.Fetch(r))(t, name, "workspace: ")
	}
}

// A damaged heartbeat is reported; the last good one counts until the next.
func TestDamagedHeartbeat(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, dir, 2, FolderOptions{})
	s := join(t, f, 0)
	beat := Heartbeat{Phase: Training, Iteration: 7, Parent: -1}
	must.Do(t, errors.Join(s.Beat(beat), join(t, f, 1).Beat(beat)))
	seen := mustView(t, f).Members[0].Seen
	path := filepath.Join(dir, "000", heartbeatName)
	write(t, path, must.Read(t, filepath.Join(dir, "001", heartbeatName)))
	for i, reader := range []*Folder{f, f, openFolder(t, dir, 2, FolderOptions{})} {
		p := must.Get(reader.View())(t).Members[0]
		var d *checkpoint.DamagedError
		if len(p.Damaged) != 1 || !errors.As(p.Damaged[0], &d) || d.Path != path {
			t.Errorf("damaged: %v", p.Damaged)
		}
		if known := i < 2; known != (p.Heartbeat != nil) || known && !p.Seen.Equal(seen) {
			t.Errorf("reader %d uses %+v of %v", i, p.Heartbeat, p.Seen)
		}
	}
	must.Do(t, s.Beat(Heartbeat{Phase: Waiting, Parent: -1}))
	must.Is(t, mustView(t, f).Members[0].Heartbeat.Phase, Waiting, "the next phase")
}

func pipe(t *testing.T, path string) {
	must.Do(t, errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o644)))
}

// wantDamaged checks that member 0's third record is reported, and the ones before are there.
func wantDamaged(t *testing.T, f *Folder, path string) {
	t.Helper()
	v := must.Get(f.View())(t)
	p := v.Members[0]
	must.Equal(t, "iterations(p.Records)", []int64{2, 1}, iterations(p.Records))
	var d *checkpoint.DamagedError
	if len(p.Damaged) != 1 || !errors.As(p.Damaged[0], &d) || d.Path != path || d.Reason == "" ||
		!strings.HasPrefix(p.Damaged[0].Error(), "workspace: member 0: ") {
		t.Errorf("damaged: %v", p.Damaged)
	}
	if other := v.Members[1]; len(other.Records) != 1 || len(other.Damaged) > 0 {
		t.Errorf("another member suffers: %+v", other)
	}
	must.Do(t, checkWeights(must.Get(f.Fetch(p.Records[0]))(t), 0, 2))
}

// A link or a file in place of a member's folder is reported; other members are still read.
func TestDamagedFolders(t *testing.T) {
	dir, _ := board3(t)
	folder, elsewhere := filepath.Join(dir, "000"), filepath.Join(t.TempDir(), "000")
	must.Do(t, errors.Join(os.Rename(folder, elsewhere), os.Symlink(elsewhere, folder)))
	f := openFolder(t, dir, 2, FolderOptions{})
	v, err := f.View()
	if p := v.Members[0]; err != nil || len(p.Records) > 0 || len(p.Damaged) == 0 ||
		!strings.Contains(p.Damaged[0].Error(), "link") {
		t.Errorf("a member's folder is a link: %d records, %v, %v", len(p.Records), p.Damaged, err)
	}
	if len(v.Members[1].Records) != 1 {
		t.Error("another member suffers")
	}
	must.RefusedAs(f.Join(t.Context(), 0))(t, "behind a link", "")
	write(t, folder, nil)
	must.RefusedAs(f.Join(t.Context(), 0))(t, "a file in place of a member's folder", folder)
	must.Do(t, os.RemoveAll(dir))
	must.RefusedAs(f.View())(t, "the store is gone", dir)
}

// A damaged best is passed over, listed by View, and replaced by the member's next offer.
func TestDamagedBest(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, dir, 2, FolderOptions{})
	s, other := join(t, f, 0), join(t, f, 1)
	must.Do(t, errors.Join(s.PublishBest(record(0, 2, 9), weights(0, 2), false),
		other.PublishBest(record(1, 2, 5), weights(1, 2), false)))
	yaml := filepath.Join(dir, "best", "000", "000002.yaml")
	write(t, yaml, must.Read(t, yaml)[:200])
	if best, ok, err := f.Best(false); err != nil || !ok || best.Member != 1 {
		t.Errorf("the best of the rest is %+v, %t, %v", best, ok, err)
	}
	must.Refuse(t, errors.Join(must.Get(f.View())(t).Members[0].Damaged...), yaml)
	must.Do(t, s.PublishBest(record(0, 3, 7), weights(0, 3), false))
	if best, _, err := f.Best(false); err != nil || best.Iteration != 3 {
		t.Errorf("%+v, %v", best, err)
	}
	mustView(t, f)
}
