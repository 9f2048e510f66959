package trackers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/tracking"
)

// delivery records what a tracker has taken of a run, in the file sent-NAME.json of the run's folder. [Send] then sends
// the rest.
type delivery struct {
	path, dir string
	owner     string // the folder that gorl sync gets: dir or, of a member, the population's
	synced    bool   // YAML names the tracker, so that gorl sync can send what it misses
	artefacts bool   // the tracker keeps them
	at        int64  // the byte of tracking.ScalarsFile after the values that were taken

	mu     sync.Mutex // of what follows
	closed bool       // the record is not written any more
	saved  time.Time
	// Lines is [0, n): the first n lines of tracking.ScalarsFile were taken. Earlier versions wrote several ranges.
	Lines [1][2]int64 `json:"lines"`
	// Files are the artefacts by path within the run's folder, with their size and time of change.
	Files map[string]string `json:"files,omitempty"`
	// End is how the run ended: one of the constants, or empty if its process was killed.
	End string `json:"end"`
}

const (
	endCompleted = "completed"
	endStopped   = "stopped"
	endFailed    = "failed"
)

// errUnfinished stands for the error that ended an earlier process.
var errUnfinished = errors.New("the run has failed")

// openDelivery returns the record of a tracker. The run's file must exist.
func openDelivery(t Tracker, run Run) (*delivery, error) {
	d := &delivery{path: filepath.Join(run.Dir, "sent-"+url.PathEscape(t.Name)+".json"), dir: run.Dir, owner: run.Dir,
		synced: t.settings != nil, Files: map[string]string{}}
	d.artefacts, _ = t.Settings()["artifacts"].(bool)
	if run.Group != "" {
		d.owner = filepath.Dir(run.Dir)
	}
	if run.Resumed {
		text, err := os.ReadFile(d.path)
		if err == nil {
			err = json.Unmarshal(text, d)
		} else if errors.Is(err, fs.ErrNotExist) {
			d.End, err = endCompleted, nil // the run did not have this tracker, which Send gives it
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w; remove it, and all values are sent again (%w)", d.path, err, ErrFinal)
		}
	}
	written, err := os.ReadFile(d.file())
	if err != nil {
		return nil, err
	}
	// Lines after the checkpoint of a resumed run are gone; the run writes them again.
	sent := d.Lines[0][1]
	if d.Lines[0][0] != 0 {
		sent = 0
	}
	d.Lines[0] = [2]int64{}
	for line := range bytes.Lines(written) {
		if d.Lines[0][1] == sent {
			break
		}
		d.at, d.Lines[0][1] = d.at+int64(len(line)), d.Lines[0][1]+1
	}
	return d, nil
}

// file returns the path of the run's values.
func (d *delivery) file() string { return filepath.Join(d.dir, tracking.ScalarsFile) }

// batch is about how many bytes of values, some 1000 of them, are delivered between two flushes.
const batch = 1 << 17

// pass gives a sink all values of the run's file that it has not taken, and returns their number. try calls Flush. A
// record that cannot be saved stops nothing: note gets the error.
func (d *delivery) pass(sink tracking.Sink, try func(flush func() error) error, note func(error)) (values int64,
	err error) {
	file, err := os.Open(d.file())
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for {
		var scalars []tracking.Scalar
		n, err := tracking.DecodeLines(io.NewSectionReader(file, d.at, batch),
			func(s tracking.Scalar) { scalars = append(scalars, s) })
		switch {
		case len(scalars) == 0 && err != nil:
			return values, fmt.Errorf("%s after byte %d: %w (%w)", d.file(), d.at, err, ErrFinal)
		case len(scalars) == 0:
			return values, nil
		}
		err = attempt(func() error {
			for _, s := range scalars {
				s.Step = cmp.Or(s.EnvSteps, s.Step)
				deliver(sink, s)
			}
			return nil
		})
		if err == nil {
			err = try(sink.Flush)
		}
		if err != nil {
			return values, err
		}
		values += int64(len(scalars))
		if err := d.taken(n, int64(len(scalars))); err != nil {
			note(err)
		}
	}
}

// taken records that the next values were taken, of so many bytes. It saves the record once per second at most.
func (d *delivery) taken(size, values int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at, d.Lines[0][1] = d.at+size, d.Lines[0][1]+values
	if d.closed || time.Since(d.saved) < time.Second {
		return nil
	}
	d.saved = time.Now()
	return writeRunFile(d.path, d)
}

// missing returns the number of values that were not taken.
func (d *delivery) missing() (int64, error) {
	written, err := os.ReadFile(d.file())
	return int64(bytes.Count(written, []byte{'\n'})) - d.Lines[0][1], err
}

