package tracking

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/test/must"
)

var (
	testTime  = time.UnixMicro(1_700_000_000_250_000)
	testClock = func() time.Time { return testTime }
	sameNaN   = cmpopts.EquateNaNs()
)

// testScalars have values of single precision, which every format can hold.
var testScalars = []Scalar{
	{testTime, 1602, "Loss / Policy loss", float64(float32(-0.0125)), 0},
	{testTime, 1603, "Reward / Total reward (mean)", 243.5, 0},
	{testTime, -1, "Größe", math.Inf(1), 0},
	{testTime, 5_000_000_000, "Loss / Policy loss", math.NaN(), 0},
	{testTime, 0, "x", 0, 0},
}

func put(t *testing.T, w Sink, scalars []Scalar) {
	t.Helper()
	for _, s := range scalars {
		w.Scalar(s.Tag, s.Step, s.Value)
	}
	must.Do(t, w.Close())
}

// testdata/simple.tfevents was written by Python's tensorboard 2.21 from the same values.
func TestTensorBoardBytesEqualPythons(t *testing.T) {
	dir := t.TempDir()
	w := must.Get(newTensorBoard(dir, Options{Now: testClock, ResumeStep: 1600}))(t)
	put(t, w, testScalars)
	got := must.Read(t, w.path)
	want := must.Read(t, "testdata/simple.tfevents")
	if !bytes.Equal(got, want) {
		t.Errorf("wrote\n%x\nwant\n%x", got, want)
	}
	if name := filepath.Base(w.path); !regexp.MustCompile(
		`^events\.out\.tfevents\.1700000000\.\S+\.\d+\.\d+$`).MatchString(name) {
		t.Errorf("file name %s", name)
	}
	second := must.Get(newTensorBoard(dir, Options{Now: testClock}))(t)
	defer second.Close()
	if second.path == w.path {
		t.Error("two writers share a file")
	}
	if b, err := os.ReadFile(second.path); err != nil || len(b) == 0 {
		t.Errorf("a new event file holds %d bytes before the first flush, error %v", len(b), err)
	}
}

// The file of a resumed run has the last name, whatever the clock says.
func TestTensorBoardNamesInOrder(t *testing.T) {
	dir := t.TempDir()
	last := ""
	for _, seconds := range []int{0, 0, 5, -3600, 0, 6} {
		now := testTime.Add(time.Duration(seconds) * time.Second)
		w := must.Get(newTensorBoard(dir, Options{Now: func() time.Time { return now }}))(t)
		must.Do(t, w.Close())
		must.Not(t, w.path <= last, "%s comes before %s", w.path, last)
		last = w.path
	}
	must.Not(t, !strings.Contains(last, ".1700000008."),
		"the last file is %s, want the second after that of the one before", last)
}

// The scalars before any cut are read. A cut within a record is ErrTruncated.
func TestReadEventsTruncated(t *testing.T) {
	whole := must.Read(t, "testdata/simple.tfevents")
	ends := map[int]int{0: 0} // length up to the end of a record -> scalars
	events := 0
	for at := 0; at < len(whole); {
		at += recordHead + int(whole[at]) + recordTail
		ends[at] = max(0, events-2) // the first three events hold none
		events++
	}
	scalars := 0
	for n := range len(whole) + 1 {
		got, err := readEvents(bytes.NewReader(whole[:n]))
		want, clean := ends[n]
		scalars = max(scalars, want)
		must.Is(t, err == nil, clean, "%d bytes: error %v, whole", n, err)
		must.Is(t, errors.Is(err, ErrTruncated), !clean, "%d bytes: error %v, cut off", n, err)
		must.Equal(t, fmt.Sprint(n, " bytes"), testScalars[:scalars], got, sameNaN, cmpopts.EquateEmpty())
	}
}

func TestReadEventsDamaged(t *testing.T) {
	whole := must.Read(t, "testdata/simple.tfevents")
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0x10
		got, err := readEvents(bytes.NewReader(damaged))
		must.Not(t, err == nil || errors.Is(err, ErrTruncated) || !strings.Contains(err.Error(), "checksum"),
			"bit of byte %d flipped: error %v", i, err)
		must.Equal(t, fmt.Sprint("before byte ", i), testScalars[:len(got)], got, sameNaN, cmpopts.EquateEmpty())
	}
}

func FuzzReadEvents(f *testing.F) {
	b := must.Read(f, "testdata/simple.tfevents")
	f.Add(b)
	f.Add(b[:len(b)-5])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		scalars, err := readEvents(bytes.NewReader(b))
		if err != nil && !strings.HasPrefix(err.Error(), "tracking: event file: record ") {
			t.Errorf("error without place: %v", err)
		}
		// A payload with correct checksums reaches the message parser.
		framed := endRecord(append(beginRecord(nil), b...), 0)
		if _, err := readEvents(bytes.NewReader(framed)); errors.Is(err, ErrTruncated) {
			t.Errorf("a complete record counts as truncated: %v", err)
		}
		for _, s := range scalars {
			dst, err := parseEvent(nil, appendScalarEvent(nil, s))
			if err != nil || len(dst) != 1 {
				t.Fatalf("%v written and read: %v, %v", s, dst, err)
			}
			if want := float64(float32(s.Value)); dst[0].Step != s.Step || (dst[0].Value != want && !math.IsNaN(want)) {
				t.Errorf("%v written and read: %v", s, dst[0])
			}
		}
	})
}
