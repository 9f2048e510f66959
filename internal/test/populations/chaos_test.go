package populations

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/cli"
	"github.com/gorl-dev/gorl/internal/test/journalcheck"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

var chaosFlag = flag.Duration("chaos", 0,
	"let TestChaos kill processes for so long; also the environment variable GORL_CHAOS")

const (
	chaosInterval = 1024
	chaosEndless  = 1 << 40
)

// TestChaos trains a population of processes, each with PPO on CartPole, and kills three at random again and again, as
// kill -9 does; they are started again with the same command. In the end all must have trained to the end, every
// journal must replay to the states on disk, and nobody may have read half a file or adopted weights whose checksum
// is not their record's. What gorl serve says is compared with journals and heartbeats every second.
//
//	go test ./internal/test/populations -run TestChaos -v -chaos 2m
//
// does so with eight processes for two minutes. Without a duration three processes are killed a few times; `make chaos`
// is the minute of eight.
func TestChaos(t *testing.T) {
	if dir := os.Getenv("GORL_CHAOS_DIR"); dir != "" {
		chaosMember(t, dir)
		return
	}
	if runs := os.Getenv("GORL_CHAOS_SERVE"); runs != "" {
		os.Args = []string{"gorl", "serve", runs, "--port", "0"}
		cli.Main()
		return
	}
	if testing.Short() {
		t.Skip("starts many processes")
	}
	duration := *chaosFlag
	if text := os.Getenv("GORL_CHAOS"); duration == 0 && text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatalf("GORL_CHAOS: %v", err)
		}
	}
	c := &chaos{t: t, dir: filepath.Join(t.TempDir(), "crew"), members: 8, victims: 3, rng: rand.New(rand.NewPCG(1, 2))}
	if duration == 0 {
		c.members, c.victims = 3, 2
	}
	board := must.Get(workspace.OpenFolder(c.dir, c.members, workspace.FolderOptions{}))(t)
	c.board = board
	c.start(chaosEndless)
	watched := watchPage(t, c.dir, c.members)
	if duration > 0 {
		for end := time.Now().Add(duration); time.Now().Before(end); {
			time.Sleep(time.Duration(2000+c.rng.IntN(3000)) * time.Millisecond)
			c.look()
			c.kill(c.victims)
		}
	} else {
		for range 2 {
			c.untilProgress(int64(c.members))
			c.look()
			c.kill(c.victims)
		}
	}
	c.look()
	watched.end()
	c.stop()
	c.start((c.furthest() + 2) * chaosInterval)
	c.running.Wait()
	c.verify()
}

// chaos is a population of processes and what is done to it.
type chaos struct {
	t                *testing.T
	dir              string
	members, victims int
	board            *workspace.Folder
	rng              *rand.Rand

	mu              sync.Mutex
	processes       []*os.Process // nil while there is none
	stopping        bool
	running         sync.WaitGroup
	kills, restarts int
	looks           int
}

// start starts all processes, which are started again whenever they are killed.
func (c *chaos) start(total int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping, c.processes = false, make([]*os.Process, c.members)
	for id := range c.members {
		c.running.Go(func() {
			for again := false; c.run(id, total, again); again = true {
			}
		})
	}
}

// run runs one process to its end, and reports whether it must be started again.
func (c *chaos) run(id int, total int64, again bool) bool {
	var out strings.Builder
	cmd := exec.Command(os.Args[0], "-test.run=^TestChaos$")
	cmd.Env = append(os.Environ(), "GORL_CHAOS_DIR="+c.dir, fmt.Sprintf("GORL_CHAOS_MEMBER=%d", id),
		fmt.Sprintf("GORL_CHAOS_MEMBERS=%d", c.members), fmt.Sprintf("GORL_CHAOS_TOTAL=%d", total))
	cmd.Stdout, cmd.Stderr = &out, &out
	alive, err := cmd.StdinPipe() // closed with this process, whatever ends it
	if err != nil {
		c.t.Error(err)
		return false
	}
	defer alive.Close()
	c.mu.Lock()
	if c.stopping {
		c.mu.Unlock()
		return false
	}
	err = cmd.Start()
	if err == nil {
		c.processes[id] = cmd.Process
		if again {
			c.restarts++
		}
	}
	c.mu.Unlock()
	if err == nil {
		err = cmd.Wait()
	}
	c.mu.Lock()
	c.processes[id] = nil
	c.mu.Unlock()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		c.t.Errorf("member %d: %v: %s", id, err, out.String())
	}
	return false
}

// kill kills some processes at random.
func (c *chaos) kill(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range c.rng.Perm(c.members)[:n] {
		if p := c.processes[id]; p != nil && p.Kill() == nil {
			c.kills++
		}
	}
}

// stop kills all, and lets none come back.
func (c *chaos) stop() {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	c.kill(c.members)
	c.running.Wait()
}

// iterations are how far the members have come, in sum.
func (c *chaos) iterations() (sum int64) {
	view := must.Get(c.board.View())(c.t)
	for _, p := range view.Members {
		if len(p.Records) > 0 {
			sum += p.Records[0].Iteration
		}
	}
	return sum
}

