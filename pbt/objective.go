package pbt

import "context"

// Measure says how a member's objective comes from what its trainee reports. The zero value takes the figure as the
// trainee reports it at the interval's end, higher is better.
type Measure struct {
	// Minimise makes lower better. Strategies always see higher-is-better: the objective times -1. Journals, tables
	// and results have the figure itself.
	Minimise bool
	// Window is the number of last measurements that Reducer makes the objective of: those of a [Sampler] (episodes)
	// or, for other trainees and figures, the readings after every [Options.ProgressSteps], of the present weights.
	// Default 0: the figure as reported.
	Window int
	// Reducer is what becomes of the window. Default ReduceMean.
	Reducer Reducer
	// MinSamples is the number of measurements below which the objective counts as not known. Default 0.
	MinSamples int
	// EvaluationEpisodes, when positive, makes the objective of a separate evaluation of that many episodes at the
	// interval's end; the trainee must be an [Evaluator]. It then also decides who is the best, and Window must be 0.
	// EvaluationSeed seeds its environments, each time alike; choose one that nothing trains on.
	EvaluationEpisodes int
	EvaluationSeed     int64
}

// Reducer makes one number of several measurements.
type Reducer string

// The reducers.
const (
	ReduceMean   Reducer = "mean"
	ReduceMedian Reducer = "median"
	ReduceMin    Reducer = "min"
	ReduceMax    Reducer = "max"
	// ReduceLast is the newest measurement.
	ReduceLast Reducer = "last"
	// ReduceEMA is an exponential moving average with a weight of 2/(n+1) for each of n measurements.
	ReduceEMA Reducer = "ema"
	// ReduceLCB is a lower confidence bound: the mean minus one standard error (plus, where lower is better).
	ReduceLCB Reducer = "lcb"
)

// Sampler is implemented by trainees that know the measurements behind their figures.
type Sampler interface {
	// Samples returns up to n of the latest measurements of a figure, oldest first, since the weights were last
	// replaced. A figure without measurements gives none.
	Samples(figure string, n int) []float64
}

// Evaluator is implemented by trainees that can evaluate their agent without disturbing its training.
type Evaluator interface {
	// EvaluateMetrics runs whole episodes with the mean action and returns figures as Metrics does.
	EvaluateMetrics(ctx context.Context, episodes int, seed int64) (map[string]float64, error)
}
