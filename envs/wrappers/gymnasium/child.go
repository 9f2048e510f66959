package gymnasium

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gorl-dev/gorl/internal/process"
)

// source is the program of every child. extensions are those sent after it, by the name in setup.
//
//go:embed child.py
var source []byte

//go:embed batch.py games.py
var extensions embed.FS

// bootstrap is the program on Python's command line. It reads the real program (child.py) from the pipe of requests,
// file descriptor 4. The command line, which `ps` prints, stays short that way.
const bootstrap = `import os,struct;os.set_blocking(4,True);f=os.fdopen(4,"rb");n,=struct.unpack("<I",f.read(4));` +
	`exec(compile(f.read(n),"gorl/child.py","exec"),{"__name__":"gorl_child","requests":f})`

// setup is the first message to a child, as JSON: what to make and how. child.py, batch.py and games.py read the keys.
type setup struct {
	Options
	// Program is the program that follows as one more message: batch.py for a simulator, games.py for PettingZoo, and
	// empty for single environments of Gymnasium.
	Program string `json:"program"`
	// Index is the number of the child, which is also the number of its control block.
	Index int `json:"index"`
	// From and To (exclusive) are the indices of its environments in the batch.
	From int `json:"from"`
	To   int `json:"to"`
	// Parent is the process number of this process. A child that waits looks once a second whether that process is
	// still its parent, and ends if it is not.
	Parent int `json:"parent"`
	// Columns are the infos asked for by name, in the order of their columns in the array "infos".
	Columns []string `json:"columns"`
	// Discover lets a child give the free columns to other numbers that it meets in infos.
	Discover bool `json:"discover"`
	// Every has infos read at every step, not only at the end of an episode.
	Every bool `json:"every"`
}

// child is a Python process and the environments from from to to (exclusive). A process is never restarted: another
// child takes its place, see replace.go.
type child struct {
	// index is its place in crew.children and the number of its control block.
	index, from, to int
	process         *process.Process
	pid             int
	// mark is a setting "GORL_CHILD=…" in the environment of the process. Every process that the child starts
	// inherits it, so killMarked finds them all.
	mark string
	// requests leads to the child, replies comes from it. Both carry frames, see frame.go.
	requests *os.File
	replies  *os.File
	// output keeps the last lines of stdout and stderr of the child and of what it starts.
	output process.Tail
	// exit is how the process ended. ended is set when exit is, before a goroutine that sleeps on the block is woken.
	// gone is closed after that.
	exit  process.Exit
	ended atomic.Bool
	gone  chan struct{}
	// block is the control block in the shared memory, nil until attach.
	block atomic.Pointer[control]
	// sequence is the number of the last command. The child has finished that command when block.done equals it.
	sequence uint32
	// columns names the infos in the columns of its rows. It grows while the child discovers others.
	columns []string
	// idle is true while the child waits for a command. Only an idle child may be asked something or told to close.
	idle bool
	// renewed marks a child that replaced another in this step: its rows are made up by exchange.truncate.
	renewed bool
}

// started counts the children of this process. It makes their marks differ.
var started atomic.Int64

// startChild starts a child for the environments from from to to (exclusive). It sends the program and the setup, and
// does not wait for the environments. memory is the file of the shared memory, which still has no size. stderr
// receives what the child prints. If it is nil, the output is only kept for errors.
func startChild(o *Options, index, from, to int, memory *os.File, stderr io.Writer, deadline time.Time) (*child,
	error) {
	c := &child{index: index, from: from, to: to, gone: make(chan struct{})}
	c.mark = fmt.Sprintf("GORL_CHILD=%d-%d", os.Getpid(), started.Add(1))
	c.columns = o.declared()
	opening := setup{Options: *o, Index: index, From: from, To: to, Parent: os.Getpid(), Columns: c.columns,
		Discover: o.discover(), Every: len(o.StepMetrics) > 0 || o.Infos}
	switch {
	case o.Simulator != "":
		opening.Program = "batch.py"
	case o.PettingZoo:
		opening.Program = "games.py"
	}
	text, _ := json.Marshal(opening) // validate has tried Kwargs
	messages := [][]byte{source, text}
	if opening.Program != "" {
		extension, _ := extensions.ReadFile(opening.Program) // it is embedded
		messages = append(messages, extension)
	}
	if err := c.start(o, memory, stderr); err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w (%w)", err, ErrNoPython)
		}
		return nil, fmt.Errorf("gymnasium: starting %s: %w", o.Python, err)
	}
	for _, m := range messages {
		if err := c.send(m, deadline); err != nil {
			c.kill()
			return nil, early(err)
		}
	}
	return c, nil
}

