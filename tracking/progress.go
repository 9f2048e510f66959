package tracking

// Progress shows how far one or several learners are; tracking/progress makes one for a terminal. Its methods, and
// those of its bars, may be called from several goroutines at once. Failures to write are ignored: showing progress
// never stops a run.
type Progress interface {
	// Bar adds a bar for total steps; a total below 1 counts as 1.
	Bar(name string, total int64) Bar
	// Printf writes lines that stay, above the bars where there are any. A line break is added where it is missing.
	Printf(format string, args ...any)
	// Wait draws the last state of every bar and ends the display; bars that were not finished stay as they are. It
	// may be called twice.
	Wait()
}

// Bar is one learner's progress.
type Bar interface {
	// Set says how many of the total steps are done, and a text to show beside them. Steps a second and the time left
	// are measured from the first call on, so a resumed learner's first call says where it continues.
	Set(done int64, text string)
	// Finish draws the last state with this text; later calls of Set and Finish do nothing.
	Finish(text string)
}