// close writes the record for the last time. missing says what the tracker has not taken, and what sends the rest. The
// second call does nothing.
func (d *delivery) close(ended error) (missing, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, nil
	}
	d.closed = true
	d.ended(ended)
	n, err := d.missing()
	files := len(d.fresh())
	err = errors.Join(err, writeRunFile(d.path, d))
	if n == 0 && files == 0 {
		return nil, err
	}
	text := fmt.Sprintf("it has not received %d of the run's %d values", n, n+d.Lines[0][1])
	if files > 0 {
		text += fmt.Sprintf(" and %d files", files)
	}
	for _, name := range []string{"run.yaml", "config.yaml"} { // of gorl train, and of gorl-pbt
		if _, failed := os.Stat(filepath.Join(d.owner, name)); failed == nil && d.synced {
			return fmt.Errorf("%s. To send them: gorl sync %s", text, process.QuoteWord(d.owner)), err
		}
	}
	return fmt.Errorf("%s, which are in %s", text, d.dir), err
}

// ended sets how the run ended.
func (d *delivery) ended(err error) {
	switch {
	case err == nil:
		d.End = endCompleted
	case errors.Is(err, context.Canceled):
		d.End = endStopped
	default:
		d.End = endFailed
	}
}

// end returns how the run ended, as [Finisher] gets it.
func (d *delivery) end() error {
	known := map[string]error{endCompleted: nil, endStopped: context.Canceled}
	if err, ok := known[d.End]; ok {
		return err
	}
	return errUnfinished
}

// uploader is implemented by sinks that keep artefacts: files of the folder dir, given by their paths within it.
type uploader interface {
	upload(dir string, files []string) error
}

// upload gives a sink the artefacts that it has not kept, and returns their number.
func (d *delivery) upload(sink tracking.Sink) (int, error) {
	files := d.fresh()
	u, ok := sink.(uploader)
	if !ok || len(files) == 0 {
		return 0, nil
	}
	paths := slices.Sorted(maps.Keys(files))
	for _, path := range paths {
		if !utf8.ValidString(path) {
			return 0, fmt.Errorf("keeping artefacts: the name %q is not UTF-8; rename the file", path)
		}
	}
	if err := attempt(func() error { return u.upload(d.dir, paths) }); err != nil {
		return 0, fmt.Errorf("keeping artefacts: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.Copy(d.Files, files)
	return len(files), nil
}

// fresh returns the artefacts that are to be kept and were not, as Files has them: of the best checkpoint and of films.
func (d *delivery) fresh() map[string]string {
	files := map[string]string{}
	if !d.artefacts {
		return files
	}
	for _, folder := range []string{"checkpoints/best", "videos"} {
		entries, _ := os.ReadDir(filepath.Join(d.dir, folder)) // without the folder there are none
		for _, e := range entries {
			name := folder + "/" + e.Name()
			info, err := os.Stat(filepath.Join(d.dir, name))
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			version := fmt.Sprintf("%d bytes of %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano))
			if d.Files[name] != version {
				files[name] = version
			}
		}
	}
	return files
}

// Send sends a tracker what it has not taken of the run in run.Dir: values, read from [tracking.ScalarsFile], and
// artefacts if the tracker's settings ask for them. It continues the tracker's own run, or begins one. It returns the
// number of values and of files that were sent. After an error the next call sends the rest. The run must have ended.
func Send(ctx context.Context, t Tracker, run Run) (values int64, files int, err error) {
	run.Resumed = true
	d, err := openDelivery(t, run)
	if err != nil {
		return 0, 0, err
	}
	if n, err := d.missing(); err != nil || n == 0 && len(d.fresh()) == 0 {
		return 0, 0, err
	}
	var sink tracking.Sink
	if err := attempt(func() (err error) { sink, err = t.Open(ctx, run); return err }); err != nil {
		return 0, 0, err
	}
	values, err = d.pass(sink, func(flush func() error) error { return errors.Join(ctx.Err(), attempt(flush)) },
		func(error) {}) // the record is saved again in the end
	if err == nil {
		files, err = d.upload(sink)
	}
	err = errors.Join(err, finish(sink, d.end))
	return values, files, errors.Join(err, writeRunFile(d.path, d))
}

// deliver gives a sink a scalar, with its time if the sink records times.
func deliver(sink tracking.Sink, s tracking.Scalar) {
	if timed, ok := sink.(interface{ scalar(s tracking.Scalar) }); ok {
		timed.scalar(s)
		return
	}
	sink.Scalar(s.Tag, s.Step, s.Value)
}
