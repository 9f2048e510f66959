package tracking

// Progress shows the progress of one or several learners. Package tracking/progress has one for terminals. Several
// goroutines may call its methods and those of its bars. Failures to write are ignored, so that they never stop a run.
type Progress interface {
	// Bar adds a bar of total steps. A total below 1 counts as 1.
	Bar(name string, total int64) Bar
	// Printf writes lines that stay above the bars. It adds a missing line break at the end.
	Printf(format string, args ...any)
	// Wait draws the last state of every bar, finished or not, and ends the display. It may be called twice.
	Wait()
}

// Bar is the progress of one learner.
type Bar interface {
	// Set sets the number of steps that are done, and the text beside the bar. Speed and remaining time are measured
	// from the first call, which for a resumed learner is the step at which it continues.
	Set(done int64, text string)
	// Finish draws the last state with this text. Later calls of Set and Finish do nothing.
	Finish(text string)
}
