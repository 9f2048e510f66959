package tracking

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
)

// ScalarsFile is the name of the JSON lines in an experiment folder.
const ScalarsFile = "scalars.jsonl"

// Run is the experiment folder of a training run: a [Sink] of a TensorBoard event file and of JSON lines.
type Run struct {
	Sink
	dir   string
	board *tensorBoard
}

// OpenRun opens a TensorBoard event file and [ScalarsFile] in the folder dir, which it creates if necessary. To
// continue an interrupted run, open the same folder with the step in opt.ResumeStep.
func OpenRun(dir string, opt Options) (*Run, error) {
	if dir == "" {
		return nil, errors.New("tracking: an experiment needs a folder; see ExperimentDir for a default")
	}
	if err := durable.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("tracking: making the experiment folder: %w", err)
	}
	lines, err := openJSONLines(filepath.Join(dir, ScalarsFile), opt)
	if err != nil {
		return nil, err
	}
	board, err := newTensorBoard(dir, opt)
	if err != nil {
		return nil, errors.Join(err, lines.Close())
	}
	if err := durable.SyncDir(dir); err != nil { // the names of the two files
		return nil, errors.Join(fmt.Errorf("tracking: syncing the experiment folder: %w", err), board.Close(),
			lines.Close())
	}
	return &Run{Sink: Multi(board, lines), dir: dir, board: board}, nil
}

// Sync writes all buffered values to stable storage, so that they survive a power cut. It takes milliseconds. Call it
// before storing something that relies on these scalars, such as a checkpoint.
func (r *Run) Sync() error { return syncSink(r.Sink) }

// Finish sets how the run ended for TensorBoard's tab HPARAMS: nil is a success, anything else a failure. Close writes
// it. Without Finish the run is a success.
func (r *Run) Finish(err error) { r.board.Finish(err) }

// Dir returns the experiment folder.
func (r *Run) Dir() string { return r.dir }

// ExperimentDir joins the folder of all runs and the name of a run. An empty directory is "runs". An empty name is the
// time and the agent's name, as skrl has it: 24-05-31_18-04-09-512043_AMP.
func ExperimentDir(directory, name, agent string, now time.Time) string {
	if name == "" {
		name = fmt.Sprintf("%s-%06d_%s", now.Format("06-01-02_15-04-05"), now.Nanosecond()/1000, agent)
	}
	return filepath.Join(cmp.Or(directory, "runs"), name)
}
