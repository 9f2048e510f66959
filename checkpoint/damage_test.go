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

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/testmain"
)

// Whatever happens to the latest snapshot, Latest names it with the reason and returns the one before.
func TestDamage(t *testing.T) {
	t.Parallel()
	const data, manifest = "agent_2.safetensors", "agent_2.json"
	replace := func(old, with string) func([]byte) []byte {
		return func(b []byte) []byte { return []byte(strings.Replace(string(b), old, with, 1)) }
	}
	for name, d := range map[string]struct {
		file   string // the one that is changed
		change func([]byte) []byte
		want   string // part of the reason
	}{
		"empty data":                    {data, func([]byte) []byte { return nil }, "truncated: 0 bytes of"},
		"foreign data of the same size": {data, func(b []byte) []byte { return make([]byte, len(b)) }, "altered"},
		"bytes appended":                {data, func(b []byte) []byte { return append(b, 0) }, "another file"},
		"manifest of a later version":   {manifest, replace(`"version": 1`, `"version": 2`), "use a newer gorl"},
		"step edited":                   {manifest, replace(`"step": 2`, `"step": 3`), "altered"},
		"a truncated manifest":          {manifest, func(b []byte) []byte { return b[:len(b)/2] }, "not a manifest"},
		"missing data":                  {data, nil, "missing"},
		"missing manifest":              {manifest, nil, "no manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			s := diskStore(t, 0)
			mustSave(t, s, 1)
			path := mustSave(t, s, 2)
			changed := filepath.Join(s.Dir(), d.file)
			reported, whole := changed, must.Read(t, changed)
			if d.change != nil {
				must.Do(t, os.WriteFile(changed, d.change(whole), 0o644))
			} else {
				must.Do(t, os.Remove(changed))
				reported = path
			}
			damaged := wantLatest(t, s, 1)
			must.Not(t, len(damaged) != 1 || damaged[0].Path != reported ||
				!strings.Contains(damaged[0].Reason, d.want), "reported: %v; want %s: %s", damaged, reported, d.want)
			var typed *DamagedError
			_, fromLoad := Load(path)
			must.Not(t, !errors.As(fromLoad, &typed) && !errors.Is(fromLoad, fs.ErrNotExist), "Load gives %v", fromLoad)
			_, err := Verify(path)
			if must.Refuse(t, err); err == nil {
				return
			}
			must.Is(t, err.Error(), fromLoad.Error(), "Verify's error")
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
		must.Is(t, must.Get(Verify(of))(t).Step, 1, "step")
		must.Is(t, must.Get(ReadManifest(of))(t).Step, 1, "step")
	}
	must.Do(t, os.Truncate(path, 30))
	_, damaged, err := s.Latest()
	must.Not(t, len(damaged) != 1 || !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), path),
		"%v, %v", damaged, err)
	must.Do(t, os.Remove(manifest))
	_, err = Load(path)
	must.Not(t, !errors.Is(err, ErrUncommitted), "a file without manifest gives %v", err)
	must.Refused(Load(s.Dir()))(t, "is a folder: want a file in it (.safetensors)")
	must.Refused(Load(s.Dir()+"/agent.pt"))(t, "gorl convert")
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
		whole, unnoticed := must.Read(t, path), 0
		for range 300 {
			flipped := bytes.Clone(whole)
			flipped[r.IntN(len(whole))] ^= 1 << r.IntN(8)
			must.Do(t, os.WriteFile(path, flipped, 0o644))
			got, damaged, err := s.Latest()
			must.Do(t, err)
			if got.Manifest.Step == 1 {
				must.Not(t, len(damaged) != 1 || damaged[0].Path != path, "reported %v, want %s", damaged, path)
				continue
			}
			unnoticed++
			must.Match(t, good, got, "a flipped bit in %s was not noticed", path)
		}
		must.Not(t, path == data && unnoticed > 0 || unnoticed > 75, "%d flips in %s were not noticed", unnoticed, path)
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
	got, _, err := s.Latest()
	if err == nil {
		step, err = got.Manifest.Step, verify(got)
	}
	if err != nil && !errors.Is(err, ErrNone) {
		return err
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
		must.Do(t, errors.Join(err, verify(got)))
		must.Not(t, got.Manifest.Step < committed, "step %d was saved, the latest valid is %d", committed,
			got.Manifest.Step)
		for _, d := range damaged {
			must.Not(t, !errors.Is(d, ErrUncommitted), "a kill damaged a committed snapshot: %v", d)
		}
		if got, _, err := s.Best(); best > 0 || !errors.Is(err, ErrNone) {
			must.Do(t, errors.Join(err, verify(got)))
			must.Not(t, got.Manifest.Step < best, "step %d was saved as best, there is %d", best, got.Manifest.Step)
		}
		if strings.Contains(strings.Join(fileNames(t, dir), " "), durable.Temporary) {
			interrupted++
		}
	}
	t.Logf("%d steps saved; %d of %d kills came in the middle of a save", committed, interrupted, *kills)
	must.Not(t, committed == 0, "no child ever saved anything")
	// The next save deletes the leftovers.
	mustSave(t, s, committed+1000)
	must.Is(t, len(fileNames(t, dir)), 2*3+1, "files")
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
		text, isBest := strings.CutPrefix(lines.Text(), "best ")
		step := must.Get(strconv.ParseInt(text, 10, 64))(t) // a line is one write, which a kill does not divide
		if isBest {
			best = step
		} else {
			last = step
		}
	}
	err := child.Wait()
	must.Not(t, err == nil || child.ProcessState.ExitCode() != -1, "the child ended by itself: %v\n%s", err,
		complaints.String())
	return last, best
}
