// Package tracking records what happens while agents learn: scalars in TensorBoard event files and JSON lines, and
// tables. Its packages plot and progress draw curves and progress bars, and trackers sends scalars to other programs.
//
// The pieces are independent. A [Recorder] collects values between two writes, and [Episodes] collects episode
// statistics. Both pass their values on with Drain or Emit. A [Sink] stores them: [OpenRun] in an experiment folder
// and [Multi] in several sinks. [ReadFile] and [ReadRun] read files back, and [Table] prints a
// summary.
//
// The tags and the rule for "(min)" and "(max)" are skrl's (skrl 2.0.0, skrl/agents/torch/base.py), so that one
// TensorBoard can compare runs of both libraries.
//
// Reading order: sink.go, output.go and run.go; lines.go with jsonlines.go; tensorboard.go with event.go and
// tfrecord.go; read.go and runs.go; recorder.go and episodes.go.
package tracking
