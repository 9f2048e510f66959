package checkpoint

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/testmain"
)

// Whatever happens to the latest snapshot, Latest names it with the reason and returns the one before.
func TestDamage(t *testing.T) {
	t.Parallel()
	const data, manifest = "agent_2.safetensors", "agent_2.json"
	type change = func([]byte) []byte
	replaceAll := func(text string) change { return func([]byte) []byte { return []byte(text) } }
	edit := func(old, new string) change {
		return func(b []byte) []byte { return []byte(strings.Replace(string(b), old, new, 1)) }
	}
	appendText := func(text string) change { return func(b []byte) []byte { return append(b, text...) } }
	for name, d := range map[string]struct {
		file   string // the one that is changed
		change change // nil removes it
		want   string // part of the reason
	}{
		"empty data":                    {data, replaceAll(""), "truncated: 0 bytes of"},
		"foreign data of the same size": {data, func(b []byte) []byte { return make([]byte, len(b)) }, "altered"},
		"bytes appended":                {data, appendText("\x00"), "another file"},
		"missing data":                  {data, nil, "missing"},
		"empty manifest":                {manifest, replaceAll(""), "not a manifest"},
		"manifest of a later version":   {manifest, edit(`"version": 1`, `"version": 2`), "use a newer gorl"},
		"step edited":                   {manifest, edit(`"step": 2`, `"step": 3`), "altered"},
		"missing manifest":              {manifest, nil, "no manifest"},
		"manifest of another snapshot":  {manifest, edit("", ""), `manifest of "agent_1.safetensors"`},
		"a directory instead of data":   {data, edit("", ""), ""},
		"a truncated manifest":          {manifest, func(b []byte) []byte { return b[:len(b)/2] }, "not a manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			s := diskStore(t, 0)
			mustSave(t, s, 1)
			path := mustSave(t, s, 2)
			changed := filepath.Join(s.Dir(), d.file)
			text := must.Get(os.ReadFile(changed))(t)
			must.Do(t, os.Remove(changed))
			switch {
			case strings.HasPrefix(name, "a directory"):
				must.Do(t, os.Mkdir(changed, 0o755))
			case strings.HasPrefix(name, "manifest of another"):
				text = must.Get(os.ReadFile(filepath.Join(s.Dir(), "agent_1.json")))(t)
				fallthrough
			case d.change != nil:
				must.Do(t, os.WriteFile(changed, d.change(text), 0o644))
			}
			reported := changed
			if name == "missing manifest" {
				reported = path
			}
			damaged := wantLatest(t, s, 1)
			if len(damaged) != 1 || damaged[0].Path != reported || !strings.Contains(damaged[0].Error(), reported) ||
				!strings.Contains(damaged[0].Reason, d.want) {
				t.Errorf("reported: %v; want %s: …%s…", damaged, reported, d.want)
			}
			var typed *DamagedError
			_, fromLoad := Load(path)
			if !errors.As(fromLoad, &typed) && !errors.Is(fromLoad, fs.ErrNotExist) {
				t.Errorf("Load gives %v", fromLoad)
			}
			if _, err := Verify(path); err == nil || err.Error() != fromLoad.Error() {
				t.Errorf("Verify gives %v, Load %v", err, fromLoad)
			}
			if _, err := ReadManifest(path); (err != nil) != (d.file == manifest) {
				t.Errorf("ReadManifest gives %v", err)
			}
			// Saving goes on, and the damaged file stays for its owner to look at.
			mustSave(t, s, 2)
			wantLatest(t, s, 2)
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	s := diskStore(t, 0)
	path := mustSave(t, s, 1)
	manifest := strings.TrimSuffix(path, dataSuffix) + manifestSuffix
	for _, of := range []string{path, manifest} {
		if m, err := Verify(of); err != nil || m.Step != 1 {
			t.Errorf("Verify gives %+v, %v", m, err)
		}
		if m, err := ReadManifest(of); err != nil || m.Step != 1 || m.SHA256 == "" {
			t.Errorf("ReadManifest gives %+v, %v", m, err)
		}
	}
	must.Do(t, os.Truncate(path, 30))
	got, damaged, err := s.Latest()
	if got != nil || len(damaged) != 1 || !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, %v, %v", got, damaged, err)
	}
	must.Do(t, os.Remove(manifest))
	if _, err := Load(path); !errors.Is(err, ErrUncommitted) {
		t.Errorf("a file without manifest gives %v", err)
	}
	for path, want := range map[string]string{
		s.Dir():               "is a folder: want a file in it (.safetensors)",
		s.Dir() + "/agent.pt": "gorl convert",
	} {
		must.RefusedAs(Load(path))(t, path, want)
	}
}

// A flipped bit is noticed, or (in a manifest, whose keys are read in upper or lower case) changes nothing.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	s := diskStore(t, 0)
	mustSave(t, s, 1)
	data := mustSave(t, s, 2)
	good := must.Get(Load(data))(t)
	for _, path := range []string{data, strings.TrimSuffix(data, dataSuffix) + manifestSuffix} {
		whole := must.Get(os.ReadFile(path))(t)
		unnoticed := 0
		for range 300 {
			flipped := bytes.Clone(whole)
			flipped[r.IntN(len(whole))] ^= 1 << r.IntN(8)
			must.Do(t, os.WriteFile(path, flipped, 0o644))
			got, damaged, err := s.Latest()
			must.Do(t, err)
			if got.Manifest.Step == 1 {
				if len(damaged) != 1 || damaged[0].Path != path {
					t.Fatalf("reported %v, want %s", damaged, path)
				}
				continue
			}
			unnoticed++
			if diff := cmp.Diff(good, got); diff != "" {
				t.Fatalf("a flipped bit in %s was not noticed:\n%s", path, diff)
			}
		}
		if path == data && unnoticed > 0 || unnoticed > 75 {
			t.Errorf("%d of 300 flips in %s were not noticed", unnoticed, path)
		}
		must.Do(t, os.WriteFile(path, whole, 0o644))
	}
}

