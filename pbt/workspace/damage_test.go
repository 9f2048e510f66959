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

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/durable"
)

// board3 is a folder in which member 0 has published three records and member 1 one.
func board3(t *testing.T) (dir string, s Lease) {
	t.Helper()
	dir = t.TempDir()
	f := openFolder(t, dir, 2, FolderOptions{})
	s = mustJoin(t, f, 0)
	for i := int64(1); i <= 3; i++ {
		mustPublish(t, s, record(0, i, float64(i)))
	}
	mustPublish(t, mustJoin(t, f, 1), record(1, 3, 1))
	return dir, s
}

// seal gives an altered record a checksum that fits.
func seal(text string) []byte {
	body, _, _ := strings.Cut(text, checkKey)
	sum := sha256.Sum256([]byte(body))
	return []byte(body + checkKey + `"` + hex.EncodeToString(sum[:]) + "\"\n")
}

func TestDamagedRecords(t *testing.T) {
	t.Parallel()
	replace := func(old, new string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			text := string(read(t, path))
			if !strings.Contains(text, old) {
				t.Fatalf("%q is not in\n%s", old, text)
			}
			write(t, path, seal(strings.Replace(text, old, new, 1)))
		}
	}
	instead := func(text string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { write(t, path, []byte(text)) }
	}
	copied := func(from string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { write(t, path, read(t, filepath.Join(filepath.Dir(path), from))) }
	}
	link := func(target string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := errors.Join(os.Remove(path), os.Symlink(target, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, damage := range map[string]func(t *testing.T, path string){
		"empty":                  instead(""),
		"zeros":                  instead(strings.Repeat("\x00", 500)),
		"not YAML":               instead("a: [b"),
		"a list":                 instead("- 1\n"),
		"deep":                   instead(strings.Repeat("[", 100_000)),
		"aliases":                instead("a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nschema: *c\n"),
		"huge":                   instead(strings.Repeat("# much\n", maxRecord/6)),
		"JSON":                   copied("000003.json"),
		"weights":                copied("000003.safetensors"),
		"another iteration's":    copied("000002.yaml"),
		"another member's":       copied("../001/000003.yaml"),
		"not sealed":             func(t *testing.T, p string) { write(t, p, bytes.Replace(read(t, p), []byte("3.0"), []byte("4.0"), 1)) },
		"newer format":           replace("schema: 1", "schema: 2"),
		"no format":              replace("schema: 1\n", ""),
		"text format":            replace("schema: 1", `schema: "1"`),
		"absolute path":          replace(`checkpoint: "000/000003.safetensors"`, `checkpoint: "/etc/passwd"`),
		"path up":                replace(`checkpoint: "000/000003.safetensors"`, `checkpoint: "../secret.safetensors"`),
		"path round":             replace(`checkpoint: "000/000003.safetensors"`, `checkpoint: "000/../000/000003.safetensors"`),
		"another member's path":  replace(`checkpoint: "000/000003.safetensors"`, `checkpoint: "001/000003.safetensors"`),
		"another iteration path": replace(`checkpoint: "000/000003.safetensors"`, `checkpoint: "000/000002.safetensors"`),
		"manifest for weights":   replace(`checkpoint: "000/000003.safetensors"`, `checkpoint: "000/000003.json"`),
		"pbt_checkpoint":         replace(`"000/000003.yaml"`, `"000/000002.yaml"`),
		"iteration":              replace("iteration: 3", "iteration: -3"),
		"long iteration":         replace("iteration: 3", "iteration: 99999999999999999999"),
		"hexadecimal iteration":  replace("iteration: 3", "iteration: 0x3"),
		"member":                 replace("policy: 0", "policy: 2"),
		"copies":                 replace("copies: 0", "copies: -1"),
		"frame":                  replace("frame: 300", "frame: -300"),
		"fractional frame":       replace("frame: 300", "frame: 300.5"),
		"samples":                replace("samples: 3", "samples: -3"),
		"parent":                 replace("parent: -1", "parent: 2"),
		"size":                   replace("size: ", "size: 99999999999999"),
		"negative size":          replace("size: ", "size: -"),
		"checksum":               replace(`sha256: "`, `sha256: "A`),
		"NaN parameter":          replace(": 0.99", ": .nan"),
		"text parameter":         replace(": 0.99", ": fast"),
		"nested parameter":       replace(": 0.99", ": [0.99]"),
		"list of parameters":     replace("params:\n", "params: []\nignored:\n"),
		"parameter twice":        replace(`  "agent.discount_factor"`, `  "agent.learning_rate": 1.0`+"\n"+`  "agent.discount_factor"`),
		"unknown key":            replace("samples: 3", "samples: 3\nepisodes: 3"),
		"key twice":              replace("samples: 3", "samples: 3\nsamples: 4"),
		"missing key":            replace("samples: 3\n", ""),
		"text objective":         replace("true_objective: 3.0", "true_objective: good"),
		"list objective":         replace("true_objective: 3.0", "true_objective: [3.0]"),
		"null frame":             replace("frame: 300", "frame: null"),
		"number for text":        replace(`failure: ""`, "failure: 0"),
		"link":                   link("000002.yaml"),
		"link out":               link("/etc/hostname"),
		"link to nowhere":        link("nowhere"),
		"link to itself":         link("000003.yaml"),
		"a folder":               func(t *testing.T, p string) { write(t, filepath.Join(p, "x"), nil) },
		"a pipe":                 pipe,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, s := board3(t)
			path := filepath.Join(dir, "000", "000003.yaml")
			warm := openFolder(t, dir, 2, FolderOptions{}) // has seen it sound
			mustView(t, warm)
			if name == "a folder" {
				os.Remove(path)
			}
			damage(t, path)
			for _, f := range []*Folder{warm, openFolder(t, dir, 2, FolderOptions{})} {
				wantDamaged(t, f, path)
			}
			// The next record stands beside it, and Prune is not put off.
			mustPublish(t, s, record(0, 4, 4))
			if err := s.Prune(Keep{Oldest: 23}); err != nil {
				t.Error(err)
			}
			v, err := warm.View()
			if diff := cmp.Diff([]int64{4}, iterations(v.Members[0].Records)); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func pipe(t *testing.T, path string) {
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// wantDamaged checks that member 0's third record is reported, and the ones before are there.
func wantDamaged(t *testing.T, f *Folder, path string) {
	t.Helper()
	v, err := f.View()
	if err != nil {
		t.Fatal(err)
	}
	p := v.Members[0]
	if diff := cmp.Diff([]int64{2, 1}, iterations(p.Records)); diff != "" {
		t.Error(diff)
	}
	var d *checkpoint.DamagedError
	if len(p.Damaged) != 1 || !errors.As(p.Damaged[0], &d) || d.Path != path || d.Reason == "" || !strings.HasPrefix(p.Damaged[0].Error(), "workspace: member 0: ") {
		t.Errorf("damaged: %v", p.Damaged)
	}
	if other := v.Members[1]; len(other.Records) != 1 || len(other.Damaged) > 0 {
		t.Errorf("another member suffers: %+v", other)
	}
	snap, err := f.Fetch(p.Records[0])
	if err == nil {
		err = checkWeights(snap, 0, 2)
	}
	if err != nil {
		t.Error(err)
	}
}

// Whatever single bit of a record or a heartbeat flips, and wherever it is cut off, it is noticed.
func TestEveryFlippedBitIsNoticed(t *testing.T) {
	t.Parallel()
	r := record(0, 3, 1.5)
	r.Weights = &Weights{Path: "000/000003.safetensors", Size: 100, SHA256: strings.Repeat("0a", 32)}
	recordText, err := encodeRecord(r, "000")
	if err != nil {
		t.Fatal(err)
	}
	beat, err := encodeHeartbeat(Heartbeat{Owner: "a:1", Phase: Training, Iteration: 3, Objective: 1.5, HasObjective: true, Hyperparameters: r.Hyperparameters, Parent: -1, Note: "n"})
	if err != nil {
		t.Fatal(err)
	}
	l := leaseFileText{Schema: 1, Number: 3, Token: "0a", Owner: "a:1", Domain: "b"}
	leaseText, err := durable.Seal(&l, &l.Check)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []struct {
		name   string
		text   []byte
		decode func(text []byte) (any, error)
	}{
		{"record", recordText, func(text []byte) (any, error) { return decodeRecord(text, 0, 2, "000", 3) }},
		{"heartbeat", beat, func(text []byte) (any, error) { return decodeHeartbeat(text, 0, 2) }},
		{"lease", leaseText, func(text []byte) (any, error) { return decodeLease(text, 0, 3) }},
	} {
		sound, err := kind.decode(kind.text)
		if err != nil {
			t.Fatal(err)
		}
		for i := range kind.text {
			for bit := range 8 {
				text := bytes.Clone(kind.text)
				text[i] ^= 1 << bit
				// Blanks between JSON's words, and the case of its keys, carry nothing.
				if got, err := kind.decode(text); err == nil && (kind.name == "record" || !cmp.Equal(got, sound)) {
					t.Errorf("%s: bit %d of byte %d (%q) flipped unnoticed", kind.name, bit, i, kind.text[i])
				}
			}
			if got, err := kind.decode(kind.text[:i]); err == nil && (kind.name == "record" || !cmp.Equal(got, sound)) {
				t.Errorf("%s: cut off after %d of %d bytes unnoticed", kind.name, i, len(kind.text))
			}
		}
	}
}

func TestDamagedWeights(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage  func(t *testing.T, path string)
		atFetch bool // shows only when they are read
	}{
		"missing":   {func(t *testing.T, p string) { os.Remove(p) }, false},
		"truncated": {func(t *testing.T, p string) { os.Truncate(p, 50) }, false},
		"longer":    {func(t *testing.T, p string) { write(t, p, append(read(t, p), 0)) }, false},
		"link":      {func(t *testing.T, p string) { os.Remove(p); os.Symlink("000002.safetensors", p) }, false},
		"link out":  {func(t *testing.T, p string) { os.Remove(p); os.Symlink("/etc/hostname", p) }, false},
		"a pipe":    {pipe, false},
		"a flipped bit": {func(t *testing.T, p string) {
			data := read(t, p)
			data[len(data)-1] ^= 4
			write(t, p, data)
		}, true},
		"another's": {func(t *testing.T, p string) {
			write(t, p, read(t, filepath.Join(filepath.Dir(p), "000002.safetensors")))
		}, true},
		"zeros": {func(t *testing.T, p string) { write(t, p, make([]byte, len(read(t, p)))) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := board3(t)
			f := openFolder(t, dir, 2, FolderOptions{})
			newest := mustView(t, f).Members[0].Records[0]
			path := filepath.Join(dir, "000", "000003.safetensors")
			c.damage(t, path)
			_, err := f.Fetch(newest)
			var d *checkpoint.DamagedError
			switch {
			case name == "missing":
				if err == nil {
					t.Error("fetched what is not there")
				}
			case !errors.As(err, &d) || d.Path != path:
				t.Errorf("fetched damaged weights: %v", err)
			}
			if c.atFetch {
				mustView(t, f)
				return
			}
			wantDamaged(t, f, path)
		})
	}
}

func TestFetchRefusesWhatViewDidNotReturn(t *testing.T) {
	dir, _ := board3(t)
	f := openFolder(t, dir, 2, FolderOptions{})
	write(t, filepath.Join(filepath.Dir(dir), "secret.safetensors"), read(t, filepath.Join(dir, "000", "000003.safetensors")))
	r := mustView(t, f).Members[0].Records[0]
	for name, spoil := range map[string]func(r *Record){
		"path up":      func(r *Record) { r.Weights.Path = "../secret.safetensors" },
		"absolute":     func(r *Record) { r.Weights.Path = filepath.Join(dir, "000", "000003.safetensors") },
		"round about":  func(r *Record) { r.Weights.Path = "000/../000/000003.safetensors" },
		"record":       func(r *Record) { r.Weights.Path = "000/000003.yaml" },
		"other member": func(r *Record) { r.Member = 1 },
		"no member":    func(r *Record) { r.Member = 7 },
		"size":         func(r *Record) { r.Weights.Size = -1 },
		"huge":         func(r *Record) { r.Weights.Size = 1 << 62 },
		"no weights":   func(r *Record) { r.Weights = nil },
	} {
		got := r.clone()
		spoil(&got)
		if _, err := f.Fetch(got); err == nil || !strings.HasPrefix(err.Error(), "workspace: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.FetchBest(r); err == nil {
		t.Error("fetched an ordinary record as the best")
	}
}

func TestDamagedHeartbeat(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, path string){
		"empty":     func(t *testing.T, p string) { write(t, p, nil) },
		"truncated": func(t *testing.T, p string) { write(t, p, read(t, p)[:40]) },
		"altered":   func(t *testing.T, p string) { write(t, p, bytes.Replace(read(t, p), []byte(": 7"), []byte(": 8"), 1)) },
		"newer": func(t *testing.T, p string) {
			write(t, p, bytes.Replace(read(t, p), []byte(`"schema": 1`), []byte(`"schema": 2`), 1))
		},
		"another member's": func(t *testing.T, p string) { write(t, p, read(t, filepath.Join(p, "../../001/heartbeat.json"))) },
		"two":              func(t *testing.T, p string) { write(t, p, append(read(t, p), read(t, p)...)) },
		"huge":             func(t *testing.T, p string) { write(t, p, bytes.Repeat([]byte(" "), maxHeartbeat+1)) },
		"link":             func(t *testing.T, p string) { os.Remove(p); os.Symlink("/etc/hostname", p) },
		"a pipe":           pipe,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := openFolder(t, dir, 2, FolderOptions{})
			s, other := mustJoin(t, f, 0), mustJoin(t, f, 1)
			if err := errors.Join(s.Beat(Heartbeat{Phase: Training, Iteration: 7, Parent: -1}), other.Beat(Heartbeat{Phase: Training, Parent: -1})); err != nil {
				t.Fatal(err)
			}
			seen := mustView(t, f).Members[0].Seen
			path := filepath.Join(dir, "000", heartbeatName)
			damage(t, path)
			for i, reader := range []*Folder{f, openFolder(t, dir, 2, FolderOptions{})} {
				for range 2 {
					v, err := reader.View()
					if err != nil {
						t.Fatal(err)
					}
					p := v.Members[0]
					var d *checkpoint.DamagedError
					if len(p.Damaged) != 1 || !errors.As(p.Damaged[0], &d) || d.Path != path {
						t.Errorf("damaged: %v", p.Damaged)
					}
					if known := i == 0; known != (p.Heartbeat != nil) || known && (p.Heartbeat.Iteration != 7 || !p.Seen.Equal(seen)) {
						t.Errorf("reader %d uses %+v of %v", i, p.Heartbeat, p.Seen)
					}
				}
			}
			if err := s.Beat(Heartbeat{Phase: Waiting, Parent: -1}); err != nil {
				t.Fatal(err)
			}
			if h := mustView(t, f).Members[0].Heartbeat; h == nil || h.Phase != Waiting {
				t.Errorf("after the next heartbeat: %+v", h)
			}
		})
	}
}

func TestDamagedFolders(t *testing.T) {
	dir, _ := board3(t)
	elsewhere := t.TempDir()
	if err := errors.Join(os.Rename(filepath.Join(dir, "000"), filepath.Join(elsewhere, "000")), os.Symlink(filepath.Join(elsewhere, "000"), filepath.Join(dir, "000"))); err != nil {
		t.Fatal(err)
	}
	f := openFolder(t, dir, 2, FolderOptions{})
	v, err := f.View()
	if err != nil {
		t.Fatal(err)
	}
	if p := v.Members[0]; len(p.Records) > 0 || len(p.Damaged) == 0 || !strings.Contains(p.Damaged[0].Error(), "link") {
		t.Errorf("a member's folder is a link: %d records, %v", len(p.Records), p.Damaged)
	}
	if len(v.Members[1].Records) != 1 {
		t.Error("another member suffers")
	}
	if _, err := f.Join(t.Context(), 0); err == nil {
		t.Error("joined behind a link")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	_, err = f.View()
	_, _, err2 := f.Best(false)
	for _, err := range []error{err, err2} {
		if err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("the store is gone: %v", err)
		}
	}
}

// TestFoldersInPlaceOfFiles: whoever finds a folder where a file belongs is told which, and what to do.
func TestFoldersInPlaceOfFiles(t *testing.T) {
	for name, do := range map[string]func(s Lease) error{
		heartbeatName: func(s Lease) error { return s.Beat(Heartbeat{Phase: Training, Parent: -1}) },
		"000001.yaml": func(s Lease) error {
			_, err := s.Publish(record(0, 1, 1), weights(0, 1))
			return err
		},
	} {
		dir := t.TempDir()
		s := mustJoin(t, openFolder(t, dir, 2, FolderOptions{}), 0)
		path := filepath.Join(dir, "000", name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		err := do(s)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "folder") || !strings.Contains(err.Error(), "remove") {
			t.Errorf("%s: %v", name, err)
		}
		if entries, err := os.ReadDir(path); err != nil || len(entries) > 0 {
			t.Errorf("%s: it holds %v, %v", name, entries, err)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "000")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openFolder(t, dir, 2, FolderOptions{}).Join(t.Context(), 0); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file in place of a member's folder: %v", err)
	}
}

func TestDamagedBest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := openFolder(t, dir, 2, FolderOptions{})
	s, other := mustJoin(t, f, 0), mustJoin(t, f, 1)
	if err := errors.Join(s.PublishBest(record(0, 2, 9), weights(0, 2), false), other.PublishBest(record(1, 2, 5), weights(1, 2), false)); err != nil {
		t.Fatal(err)
	}
	best, _, err := f.Best(false)
	if err != nil || best.Member != 0 {
		t.Fatalf("%+v, %v", best, err)
	}
	path := filepath.Join(dir, "best", "000", "000002.safetensors")
	data := read(t, path)
	data[len(data)-1] ^= 1
	write(t, path, data)
	var d *checkpoint.DamagedError
	if _, err := f.FetchBest(best); !errors.As(err, &d) || d.Path != path {
		t.Errorf("damaged weights: %v", err)
	}
	yaml := filepath.Join(dir, "best", "000", "000002.yaml")
	write(t, yaml, read(t, yaml)[:200])
	best, ok, err := f.Best(false)
	if err != nil || !ok || best.Member != 1 {
		t.Errorf("the best of the rest is %+v, %t, %v", best, ok, err)
	}
	v, err := f.View()
	if err != nil || len(v.Members[0].Damaged) != 1 || !strings.Contains(v.Members[0].Damaged[0].Error(), yaml) {
		t.Errorf("View lists %v, %v", v.Members[0].Damaged, err)
	}
	// The member's next offer replaces what is damaged, however good that may have been.
	if err := s.PublishBest(record(0, 3, 7), weights(0, 3), false); err != nil {
		t.Fatal(err)
	}
	if best, _, err := f.Best(false); err != nil || best.Iteration != 3 {
		t.Errorf("%+v, %v", best, err)
	}
	mustView(t, f)
}
