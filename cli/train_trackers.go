package cli

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/trackers"
)

// memberFigures write the metrics of a population's members into the members' folders, as a trainer writes those of a
// single run, and send them to trackers. Every member has a run of each tracker, all in a group that is named after the
// population.
type memberFigures struct {
	dir     string // of the population
	list    []trackers.Tracker
	config  map[string]any
	batch   int64 // environment steps in a timestep
	every   int64 // environment steps between two writes; 0 writes nothing
	resumed bool
	warn    func(error)
	members map[int]*memberRun
}

// memberRun are the files and trackers of a member.
type memberRun struct {
	*tracking.Run
	sinks *trackers.Sinks
	next  int64 // the environment steps at which metrics are written next
}

// trackMembers returns the writer of metrics for the population in dir, whose members train for total environment
// steps, by ranks processes each. A resumed population continues the runs of trackers. warn receives each error once
// for all members.
func trackMembers(dir string, full runfile.Sections, total int64, ranks int, resumed bool, warn func(error)) (
	*memberFigures, error) {
	section, err := written(full)
	if err != nil {
		return nil, err
	}
	m := &memberFigures{list: section.Trackers, resumed: resumed, members: map[int]*memberRun{}}
	text, err := full.YAML()
	if err == nil {
		m.config, err = runfile.Parse(text)
	}
	if err != nil {
		return nil, err
	}
	environment, err := catalog.Settings(full.Section("environment"))
	if err != nil {
		return nil, err
	}
	n, _ := config.Whole(environment["num_envs"])
	m.batch = int64(max(n, 1) * max(ranks, 1))
	m.every = int64(section.WriteInterval.Of(int(total/m.batch), 100)) * m.batch
	var mu sync.Mutex // members close side by side
	told := map[string]bool{}
	m.warn = func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if !told[err.Error()] {
			told[err.Error()] = true
			warn(err)
		}
	}
	m.dir, err = filepath.Abs(dir)
	return m, err
}

// open opens the files and trackers of a member. Values later than a timestep are of a process that was interrupted,
// and are removed.
func (m *memberFigures) open(id int, timestep int64) (*memberRun, error) {
	group, name := filepath.Base(m.dir), fmt.Sprintf("%03d", id)
	run := trackers.Run{Name: group + "-" + name, Group: group, Dir: filepath.Join(m.dir, name), Config: m.config,
		Resumed: m.resumed}
	files, err := tracking.OpenRun(run.Dir, tracking.Options{ResumeStep: timestep, Restart: true,
		StepsPerTimestep: m.batch, Config: m.config})
	if err != nil {
		return nil, err
	}
	sinks := trackers.Start(m.list, run, m.warn)
	files.Sink = tracking.Multi(files.Sink, sinks)
	return &memberRun{Run: files, sinks: sinks}, nil
}

// update writes the metrics of a member, at the member's own environment steps.
func (m *memberFigures) update(u pbt.Update) {
	if m == nil || m.every == 0 {
		return
	}
	timestep := u.Status.Steps / m.batch
	r := m.members[u.Status.Member]
	if r == nil {
		last, err := timestep, error(nil)
		if u.Event == nil { // the metrics of this timestep are written now
			last--
		}
		if r, err = m.open(u.Status.Member, last); err != nil {
			m.every = 0
			m.warn(fmt.Errorf("metrics of members are not written: %w", err))
			return
		}
		m.members[u.Status.Member] = r
	}
	switch e := u.Event; {
	case e != nil && e.Parent >= 0:
		r.Scalar("Population / Copied member", timestep, float64(e.Parent))
	case e != nil || u.Status.Steps < r.next && u.Status.Steps < u.TargetSteps:
		return
	default:
		r.next = (u.Status.Steps/m.every + 1) * m.every
		r.Scalar(tracking.TagTimesteps, timestep, float64(timestep))
		for _, name := range slices.Sorted(maps.Keys(u.Metrics)) {
			r.Scalar(name, timestep, u.Metrics[name])
		}
		for _, name := range slices.Sorted(maps.Keys(u.Status.Hyperparameters)) {
			r.Scalar("Hyperparameter / "+name, timestep, u.Status.Hyperparameters[name])
		}
	}
	err := r.Flush()
	if u.Event != nil || u.Status.Steps >= u.TargetSteps { // a saved state follows, from which a member may resume
		err = errors.Join(err, r.Sync())
	}
	if err != nil {
		m.warn(fmt.Errorf("metrics of member %d: %w", u.Status.Member, err))
	}
}

// close reports the end of training to the trackers and waits for all of them together, at most as long as for one.
func (m *memberFigures) close(ended error) error {
	if m == nil {
		return nil
	}
	errs := make(chan error, len(m.members))
	for _, r := range m.members {
		r.Finish(ended)
		r.sinks.Finish(ended)
		go func() { errs <- r.Close() }()
	}
	var all error
	for range m.members {
		all = errors.Join(all, <-errs)
	}
	return all
}

// written returns the settings of a configuration that say what is written, and where. Wrong ones are usage errors.
func written(c runfile.Sections) (section struct {
	WriteInterval agents.Interval    `yaml:"write_interval"`
	Trackers      []trackers.Tracker `yaml:"trackers"`
}, err error) {
	section.WriteInterval.Auto = true
	given := map[string]any{}
	for _, key := range []string{"write_interval", "trackers"} {
		if trainer, _ := c["trainer"].(map[string]any); trainer[key] != nil {
			given[key] = trainer[key]
		}
	}
	if err = config.Merge(&section, given, config.Options{Prefix: "trainer"}); err == nil {
		err = trackers.Check(section.Trackers)
	}
	return section, wrong(err)
}