func (c *chaos) untilProgress(n int64) {
	for before := c.iterations(); c.iterations() < before+n; {
		if c.t.Failed() {
			c.t.FailNow()
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// look reads all there is while processes write it.
func (c *chaos) look() {
	c.looks++
	view := must.Get(c.board.View())(c.t)
	for _, p := range view.Members {
		if len(p.Damaged) > 0 {
			c.t.Errorf("member %d: %v", p.Member, p.Damaged)
		}
		for _, r := range p.Records {
			if _, err := c.board.Fetch(r); err != nil && !errors.Is(err, fs.ErrNotExist) {
				c.t.Error(err)
			}
		}
	}
	if _, err := os.Stat(c.statePath(0)); err == nil {
		events, err := journal.Read(c.dir)
		if err == nil {
			_, err = journalcheck.Replay(events)
		}
		if err != nil {
			c.t.Error(err)
		}
	}
}

// statePath is the file of a member's private state.
func (c *chaos) statePath(id int) string {
	return filepath.Join(c.dir, fmt.Sprintf("%03d", id), "state.json")
}

// savedMember is what this test reads of a member's private state.
type savedMember struct {
	Phase     string `json:"phase"`
	Iteration int64  `json:"iteration"`
	Copies    int64  `json:"copies"`
	Member    struct {
		Steps           int64              `json:"steps"`
		Parent          *int               `json:"parent"`
		Objective       *float64           `json:"objective"`
		Hyperparameters map[string]float64 `json:"hyperparameters"`
		Snapshot        string             `json:"snapshot"`
	} `json:"member"`
}

func (c *chaos) state(id int) (s savedMember) {
	data, err := os.ReadFile(c.statePath(id))
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.t.Fatal(err)
	}
	return s
}

// furthest is the latest interval of any member, by the states on disk.
func (c *chaos) furthest() (iteration int64) {
	for id := range c.members {
		iteration = max(iteration, c.state(id).Iteration)
	}
	return iteration
}

// matches reports whether a state is what a journal replays to.
func (s savedMember) matches(st journalcheck.Standing) bool {
	m, parent := s.Member, -1
	if m.Parent != nil {
		parent = *m.Parent
	}
	return st.Final && s.Phase == "finished" && m.Steps == st.Steps && s.Iteration == st.Iteration &&
		s.Copies == st.Copies && parent == st.Parent &&
		maps.Equal(m.Hyperparameters, st.Hyperparameters) && (m.Objective != nil) == st.HasObjective &&
		(m.Objective == nil || *m.Objective == st.Objective)
}

// verify holds journals, states and weights against each other.
func (c *chaos) verify() {
	t := c.t
	events := must.Get(journal.Read(c.dir))(t)
	standings := must.Get(journalcheck.Replay(events))(t)
	for _, st := range standings {
		if s := c.state(st.Member); !s.matches(st) {
			t.Errorf("the journal replays to %+v, and the state is %+v", st, s)
		}
	}
	ends := make(map[[2]int64]bool)
	for _, e := range events {
		ends[[2]int64{int64(e.Member), e.Steps}] = true
	}
	replaced := 0
	for _, e := range events {
		if e.Kind != journal.Replace {
			continue
		}
		replaced++
		if !ends[[2]int64{int64(e.Parent), e.ParentSteps}] || e.ParentSteps > e.Steps {
			t.Errorf("%d copied %d at %d steps, where that had no interval's end or was ahead: %+v", e.Member, e.Parent,
				e.ParentSteps, e)
		}
	}
	intervals, fetched := int64(0), 0
	for id := range c.members {
		state := c.state(id)
		intervals += state.Iteration
		if _, err := checkpoint.Load(filepath.Join(filepath.Dir(c.statePath(id)), "state",
			state.Member.Snapshot)); err != nil {
			t.Error(err)
		}
		log, err := os.ReadFile(chaosLog(c.dir, id))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(log)) {
			if strings.HasPrefix(line, "fetched ") {
				fetched++
			} else {
				t.Errorf("member %d: %s", id, line)
			}
		}
	}
	c.look()
	view := must.Get(c.board.View())(t)
	for _, p := range view.Members {
		if p.Heartbeat == nil || p.Heartbeat.Phase != workspace.Finished {
			t.Errorf("member %d did not train to the end: %+v", p.Member, p.Heartbeat)
		}
	}
	best, ok, err := c.board.Best(false)
	if err == nil && ok {
		_, err = c.board.Fetch(best)
	}
	if err != nil || !ok {
		t.Errorf("the best: %v", err)
	}
	if c.kills < 3 || replaced == 0 {
		t.Errorf("%d kills and %d replacements show little", c.kills, replaced)
	}
	t.Logf("%d processes: %d kills, %d restarts, %d intervals, %d replacements, %d weights fetched and verified, %d "+
		"reads of all while they trained; the best return is %.1f",
		c.members, c.kills, c.restarts, intervals, replaced, fetched, c.looks, best.Objective)
}
