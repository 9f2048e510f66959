package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/tracking/trackers"
)

// memberTrackers send the metrics of a population's members to trackers. Every member has a run of each tracker, all in
// a group that is named after the population.
type memberTrackers map[int]*trackers.Sinks

// trackMembers starts the trackers that the configuration names, or returns nil. A resumed population continues their
// runs. warn receives each error of a tracker once for all members.
func trackMembers(dir string, members []int, full runfile.Sections, resumed bool, warn func(error)) (memberTrackers,
	error) {
	list, err := trackersOf(full)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	text, err := full.YAML()
	if err != nil {
		return nil, err
	}
	c, err := runfile.Parse(text)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	told := map[string]bool{}
	once := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if !told[err.Error()] {
			told[err.Error()] = true
			warn(err)
		}
	}
	group, all := filepath.Base(dir), memberTrackers{}
	for _, id := range members {
		run := trackers.Run{
			Name: fmt.Sprintf("%s-%03d", group, id), Group: group, Dir: filepath.Join(dir, "trackers",
				fmt.Sprintf("%03d", id)),
			Config: c, Resumed: resumed,
		}
		if err := os.MkdirAll(run.Dir, 0o755); err != nil {
			return nil, errors.Join(err, all.close(err))
		}
		all[id] = trackers.Start(list, run, once)
	}
	return all, nil
}

// trackersOf returns the trackers that a configuration names. Unknown names and wrong settings are usage errors.
func trackersOf(c runfile.Sections) (list []trackers.Tracker, err error) {
	var section struct {
		Trackers []trackers.Tracker `yaml:"trackers"`
	}
	if trainer, _ := c["trainer"].(map[string]any); trainer["trackers"] != nil {
		err = config.Merge(&section, map[string]any{"trackers": trainer["trackers"]}, config.Options{Prefix: "trainer"})
	}
	if err == nil {
		err = trackers.Check(section.Trackers)
	}
	return section.Trackers, wrong(err)
}

// update passes on the metrics of a member, at the member's own environment steps.
func (m memberTrackers) update(u pbt.Update) {
	sinks, ok := m[u.Status.Member]
	if !ok {
		return
	}
	if e := u.Event; e != nil {
		if e.Parent >= 0 {
			sinks.Scalar("Population / Copied member", u.Status.Steps, float64(e.Parent))
		}
		return
	}
	for name, value := range u.Metrics {
		sinks.Scalar(name, u.Status.Steps, value)
	}
	for name, value := range u.Status.Hyperparameters {
		sinks.Scalar("Hyperparameter / "+name, u.Status.Steps, value)
	}
	_ = sinks.Flush() // which only wakes the trackers
}

// close reports the end of training to the trackers and waits for all of them together, at most as long as for one.
func (m memberTrackers) close(ended error) error {
	errs := make(chan error, len(m))
	for _, sinks := range m {
		sinks.Finish(ended)
		go func() { errs <- sinks.Close() }()
	}
	var all error
	for range m {
		all = errors.Join(all, <-errs)
	}
	return all
}
