package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
)

func openFolder(t *testing.T, dir string, members int, opt FolderOptions) *Folder {
	t.Helper()
	return must.Get(OpenFolder(dir, members, opt))(t)
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.RemoveAll(path), os.WriteFile(path, data,
		0o644)))
}

// files lists the plain files under a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	list := []string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(dir, path)
			list = append(list, filepath.ToSlash(path))
		}
		return err
	})
	must.Do(t, err)
	return list
}

func TestLayout(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, dir, 2, FolderOptions{})
	s := join(t, f, 1)
	r := record(1, 12, 1e-5)
	r.Failure, r.Peak, r.HasPeak = "none: really", 3, true
	r = mustPublish(t, s, r)
	must.Do(t, errors.Join(s.Beat(Heartbeat{Phase: Training, Parent: -1}), s.PublishBest(r, weights(1, 12),
		false)))
	must.Get(f.View())(t)
	want := []string{
		"001/000012.json", "001/000012.safetensors", "001/000012.yaml", "001/heartbeat.json", "001/lease-000001.json",
		"best/001/000012.json", "best/001/000012.safetensors", "best/001/000012.yaml", "clock",
	}
	must.Equal(t, "the files", want, files(t, dir))
	text := string(must.Read(t, filepath.Join(dir, "001", "000012.yaml")))
	body, _, _ := strings.Cut(text, checkKey)
	wantText := fmt.Sprintf(`schema: 1
checkpoint: "001/000012.safetensors"
experiment_name: "walker"
frame: 1200
iteration: 12
params:
  "agent.discount_factor": 0.99
  "agent.learning_rate": 0.0003
pbt_checkpoint: "001/000012.yaml"
true_objective: 1.0e-05
policy: 1
copies: 0
weight_frame: 1200
since_copy: 1200
peak: 3.0
samples: 3
parent: -1
failure: "none: really"
size: %d
sha256: "%s"
`, r.Weights.Size, r.Weights.SHA256)
	must.Equal(t, "the record", wantText, body)
	if s.Dir() != filepath.Join(dir, "001") || f.Dir() != dir {
		t.Errorf("folders %s, %s", s.Dir(), f.Dir())
	}
	// The weights are a snapshot that the checkpoint package reads as any other.
	if saved, err := checkpoint.Load(filepath.Join(dir, r.Weights.Path)); err != nil || saved.Manifest.Step != r.Steps {
		t.Errorf("%v", err)
	}
}

func TestPruneRemovesLeftoversAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, dir, 2, FolderOptions{})
	s := join(t, f, 0)
	for i := int64(1); i <= 3; i++ {
		mustPublish(t, s, record(0, i, 1))
	}
	mustPublish(t, join(t, f, 1), record(1, 1, 1))
	must.Do(t, s.Beat(Heartbeat{Phase: Training, Parent: -1}))
	mustView(t, f)
	// A damaged record keeps its weights: it may be repaired.
	yaml := filepath.Join(dir, "000", "000002.yaml")
	write(t, yaml, must.Read(t, yaml)[:100])
	others := []string{"000/state.json", "000/state.json.tmp-1-2-3-4", "000/own/000001.safetensors", "000/000abc.yaml",
		"000/0000007.yaml.bak", "000/events.safetensors", "000/000003-2.pth", "001/000009.safetensors",
		"001/.heartbeat.json-0a-1", "001/000009.json.tmp-1-2-3-4", "best/001/000001.json", "notes.txt"}
	want := slices.Concat(files(t, dir), others)
	for _, name := range append(others,
		"000/000007.safetensors", "000/000007.json", "000/000003-2.safetensors", "000/000003-2.json",
		"000/000004.safetensors.tmp-aaaa-1-bbbb-1", "000/000004-2.json.tmp-aaaa-1-bbbb-1",
		"000/.heartbeat.json-0a1b-7", "000/.000004.yaml-0a1b-8", "000/.lease-0a1b-9") {
		write(t, filepath.Join(dir, name), []byte("x"))
	}
	must.Do(t, s.Prune(0))
	must.Equal(t, "what is left", slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(files(t, dir))))
}

// TestViewIsNotTorn: who is seen in an interval is seen with the record of the one before, however long the look takes.
func TestViewIsNotTorn(t *testing.T) {
	dir := t.TempDir()
	s := join(t, openFolder(t, dir, 1, FolderOptions{}), 0)
	next := func(i int64) {
		if _, err := s.Publish(Record{Iteration: i, Parent: -1}, nil); err != nil {
			t.Error(err)
		}
		if err := s.Beat(Heartbeat{Phase: Training, Iteration: i + 1, Parent: -1}); err != nil {
			t.Error(err)
		}
	}
	last := int64(200) // so many records take time to read
	for i := range last {
		next(i + 1)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				last++
				next(last)
			}
		}
	}()
	for range 10 {
		p := mustView(t, openFolder(t, dir, 1, FolderOptions{})).Members[0] // one that has read nothing yet
		if newest := p.Records[0].Iteration; newest < p.Heartbeat.Iteration-1 {
			t.Errorf("it is in interval %d, and its newest record is of %d", p.Heartbeat.Iteration, newest)
		}
	}
	close(stop)
	<-stopped
}

// A folder whose time is old is not read again until a file is added or replaced there. A folder that is only read must
// exist, and nothing is written to it.
func TestUnchangedFolders(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenFolder(filepath.Join(dir, "no"), 1, FolderOptions{ReadOnly: true}); !errors.Is(err,
		fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	f, looking := openFolder(t, dir, 2, FolderOptions{}), openFolder(t, dir, 2, FolderOptions{ReadOnly: true})
	s := join(t, f, 0)
	mustPublish(t, s, record(0, 1, 5))
	must.Do(t, s.Beat(Heartbeat{Phase: Training, Parent: -1, Steps: 10}))
	settled := func() {
		t.Helper()
		old := time.Now().Add(-time.Minute)
		must.Do(t, os.Chtimes(filepath.Join(dir, "000"), old, old))
	}
	look := func(records, damaged int, steps int64) {
		t.Helper()
		before := files(t, dir)
		v, beats := must.Get(looking.View())(t), must.Get(looking.Heartbeats())(t)
		m, b := v.Members[0], beats.Members[0]
		if len(m.Records) != records || len(m.Damaged) != damaged || m.Heartbeat.Steps != steps ||
			b.Heartbeat.Steps != steps || !b.Seen.Equal(m.Seen) || b.Records != nil || v.Now.IsZero() {
			t.Errorf("%d records, %v, heartbeats %+v and %+v; want %d, %d, %d steps", len(m.Records), m.Damaged,
				m.Heartbeat, b.Heartbeat, records, damaged, steps)
		}
		must.Equal(t, "the files", before, files(t, dir))
	}
	must.Refused(looking.Join(t.Context(), 0))(t, "ReadOnly")
	settled()
	look(1, 0, 10)
	path := filepath.Join(dir, "000", "000001.yaml")
	must.Do(t, os.WriteFile(path, []byte("damaged in place, which does not change the folder's time"), 0o644))
	look(1, 0, 10)
	must.Do(t, s.Beat(Heartbeat{Phase: Training, Parent: -1, Steps: 20}))
	look(0, 1, 20)
	settled()
	mustPublish(t, s, record(0, 1, 5))
	mustPublish(t, s, record(0, 2, 6))
	look(2, 0, 20)
	settled()
	must.Do(t, os.RemoveAll(filepath.Join(dir, "000", "000002.yaml")))
	look(1, 0, 20)
}
