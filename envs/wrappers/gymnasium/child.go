package gymnasium

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

//go:embed child.py
var source []byte

// bootstrap has Python read its program from the pipe of requests, so that a list of processes stays readable.
const bootstrap = `import os,struct;os.set_blocking(4,True);f=os.fdopen(4,"rb");n,=struct.unpack("<I",f.read(4));` +
	`exec(compile(f.read(n),"gorl/child.py","exec"),{"__name__":"gorl_child","requests":f})`

// setup is what a child is told first.
type setup struct {
	Simulator  Simulator      `json:"simulator"`
	ID         string         `json:"id"`
	Factory    string         `json:"factory"`
	Kwargs     map[string]any `json:"kwargs"`
	Index      int            `json:"index"`
	From       int            `json:"from"`
	To         int            `json:"to"`
	Parent     int            `json:"parent"`
	Seed       int64          `json:"seed"`
	Autoreset  Autoreset      `json:"autoreset"`
	RenderMode string         `json:"render_mode"`
	Checker    bool           `json:"checker"`
	Columns    []string       `json:"columns"`
	Discover   bool           `json:"discover"`
	Every      bool           `json:"every"`
	Infos      bool           `json:"infos"`
	AMP        string         `json:"amp"`
	AMPSize    int            `json:"amp_size"`
	States     string         `json:"states"`
	StateSize  int            `json:"state_size"`

	RandomLengths     bool     `json:"random_lengths"`
	ObservationGroups []string `json:"observation_groups"`
	StateGroups       []string `json:"state_groups"`
	Spin              float64  `json:"spin"` // seconds
}

// child is a Python process and the environments from to to (exclusive).
type child struct {
	index, from, to int
	process         *exec.Cmd
	mark            string   // in its environment and that of all that it starts
	requests        *os.File // to it
	replies         *os.File // from it
	output          output
	ended           atomic.Bool
	gone            chan struct{}           // closed when it has ended and its output is read
	block           atomic.Pointer[control] // nil until the memory is mapped
	sequence        uint32                  // of its last command
	columns         []string                // which numbers of infos its columns hold
	idle            bool                    // has done its last command and waits for another
	renewed         bool                    // replaced another in this step
}

// starter is a thread that starts processes and never ends: the system's promise to kill a child holds for the life of
// the thread that started it.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// started counts the children of this process.
var started atomic.Int64

// startChild starts the process of a child, with the file of the shared memory, and tells it what to make.
func startChild(o *Options, index, from, to int, memory *os.File, stderr io.Writer, deadline time.Time) (*child,
	error) {
	c := &child{index: index, from: from, to: to, output: output{forward: stderr}, gone: make(chan struct{})}
	c.mark = fmt.Sprintf("GORL_CHILD=%d-%d", os.Getpid(), started.Add(1))
	c.columns = o.declared()
	opening := setup{
		ID: o.ID, Factory: o.Factory, Kwargs: o.Kwargs, Index: index, From: from, To: to, Parent: os.Getpid(),
		RenderMode: o.RenderMode, Checker: o.Checker,
		Columns: c.columns, Discover: o.discover(), Every: len(o.StepMetrics) > 0 || o.Infos, Infos: o.Infos,
		AMP: o.AMPObservations, AMPSize: o.AMPSize, States: o.States, StateSize: o.StateSize, Spin: o.Spin.Seconds(),
		Simulator: o.Simulator, Seed: o.Seed, Autoreset: o.Autoreset, RandomLengths: o.RandomEpisodeLengths,
		ObservationGroups: o.ObservationGroups, StateGroups: o.StateGroups,
	}
	message, err := json.Marshal(opening)
	if err != nil {
		return nil, fmt.Errorf("gymnasium: %w", err)
	}
	if err := c.start(o, memory); err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w (%w)", err, ErrNoPython)
		}
		return nil, fmt.Errorf("gymnasium: starting %s: %w", o.Python, err)
	}
	messages := [][]byte{source, message}
	if o.Simulator != "" {
		messages = append(messages, batchSource)
	}
	for _, m := range messages {
		if err := sendFrame(c.requests, m, deadline); err != nil {
			err := c.fault(FaultStart, err, "was not told what to do: %v", err)
			c.kill()
			return nil, err
		}
	}
	return c, nil
}

// start starts the process.
func (c *child) start(o *Options, memory *os.File) error {
	var files []*os.File // what is to be closed on an error, in pairs of pipes
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		files = append(files, r, w)
	}
	c.process = exec.Command(o.Python, "-u", "-c", bootstrap)
	c.process.Env = append(environ(o), c.mark)
	c.process.ExtraFiles = []*os.File{memory, files[0], files[3]}
	c.process.Stdout, c.process.Stderr = files[5], files[5]
	c.process.SysProcAttr = childAttributes()
	result := make(chan error)
	starter() <- func() { result <- c.process.Start() }
	if err := <-result; err != nil {
		return err
	}
	c.requests, c.replies = files[1], files[2]
	printed := files[4]
	files = []*os.File{files[0], files[3], files[5]}
	go c.watch(printed)
	return nil
}

