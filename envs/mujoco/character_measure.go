package mujoco

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/motions/metrics"
)

// successLimit is the mean distance in metres between the bodies of the character and the clip above which tracking has
// failed. 0.5 m is the usual limit, see [metrics.Success].
const successLimit = 0.5

// record is the running episode of one environment, for the metrics of CharacterConfig.Measure.
type record struct {
	// clip is the index of the clip in which the episode began.
	clip int
	// start is the time in the clip, in seconds, of the first recorded step.
	start float64
	// x, y is where the clip's root is, in metres, when the episode's is at the origin.
	x, y float64
	// bodies has, for each step, the positions (bodies, 3) in the world in metres, without the world body.
	bodies [][]float64
	// qpos has, for each step, the model's positions (NQ).
	qpos [][]float64
}

// measuredTask is the task of characters with CharacterConfig.Measure. It records whole episodes and computes their
// metrics when they end. It is a type of its own so that other characters pay nothing for the recording.
type measuredTask struct {
	*characterTask
	// records (N) are the running episodes.
	records []record
}

// Init implements [Task].
func (c *measuredTask) Init(m *Model) (Spec, error) {
	c.records = make([]record, len(c.terms))
	return c.characterTask.Init(m)
}

// EpisodeMetricNames implements [EpisodeTask]. The names depend on the task and on what the clips provide.
func (c *measuredTask) EpisodeMetricNames() (names []string) {
	tracks, recovers := c.cfg.Task == Track, c.cfg.Recovery.Seconds > 0
	has := map[string]bool{"pose_error": c.refs != nil, "success": true, "survived": tracks,
		"root_velocity_error": tracks, "foot_sliding": c.skeleton() != nil,
		"phase_error": len(c.cfg.Body.Feet) > 1 && c.wraps(), "coverage": len(c.refs) > 1, "falls": recovers,
		"recovered": recovers, "recovery_time": recovers}
	maps.DeleteFunc(has, func(_ string, on bool) bool { return !on })
	return slices.Sorted(maps.Keys(has))
}

// skeleton returns the first clip's skeleton. It is nil if there is none, or if its width differs from the model's.
func (c *measuredTask) skeleton() *motions.Skeleton {
	if c.refs != nil {
		if s := c.refs[0].clip.Skeleton(); s != nil && s.Width() == c.nq {
			return s
		}
	}
	return nil
}

// wraps reports whether all clips are cycles that start again at their ends.
func (c *measuredTask) wraps() bool {
	return c.refs != nil && !slices.ContainsFunc(c.refs, func(r reference) bool { return !r.wraps() })
}

// Follow implements [EpisodeTask]: it appends the state to the environment's record.
func (c *measuredTask) Follow(s *State) {
	r := &c.records[s.Env]
	if s.Steps == 1 {
		mem := c.memory(s)
		*r = record{clip: int(mem[memoryClip]), start: mem[memoryTime], x: mem[memoryX], y: mem[memoryY],
			bodies: r.bodies[:0], qpos: r.qpos[:0]}
		if !c.cfg.Clock { // with a clock, Act has already advanced the time to this step
			r.start += c.dt
		}
	}
	r.bodies, r.qpos = appendCopy(r.bodies, s.XPos[3:]), appendCopy(r.qpos, s.QPos)
}

// appendCopy appends a copy of row to rows. It reuses the memory of rows of earlier episodes.
func appendCopy(rows [][]float64, row []float64) [][]float64 {
	n := len(rows)
	rows = slices.Grow(rows, 1)[:n+1]
	rows[n] = append(rows[n][:0], row...)
	return rows
}

// EpisodeMetrics implements [EpisodeTask]. The reference is the clip with the smallest pose error, because a policy
// without a clock is free to change its clip.
func (c *measuredTask) EpisodeMetrics(s *State, terminated bool, out []float64) {
	r := &c.records[s.Env]
	nb, episode := len(s.XPos)/3-1, &metrics.Track{Positions: r.bodies}
	for _, q := range r.qpos {
		episode.Headings = append(episode.Headings, heading(q))
	}
	track := c.cfg.Task == Track && c.told() > 0
	poseError, nearest, reference := math.Inf(1), 0, (*metrics.Track)(nil)
	for i := range c.refs {
		other := c.refs[i].track(c.startIn(i, r), c.dt, r, nb)
		// Only the task Track prescribes the heading.
		if d, err := metrics.PoseError(other, episode, track); err == nil && d < poseError {
			poseError, nearest, reference = d, i, other
		}
	}
	if reference == nil {
		poseError = math.NaN()
	}
	for i, name := range c.EpisodeMetricNames() {
		out[i] = math.NaN()
		switch name {
		case "pose_error":
			out[i] = poseError
		case "success", "survived":
			out[i] = 1
			close := true
			if track && reference != nil && name == "success" {
				close, _, _ = metrics.Success(reference, episode, successLimit) // false with an error
			}
			if terminated || !close {
				out[i] = 0
			}
		case "root_velocity_error":
			if reference != nil && track {
				out[i] = orNaN(metrics.RootVelocityError(reference, episode, c.dt))
			}
		case "foot_sliding":
			out[i] = c.skeleton().FootSliding(r.qpos, c.dt)
		case "phase_error":
			if reference != nil {
				out[i] = orNaN(c.phaseError(reference, episode, c.refs[nearest].clip.Duration()))
			}
		case "coverage":
			out[i] = c.coverage(r)
		default:
			out[i] = c.recovery(s, terminated, name)
		}
	}
}

