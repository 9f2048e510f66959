package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestWriteFileReplacesOrLeaves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	must.Do(t, WriteFile(path, text("old")))
	failure := errors.New("the disk says no")
	err := WriteFile(path, func(w io.Writer) error {
		fmt.Fprint(w, "half of the n")
		return failure
	})
	if !errors.Is(err, failure) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that wraps the writer's and names the path", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("after a failed write the file holds %q, want the old contents", got)
	}
	must.Do(t, WriteFile(path, text("new")))
	if got, _ := os.ReadFile(path); string(got) != "new" {
		t.Errorf("the file holds %q, want the new contents", got)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v), want the file alone", entries, err)
	}
	if err := WriteFile(filepath.Join(path, "below", "a", "file"), text("x")); err == nil {
		t.Error("writing below a file succeeded")
	}
}

// The names of all folders that MkdirAll makes are synced, and that of a folder which an earlier process made.
func TestMkdirAll(t *testing.T) {
	root := t.TempDir()
	var synced []string
	sync := func(dir string) error { synced = append(synced, dir); return SyncDir(dir) }
	runs := filepath.Join(root, "runs")
	for _, want := range [][]string{{filepath.Join(runs, "walker"), runs, root}, {filepath.Join(runs, "walker")}} {
		synced = nil
		if err := mkdirAll(filepath.Join(runs, "walker", "seed-1")+"/", 0o755, sync); err != nil ||
			!slices.Equal(synced, want) {
			t.Errorf("%v; synced are %q, want %q", err, synced, want)
		}
	}
	gone := func(string) error { return fs.ErrInvalid }
	if err := mkdirAll(filepath.Join(root, "other"), 0o755, gone); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a failed sync gave %v", err)
	}
}

func TestSyncDir(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, SyncDir(dir))
	if err := SyncDir(filepath.Join(dir, "absent")); runtime.GOOS != "windows" && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	// The files of /proc are in no storage that could be synced.
	if _, err := os.Stat("/proc/self"); runtime.GOOS == "linux" && err == nil {
		if err := SyncDir("/proc/self"); err != nil {
			t.Errorf("a folder that cannot be synced: %v", err)
		}
	}
}

func TestCheckName(t *testing.T) {
	long := strings.Repeat("ä", 128) // 256 bytes
	for path, fits := range map[string]bool{
		"": true, "runs/a": true, strings.Repeat("n", 255): true, strings.Repeat("abc/", 200): true,
		"runs/" + long + "/a": false, strings.Repeat("n", 256): false,
	} {
		if err := CheckName(path); (err == nil) != fits {
			t.Errorf("%.40q: %v", path, err)
		}
	}
}

type sealedFile struct {
	Schema int         `json:"schema"`
	Text   string      `json:"text"`
	Value  number.JSON `json:"value"`
	Check  string      `json:"check"`
}

// written is a file as every version has written it; its check is the SHA-256 of
// {"schema":3,"text":"a\uFFFDb","value":"NaN","check":""} with the character U+FFFD itself.
const written = `{
  "schema": 3,
  "text": "a\ufffdb",
  "value": "NaN",
  "check": "8f75ebbe3f10245a74f3d1e49c8062768844dda6f08518d8d52daece51841073"
}
`

func TestSealedBytes(t *testing.T) {
	for name, text := range map[string]string{"invalid UTF-8": "a\xffb", "the character itself": "a\uFFFDb"} {
		v := sealedFile{Schema: 3, Text: text, Value: number.JSON(math.NaN())}
		got, err := Seal(&v, &v.Check)
		must.Do(t, err)
		if same := strings.ReplaceAll(string(got), "\uFFFD", `\ufffd`); same != written {
			t.Errorf("%s: sealed as\n%s\nwant\n%s", name, same, written)
		}
		var back sealedFile
		if err := UnsealSchema(got, 3, &back, &back.Check); err != nil || back.Text != "a\uFFFDb" ||
			!math.IsNaN(float64(back.Value)) {
			t.Errorf("%s: read %+v, %v", name, back, err)
		}
	}
}

func TestUnsealRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"cut off": {written[:40], "cut off"},
		"altered": {strings.Replace(written, "NaN", "+Inf", 1), "altered"},
		"other format": {strings.Replace(written, `"schema": 3`, `"schema": 4, "new": 1`, 1),
			"format 4, where this program reads 3"},
		"unknown key":   {strings.Replace(written, `"text"`, `"texts"`, 1), "unknown field"},
		"wrong type":    {strings.Replace(written, `"NaN"`, `"nan"`, 1), "damaged"},
		"two objects":   {written + "{}", "after top-level value"},
		"without check": {`{"schema": 3, "text": "", "value": 1}`, "no checksum"},
	} {
		var v sealedFile
		err := UnsealSchema([]byte(c.text), 3, &v, &v.Check)
		must.Refuse(t, err, c.want)
		if errors.Is(err, ErrUnsealed) != (name == "without check") {
			t.Errorf("%s: %v and ErrUnsealed", name, err)
		}
	}
	var v sealedFile
	must.Refuse(t, Unseal([]byte(written+"{}"), &v, &v.Check), "follows")
}