// environ is the environment of a child.
func environ(o *Options) []string {
	env := os.Environ()
	// EnvPool has threads of its own, and no other library should compete with them; others compute by these.
	one := o.Simulator == "" || o.Simulator == EnvPool
	for _, name := range []string{"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"} {
		if os.Getenv(name) == "" && one {
			env = append(env, name+"=1")
		}
	}
	env = append(env, o.Environ...)
	if len(o.Path) > 0 {
		path := o.Path
		for _, e := range env {
			if value, ok := strings.CutPrefix(e, "PYTHONPATH="); ok && value != "" {
				path = append(o.Path[:len(o.Path):len(o.Path)], value)
			}
		}
		env = append(env, "PYTHONPATH="+strings.Join(path, string(os.PathListSeparator)))
	}
	return env
}

// straggling is how long after a process what it started may hold its output open.
const straggling = 200 * time.Millisecond

// watch reads what the child prints and notices its end.
func (c *child) watch(printed *os.File) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&c.output, printed)
	}()
	_ = c.process.Wait() // how it ended is in its ProcessState
	killGroup(c.process.Process.Pid)
	killMarked(c.mark)
	select {
	case <-read:
	case <-time.After(straggling):
	}
	printed.Close()
	<-read
	c.ended.Store(true)
	if block := c.block.Load(); block != nil {
		futexWake(&block.done)
	}
	close(c.gone)
}

// kill ends the process and all that it started, and waits until it is gone; a few seconds, should the system not let
// it go.
func (c *child) kill() {
	select {
	case <-c.gone:
	default:
		_ = c.process.Process.Kill()
		killGroup(c.process.Process.Pid)
		select {
		case <-c.gone:
		case <-time.After(5 * time.Second):
		}
	}
	c.requests.Close()
	c.replies.Close()
}

// read reads a message before a deadline, and makes a fault of whatever keeps it from coming.
func (c *child) read(deadline time.Time) (head, payload []byte, err error) {
	head, payload, err = receiveFrame(c.replies, deadline)
	switch {
	case err == nil:
		return head, payload, nil
	case errors.Is(err, os.ErrDeadlineExceeded) && stopped(c.process.Process.Pid):
		return nil, nil, c.fault(FaultStopped, err, "has been stopped by a signal (SIGSTOP)")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, nil, c.fault(FaultTimeout, err, "sent no message in time")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		select { // it closed the pipe: it is ending
		case <-c.gone:
			return nil, nil, c.fault(FaultExit, nil, "%s", describeExit(c.process.ProcessState))
		case <-time.After(time.Second):
		}
	}
	return nil, nil, c.fault(FaultProtocol, err, "sent a message that cannot be read: %v", err)
}

// describe reads what the child says about its environments.
func (c *child) describe(deadline time.Time) ([]byte, error) {
	head, _, err := c.read(deadline)
	var fault *ChildError
	if errors.As(err, &fault) && fault.Fault != FaultStopped {
		fault.Message += " before it had made its environments"
		if fault.Fault == FaultTimeout {
			fault.Message += "; raise start_timeout where they take longer to make"
		}
	}
	return head, err
}

// attach gives the child its place in the mapped memory.
func (c *child) attach(l *layout, memory []byte, deadline time.Time) error {
	block := l.block(memory, c.index)
	block.prepare()
	c.block.Store(block)
	c.sequence = 0
	if err := sendFrame(c.requests, []byte("{}"), deadline); err != nil {
		return c.fault(FaultStart, err, "was not given the shared memory: %v", err)
	}
	head, _, err := c.read(deadline)
	if err != nil {
		return err
	}
	c.idle = true
	return c.refusal(head, FaultStart)
}

// refusal is the error that a message holds, nil where it holds none.
func (c *child) refusal(head []byte, f Fault) error {
	var said struct {
		Error string `json:"error"`
		Env   int    `json:"env"`
	}
	if err := json.Unmarshal(head, &said); err != nil {
		return c.fault(FaultProtocol, err, "sent a message that cannot be read: %v", err)
	}
	if said.Error == "" {
		return nil
	}
	if f == FaultException && said.Env >= 0 { // negative where it is of the whole batch
		return c.fault(f, nil, "environment %d: %s", said.Env, said.Error)
	}
	return c.fault(f, nil, "%s", said.Error)
}