var kills = flag.Int("kills", 12, "how often TestKillNine kills the process that saves")

const childDir = "GORL_CHECKPOINT_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, writeForever(dir))
		os.Exit(1)
	}
	testmain.SideBySide()
	os.Exit(m.Run())
}

// writeForever is the child. It continues from the latest snapshot, saves one after the other, and prints each step
// when it is committed. It returns only after an error.
func writeForever(dir string) error {
	s, err := NewStore(dir, Options{Keep: 3})
	if err != nil {
		return err
	}
	step := int64(0)
	switch got, _, err := s.Latest(); {
	case errors.Is(err, ErrNone):
	case err != nil:
		return err
	default:
		if err := verify(got); err != nil {
			return err
		}
		step = got.Manifest.Step
	}
	fmt.Println("ready")
	for {
		step++
		if _, err := s.Save(fmt.Sprintf("agent_%d", step), step, contents(step)); err != nil {
			return err
		}
		if step%3 == 0 {
			if _, err := s.SaveBest("best", step, contents(step)); err != nil {
				return err
			}
			fmt.Println("best", step)
		}
		fmt.Println(step)
	}
}

// A process is killed at random moments of a checkpoint loop (-kills is how often). Every restart finds a valid
// snapshot that is no older than the last one reported as saved.
func TestKillNine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := must.Get(NewStore(dir, Options{Keep: 3}))(t)
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	committed, best, interrupted := int64(0), int64(0), 0
	for range *kills {
		step, bestStep := killed(t, dir, time.Duration(1+r.IntN(60))*time.Millisecond)
		committed, best = max(committed, step, bestStep), max(best, bestStep)
		got, damaged, err := s.Latest()
		if committed == 0 && errors.Is(err, ErrNone) {
			continue // killed before its first save was complete
		}
		must.Do(t, err)
		must.Do(t, verify(got))
		if got.Manifest.Step < committed {
			t.Fatalf("step %d was saved, the latest valid is %d", committed, got.Manifest.Step)
		}
		for _, d := range damaged {
			if !errors.Is(d, ErrUncommitted) {
				t.Errorf("a kill damaged a committed snapshot: %v", d)
			}
		}
		switch got, _, err := s.Best(); {
		case errors.Is(err, ErrNone) && best == 0:
		case err != nil || verify(got) != nil || got.Manifest.Step < best:
			t.Fatalf("the best of step %d was saved, there is %+v, %v", best, got, err)
		}
		for _, name := range fileNames(t, dir) {
			if strings.Contains(name, durable.Temporary) {
				interrupted++
				break
			}
		}
	}
	t.Logf("%d steps saved; %d of %d kills came in the middle of a save", committed, interrupted, *kills)
	if committed == 0 {
		t.Fatal("no child ever saved anything")
	}
	// The next save deletes the leftovers.
	mustSave(t, s, committed+1000)
	if left := fileNames(t, dir); len(left) != 2*3+1 {
		t.Errorf("left behind: %q", left)
	}
}

// killed runs the child, kills it, and returns the last step it reported as saved and as saved as best, or 0.
func killed(t *testing.T, dir string, after time.Duration) (last, best int64) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	var complaints strings.Builder
	child.Stderr = &complaints
	out := must.Get(child.StdoutPipe())(t)
	must.Do(t, child.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "ready" {
			time.AfterFunc(after, func() { child.Process.Kill() })
			continue
		}
		if text, isBest := strings.CutPrefix(lines.Text(), "best "); isBest {
			best = parseStep(t, text)
		} else {
			last = parseStep(t, text)
		}
	}
	if err := child.Wait(); err == nil || child.ProcessState.ExitCode() != -1 {
		t.Fatalf("the child ended by itself: %v\n%s", err, complaints.String())
	}
	return last, best
}

// parseStep reads what the child printed; it prints a line in one write, which a kill does not divide.
func parseStep(t *testing.T, text string) int64 {
	t.Helper()
	step := must.Get(strconv.ParseInt(text, 10, 64))(t)
	return step
}
