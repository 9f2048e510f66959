// Package tracking records what happens while agents learn: scalars in TensorBoard event files, JSON lines or CSV, and
// tables. Its packages plot and progress draw curves and progress bars.
//
// The pieces are independent. A [Recorder] gathers values between two writes and [Episodes] gathers episode
// statistics; both hand their values on with Drain or Emit. A [Sink] stores them: [TensorBoard], [JSONLines],
// [CSV], [Memory], or several through [Multi]; [OpenRun] makes the usual pair in one experiment folder. [ReadFile]
// reads them back, and [Table] prints a summary.
//
// The tags and the rule for "(min)" and "(max)" are skrl's (skrl 2.0.0, skrl/agents/torch/base.py), so that runs of
// both libraries can be compared in one TensorBoard.
package tracking
