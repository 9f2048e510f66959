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
	must.Not(t, !errors.Is(err, failure) || !strings.Contains(err.Error(), path), "error %v", err)
	must.Is(t, string(must.Read(t, path)), "old", "after a failed write")
	must.Do(t, WriteFile(path, text("new")))
	must.Is(t, string(must.Read(t, path)), "new", "after a write")
	must.Is(t, len(must.Get(os.ReadDir(filepath.Dir(path)))(t)), 1, "files")
	must.Refuse(t, WriteFile(filepath.Join(path, "below", "file"), text("x")))
}

// The names of all folders that MkdirAll makes are synced, and that of a folder which an earlier process made.
func TestMkdirAll(t *testing.T) {
	root := t.TempDir()
	var synced []string
	sync := func(dir string) error { synced = append(synced, dir); return SyncDir(dir) }
	runs := filepath.Join(root, "runs")
	for _, want := range [][]string{{filepath.Join(runs, "walker"), runs, root}, {filepath.Join(runs, "walker")}} {
		synced = nil
		must.Do(t, mkdirAll(filepath.Join(runs, "walker", "seed-1")+"/", 0o755, sync))
		must.Same(t, synced, want, "synced")
	}
	gone := func(string) error { return fs.ErrInvalid }
	must.Is(t, mkdirAll(filepath.Join(root, "other"), 0o755, gone), fs.ErrInvalid, "a failed sync")
	if runtime.GOOS == "linux" { // the files of /proc are in no storage that could be synced
		must.Do(t, SyncDir("/proc/self"))
	}
}

func TestCheckName(t *testing.T) {
	for path, fits := range map[string]bool{strings.Repeat("n", 255): true, strings.Repeat("abc/", 200): true,
		"runs/" + strings.Repeat("ä", 128) + "/a": false} {
		must.Is(t, CheckName(path) == nil, fits, "%.40q fits", path)
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
		got := must.Get(Seal(&v, &v.Check))(t)
		must.Is(t, strings.ReplaceAll(string(got), "\uFFFD", `\ufffd`), written, "%s: sealed", name)
		var back sealedFile
		must.Do(t, UnsealSchema(got, 3, &back, &back.Check))
		must.Not(t, back.Text != "a\uFFFDb" || !math.IsNaN(float64(back.Value)), "%s: read %+v", name, back)
	}
}

func TestUnsealRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"altered": {strings.Replace(written, "NaN", "+Inf", 1), "altered"},
		"other format": {strings.Replace(written, `"schema": 3`, `"schema": 4, "new": 1`, 1),
			"format 4, where this program reads 3"},
		"wrong type":    {strings.Replace(written, `"NaN"`, `"nan"`, 1), "damaged"},
		"two objects":   {written + "{}", "after top-level value"},
		"without check": {`{"schema": 3, "text": "", "value": 1}`, "no checksum"},
	} {
		var v sealedFile
		err := UnsealSchema([]byte(c.text), 3, &v, &v.Check)
		must.Refuse(t, err, c.want)
		must.Is(t, errors.Is(err, ErrUnsealed), name == "without check", "%v is ErrUnsealed", err)
	}
}
