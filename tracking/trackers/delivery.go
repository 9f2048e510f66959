package trackers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/tracking"
)

// delivery records what a tracker has taken of a run, in the file sent-NAME.json of the run's folder. [Send] then sends
// the rest.
type delivery struct {
	path, dir string
	owner     string // the folder that gorl sync gets: dir or, of a member, the population's
	saved     time.Time
	// Lines are the ranges [from, to) of lines of tracking.ScalarsFile, in order.
	Lines [][2]int64 `json:"lines"`
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

// openDelivery returns the record of a tracker, and the number of lines of the run's file. Without that file the record
// has no path, and is not saved.
func openDelivery(name string, run Run) (*delivery, int64, error) {
	written, err := os.ReadFile(filepath.Join(run.Dir, tracking.ScalarsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	lines := int64(bytes.Count(written, []byte{'\n'}))
	d := &delivery{dir: run.Dir, owner: run.Dir}
	if err == nil {
		d.path = filepath.Join(run.Dir, "sent-"+url.PathEscape(name)+".json")
	}
	if run.Group != "" {
		d.owner = filepath.Dir(run.Dir)
	}
	if !run.Resumed {
		return d, lines, nil
	}
	switch text, err := os.ReadFile(d.path); {
	case err == nil:
		if err := json.Unmarshal(text, d); err != nil {
			return nil, 0, fmt.Errorf("%s: %w; remove it, and all values are sent again (%w)", d.path, err, ErrFinal)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, 0, err
	}
	// Lines after the checkpoint of a resumed run are gone; the run writes them again.
	for n := len(d.Lines); n > 0 && d.Lines[n-1][1] > lines; n = len(d.Lines) {
		if d.Lines[n-1][1] = lines; d.Lines[n-1][0] >= lines {
			d.Lines = d.Lines[:n-1]
		}
	}
	return d, lines, nil
}

// add records that the lines [from, to) were taken.
func (d *delivery) add(from, to int64) {
	i := 0
	for i < len(d.Lines) && d.Lines[i][1] < from {
		i++
	}
	j := i
	for ; j < len(d.Lines) && d.Lines[j][0] <= to; j++ {
		from, to = min(from, d.Lines[j][0]), max(to, d.Lines[j][1])
	}
	d.Lines = append(d.Lines[:i:i], append([][2]int64{{from, to}}, d.Lines[j:]...)...)
}

// missing returns the ranges of lines that were not taken, and their number.
func (d *delivery) missing(lines int64) (ranges [][2]int64, n int64) {
	at := int64(0)
	for _, taken := range append(d.Lines[:len(d.Lines):len(d.Lines)], [2]int64{lines, lines}) {
		if taken[0] > at {
			ranges, n = append(ranges, [2]int64{at, taken[0]}), n+taken[0]-at
		}
		at = taken[1]
	}
	return ranges, n
}

// save writes the record. Unless final is set it does so once per second at most.
func (d *delivery) save(final bool) error {
	if d.path == "" || !final && time.Since(d.saved) < time.Second {
		return nil
	}
	d.saved = time.Now()
	return writeRunFile(d.path, d)
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
	switch d.End {
	case endCompleted:
		return nil
	case endStopped:
		return context.Canceled
	}
	return errUnfinished
}

// uploader is implemented by sinks that keep artefacts if their settings ask for them.
type uploader interface {
	uploads() bool
	// upload keeps files of the folder dir, given by their paths within it.
	upload(dir string, files []string) error
}

// artefacts are the files of a run that trackers keep: its best checkpoint and its films.
var artefacts = []string{"checkpoints/best/*", "videos/*"}

// upload gives a sink the artefacts that it has not kept, and returns them.
func (d *delivery) upload(sink tracking.Sink) (map[string]string, error) {
	u, ok := sink.(uploader)
	if !ok || !u.uploads() {
		return nil, nil
	}
	files := d.fresh()
	if len(files) == 0 {
		return nil, nil
	}
	if err := u.upload(d.dir, slices.Sorted(maps.Keys(files))); err != nil {
		return nil, fmt.Errorf("keeping artefacts: %w", err)
	}
	return files, nil
}

// keep records that artefacts were kept.
func (d *delivery) keep(files map[string]string) {
	if d.Files == nil {
		d.Files = map[string]string{}
	}
	maps.Copy(d.Files, files)
}

// fresh returns the artefacts that were not kept, as Files has them.
func (d *delivery) fresh() map[string]string {
	files, dir := map[string]string{}, os.DirFS(cmp.Or(d.dir, "."))
	for _, pattern := range artefacts {
		found, _ := fs.Glob(dir, pattern) // the patterns are valid
		for _, name := range found {
			info, err := fs.Stat(dir, name)
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
	path := filepath.Join(run.Dir, tracking.ScalarsFile)
	scalars, err := tracking.ReadFile(path)
	if err != nil && !errors.Is(err, tracking.ErrTruncated) {
		return 0, 0, err
	}
	run.Resumed, run.late = true, true
	d, lines, err := openDelivery(t.Name, run)
	if err != nil {
		return 0, 0, err
	}
	if _, err := os.Stat(d.path); errors.Is(err, fs.ErrNotExist) {
		d.End = endCompleted // the run did not have this tracker
	}
	ranges, n := d.missing(min(lines, int64(len(scalars))))
	fresh := d.fresh()
	wants, _ := t.Settings()["artifacts"].(bool)
	if n == 0 && (len(fresh) == 0 || !wants) {
		return 0, 0, nil
	}
	var sink tracking.Sink
	if err := attempt(func() (err error) { sink, err = t.Open(ctx, run); return err }); err != nil {
		return 0, 0, err
	}
	err = attempt(func() error {
		for _, r := range ranges {
			for from := r[0]; from < r[1]; from += batch {
				to := min(from+batch, r[1])
				for _, s := range scalars[from:to] {
					s.Step = cmp.Or(s.EnvSteps, s.Step)
					deliver(sink, s)
				}
				if err := errors.Join(ctx.Err(), sink.Flush()); err != nil {
					return err
				}
				d.add(from, to)
				values += to - from
				if err := d.save(false); err != nil {
					return err
				}
			}
		}
		kept, err := d.upload(sink)
		d.keep(kept)
		files = len(kept)
		return err
	})
	err = errors.Join(err, attempt(func() error {
		if f, ok := sink.(Finisher); ok {
			f.Finish(d.end())
		}
		return sink.Close()
	}))
	return values, files, errors.Join(err, d.save(true))
}

// deliver gives a sink a scalar, with its time if the sink records times.
func deliver(sink tracking.Sink, s tracking.Scalar) {
	if timed, ok := sink.(interface{ scalar(s tracking.Scalar) }); ok {
		timed.scalar(s)
		return
	}
	sink.Scalar(s.Tag, s.Step, s.Value)
}