// orNaN returns value, or NaN if there is an error: the mark of a metric that an episode does not have.
func orNaN(value float64, err error) float64 {
	if err != nil {
		return math.NaN()
	}
	return value
}

// startIn returns the time in seconds at which clip i is compared with the episode's first step. In the clip in which
// the episode began it is the known start. In another clip it is the time of the pose nearest to the first one.
func (c *measuredTask) startIn(i int, r *record) float64 {
	if i == r.clip {
		return r.start
	}
	best, row := math.Inf(1), 0
	for k, pose := range c.refs[i].poses {
		if d := apart(r.qpos[0][rootPositions:], pose, best); d < best {
			best, row = d, k
		}
	}
	return c.refs[i].time(row * rowsAStep)
}

// place fills the table of bodies, from the clip's beginning to its end, with about dt seconds between rows. pose is a
// single simulation whose forward kinematics give the positions. They are relative to the root, in its heading frame.
func (r *reference) place(pose *Batch, dt float64) error {
	rows := max(2, int(math.Round(r.clip.Duration()/dt))+1)
	nb := pose.model.NumBodies()
	xpos := floats(pose.data[0].xpos, 3*nb)
	for k := range rows {
		r.at(r.clip.Duration()*float64(k)/float64(rows-1), moment{pose.QPos(0), pose.QVel(0)})
		if err := pose.forward(0, 0, 1); err != nil {
			return err
		}
		q := pose.QPos(0)
		frame := rotation.Facing(rotation.Of(q[3:]))
		for b := 1; b < nb; b++ {
			p := fromRoot(frame, q, xpos, b)
			r.bodies = append(r.bodies, p[:]...)
		}
	}
	return nil
}

// track returns the positions of nb bodies of the clip from time start on, in steps of dt seconds. It has as many steps
// as the episode, or fewer if a clip that does not wrap ends. Its root is where that of a character would be that
// follows the clip perfectly.
func (r *reference) track(start, dt float64, episode *record, nb int) *metrics.Track {
	t, qpos, rows := &metrics.Track{}, make([]float64, r.clip.Width()), len(r.bodies)/(3*nb)
	for k := range episode.qpos {
		now := start + float64(k)*dt
		if k > 0 && !r.wraps() && now > r.clip.Duration() {
			break
		}
		r.clip.At(now, qpos, nil)
		if r.wraps() {
			now -= r.clip.Duration() * math.Floor(now/r.clip.Duration())
		}
		places := make([]float64, 3*nb)
		sin, cos := math.Sincos(heading(qpos))
		var p [3]float64
		for b := range nb {
			interpolate(&p, r.bodies, 3*nb, 3*b, now/r.clip.Duration()*float64(rows-1), false)
			places[3*b] = qpos[0] - episode.x + cos*p[0] - sin*p[1]
			places[3*b+1], places[3*b+2] = qpos[1]-episode.y+sin*p[0]+cos*p[1], qpos[2]+p[2]
		}
		t.Positions, t.Headings = append(t.Positions, places), append(t.Headings, heading(qpos))
	}
	return t
}

// phaseError returns the largest difference, in cycles, between a foot's phase in the episode and in the reference.
// Phases are those of the feet's heights, relative to the first foot. cycle is the clip's duration in seconds. It
// fails if an episode is too short to have a rhythm.
func (c *measuredTask) phaseError(reference, episode *metrics.Track, cycle float64) (float64, error) {
	phases := func(t *metrics.Track) ([]float64, error) {
		var signals [][]float64
		for _, foot := range c.footBodies {
			heights := make([]float64, len(t.Positions))
			for k, row := range t.Positions {
				heights[k] = row[3*(foot-1)+2]
			}
			signals = append(signals, heights)
		}
		// The band around the clip's frequency excludes its half and its double.
		phases, _, err := metrics.Phases(signals, c.dt, 0.6/cycle, 1.7/cycle)
		return phases, err
	}
	want, err := phases(reference)
	got, failed := phases(episode)
	if err := cmp.Or(err, failed); err != nil {
		return 0, err
	}
	worst := 0.0
	for i := range want {
		// Phases are circular: 0.9 and 0.1 differ by 0.2.
		worst = max(worst, math.Abs(math.Remainder(got[i]-want[i], 1)))
	}
	return worst, nil
}

// coverage returns the share of the clips to which some pose of the episode is nearest, see [metrics.Coverage].
func (c *measuredTask) coverage(r *record) float64 {
	var clips [][][]float64
	for i := range c.refs {
		clips = append(clips, c.refs[i].poses)
	}
	var hinges [][]float64
	for _, q := range r.qpos {
		hinges = append(hinges, q[rootPositions:])
	}
	return orNaN(metrics.Coverage(clips, hinges))
}