// start starts the process with pipes for requests and replies. The child sees the memory as file descriptor 3,
// requests as 4 and replies as 5.
func (c *child) start(o *Options, memory *os.File, stderr io.Writer) error {
	// The child has copies of its ends of the pipes. Unless this process closes its own, it never sees the end of a
	// pipe when the child dies.
	reads, requests, err := os.Pipe()
	if err != nil {
		return err
	}
	defer reads.Close()
	replies, writes, err := os.Pipe()
	if err != nil {
		requests.Close()
		return err
	}
	defer writes.Close()
	c.requests, c.replies = requests, replies
	var output io.Writer = &c.output
	if stderr != nil {
		output = io.MultiWriter(output, stderr)
	}
	c.process, err = process.Start(process.Options{Argv: []string{o.Python, "-u", "-c", bootstrap},
		Env: append(environ(o), c.mark), ExtraFiles: []*os.File{memory, reads, writes}, Stdout: output, Stderr: output})
	if err != nil {
		requests.Close()
		replies.Close()
		return err
	}
	c.pid = c.process.PID()
	go c.watch()
	return nil
}

// environ returns the environment of a child: that of this process, one thread for numerical libraries, then
// Options.Environ and Options.Path. Later settings win, so those of the user do.
func environ(o *Options) []string {
	env := os.Environ()
	// EnvPool has threads of its own, with which no other library should compete. Other simulators compute by these
	// libraries and keep their threads.
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

// watch runs in a goroutine of its own for each child. It waits for the end of the process, kills what the process left
// behind, and wakes a goroutine that sleeps on the control block.
func (c *child) watch() {
	c.exit = <-c.process.Done()
	killMarked(c.mark)
	c.ended.Store(true)
	if block := c.block.Load(); block != nil {
		futexWake(&block.done)
	}
	close(c.gone)
}

// kill ends the process and all that it started, and waits until it is gone. It gives up after 5 seconds, because a
// process in an uninterruptible system call (a hanging driver, say) does not end. A second call does no harm.
func (c *child) kill() {
	select {
	case <-c.gone:
	default:
		c.process.Kill()
		select {
		case <-c.gone:
		case <-time.After(5 * time.Second):
		}
	}
	c.requests.Close()
	c.replies.Close()
}

// send writes a message to the child, within the deadline. An error is a [*ChildError].
func (c *child) send(message []byte, deadline time.Time) error {
	if err := sendFrame(c.requests, message, deadline); err != nil {
		return c.broken(err, "does not read")
	}
	return nil
}

// read returns the next message of the child: a JSON object and the bytes that follow it. A message that does not
// come, or cannot be read, is a [*ChildError], after which the rest of a message may be in the pipe.
func (c *child) read(deadline time.Time) (head, payload []byte, err error) {
	if err = c.replies.SetReadDeadline(deadline); err == nil {
		head, payload, err = readFrame(c.replies)
	}
	if err == nil {
		return head, payload, nil
	}
	return nil, nil, c.broken(err, "sent a message that cannot be read")
}

// broken returns the fault for an error of the pipes. If the child has closed them, it waits for its end, because only
// then are its last words known.
func (c *child) broken(err error, what string) *ChildError {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && stopped(c.pid):
		return c.fault(FaultStopped, err, "has been stopped by a signal (SIGSTOP)")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return c.fault(FaultTimeout, err, "sent no message in time")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE):
		select {
		case <-c.gone:
			return c.fault(FaultExit, nil, "%v", c.exit)
		case <-time.After(time.Second):
		}
	}
	return c.fault(FaultProtocol, err, "%s: %v", what, err)
}

// early completes the error of a child that failed before it had described its environments.
func early(err error) error {
	if fault, ok := errors.AsType[*ChildError](err); ok && fault.Fault != FaultStopped {
		fault.Message += " before it had made its environments"
		if fault.Fault == FaultTimeout {
			fault.Message += "; raise start_timeout where they take longer to make"
		}
	}
	return err
}

// attach gives the child its control block and has it map the memory. The memory has no size before all children have
// described their environments, so an empty message {} tells the child when it may map.
func (c *child) attach(l *layout, memory []byte, deadline time.Time) error {
	block := l.block(memory, c.index)
	block.prepare()
	c.block.Store(block)
	c.sequence = 0
	if err := c.send([]byte("{}"), deadline); err != nil {
		return err
	}
	head, _, err := c.read(deadline)
	if err != nil {
		return err
	}
	c.idle = true
	return c.refusal(head, FaultStart)
}

// refusal returns the error in a message of the child, as a fault of kind f, or nil if the message holds none. A
// negative env in the message stands for the whole batch of a simulator.
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
