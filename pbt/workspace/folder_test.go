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
	"github.com/gorl-dev/gorl/internal/durable"
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

// A folder that is only read must exist, and nothing is written to it.
func TestReadOnlyWritesNothing(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenFolder(filepath.Join(dir, "no"), 1, FolderOptions{ReadOnly: true}); !errors.Is(err,
		fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	mustPublish(t, join(t, openFolder(t, dir, 1, FolderOptions{}), 0), record(0, 1, 1))
	before := files(t, dir)
	f := openFolder(t, dir, 1, FolderOptions{ReadOnly: true})
	v := mustView(t, f)
	if _, err := f.Fetch(v.Members[0].Records[0]); err != nil || v.Now.IsZero() {
		t.Errorf("%v, now %v", err, v.Now)
	}
	must.Refused(f.Join(t.Context(), 0))(t, "ReadOnly")
	must.Equal(t, "the files", before, files(t, dir))
}

// Records that have not changed are not read again, and weights never are.
func TestViewReadsWhatChanged(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, dir, 1, FolderOptions{})
	s := join(t, f, 0)
	r := mustPublish(t, s, record(0, 1, 1))
	first := mustView(t, f)
	for _, name := range []string{"000001.yaml", "000001.safetensors"} { // other contents, of the same size and time
		path := filepath.Join(dir, "000", name)
		info := must.Get(os.Stat(path))(t)
		data := must.Read(t, path)
		for i := range data {
			data[i] ^= 1
		}
		must.Do(t, errors.Join(os.WriteFile(path, data, 0o644), os.Chtimes(path, time.Time{},
			info.ModTime())))
	}
	must.Equal(t, "the members", first.Members, mustView(t, f).Members)
	var d *checkpoint.DamagedError
	if _, err := f.Fetch(r); !errors.As(err, &d) {
		t.Errorf("altered weights: %v", err)
	}
	if v, err := openFolder(t, dir, 1, FolderOptions{}).View(); err != nil || len(v.Members[0].Damaged) != 1 {
		t.Errorf("another reader sees %+v, %v", v, err)
	}
}

func TestPruneRemovesLeftoversAndNothingElse(t *testing.T) {
	t.Parallel()
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
	before := files(t, dir)
	others := []string{
		"000/state.json", "000/journal.jsonl", "000/state.json.tmp-1-2-3-4", "000/own/000001.safetensors",
		"000/000abc.yaml", "000/0000007.yaml.bak",
		"000/events.safetensors", "000/000003-2.pth", "001/000009.safetensors", "001/.heartbeat.json-0a-1",
		"001/000009.json.tmp-1-2-3-4", "best/001/000001.json", "notes.txt", "clock",
	}
	leftovers := []string{
		"000/000007.safetensors", "000/000007.json", "000/000003-2.safetensors", "000/000003-2.json",
		"000/000004.safetensors.tmp-aaaa-1-bbbb-1", "000/000004-2.json.tmp-aaaa-1-bbbb-1", "000/.heartbeat.json-0a1b-7",
		"000/.000004.yaml-0a1b-8",
	}
	for _, name := range append(others, leftovers...) {
		write(t, filepath.Join(dir, name), []byte("x"))
	}
	old := filepath.Join(dir, "000", ".lease-0a0b")
	write(t, old, nil)
	must.Do(t, os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)))
	dead := leaseFileText{Schema: leaseSchema, Number: 9, Token: "0e", Domain: f.domain} // killed while it joined
	text := must.Get(durable.Seal(&dead, &dead.Check))(t)
	if f.domain != "" {
		write(t, filepath.Join(dir, "000", ".lease-0e"), text)
	}
	fresh := "000/.lease-0c0d" // another process's, about to join
	write(t, filepath.Join(dir, fresh), nil)
	must.Do(t, s.Prune(0))
	want := append(append(before, others...), fresh)
	slices.Sort(want)
	got := files(t, dir)
	slices.Sort(got)
	must.Equal(t, "what is left", slices.Compact(want), got)
}

// A reader that holds a record whose weights' name has meanwhile gone to other weights is told to look again, not that
// the disk is failing.
func TestFetchOfAReplacedRecord(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, dir, 1, FolderOptions{})
	s := join(t, f, 0)
	old := mustPublish(t, s, record(0, 1, 1))
	for range 2 { // to 000001-2 and, once that is free, back to 000001
		must.Get(s.Publish(record(0, 1, 2), weights(0, 7)))(t)
		must.Do(t, s.Prune(0))
	}
	now := mustView(t, f).Members[0].Records[0]
	if now.Weights.Path != old.Weights.Path {
		t.Fatalf("%s is used again, not %s", now.Weights.Path, old.Weights.Path)
	}
	if _, err := f.Fetch(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old record's weights: %v", err)
	}
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

// A folder whose time is old is not read again until a file is added or replaced there.
func TestUnchangedFolders(t *testing.T) {
	dir := t.TempDir()
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
		v := must.Get(looking.View())(t)
		beats := must.Get(looking.Heartbeats())(t)
		m, b := v.Members[0], beats.Members[0]
		if len(m.Records) != records || len(m.Damaged) != damaged || m.Heartbeat.Steps != steps ||
			b.Heartbeat.Steps != steps || !b.Seen.Equal(m.Seen) || b.Records != nil || len(beats.Members) != 2 {
			t.Errorf("%d records, %v, heartbeats %+v and %+v; want %d, %d, %d steps", len(m.Records), m.Damaged,
				m.Heartbeat, b.Heartbeat, records, damaged, steps)
		}
	}
	settled()
	look(1, 0, 10)
	path := filepath.Join(dir, "000", "000001.yaml")
	must.Do(t, os.WriteFile(path, []byte("damaged in place, which does not change the folder's time"), 0o644))
	look(1, 0, 10)
	must.Do(t, s.Beat(Heartbeat{Phase: Training, Parent: -1, Steps: 20}))
	look(0, 1, 20)
	settled()
	look(0, 1, 20)
	mustPublish(t, s, record(0, 1, 5))
	mustPublish(t, s, record(0, 2, 6))
	look(2, 0, 20)
	settled()
	look(2, 0, 20)
	must.Do(t, os.RemoveAll(filepath.Join(dir, "000", "000002.yaml")))
	look(1, 0, 20)
}
