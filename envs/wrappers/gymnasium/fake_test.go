package gymnasium

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestMain makes the test binary a child of the bridge, or a parent to be killed, if the environment says so.
func TestMain(m *testing.M) {
	if mode, ok := os.LookupEnv("GORL_FAKE_CHILD"); ok {
		fakeChild(mode)
		return
	}
	if os.Getenv("GORL_FAKE_PARENT") != "" {
		fakeParent()
		return
	}
	os.Exit(m.Run())
}

// patience is how long a fake child may take on a loaded machine for what takes a moment.
const patience = time.Minute

// fake returns options whose children are this test binary. The first child that comes to do so misbehaves as mode
// says.
func fake(t testing.TB, n, children int, mode string) Options {
	self := must.Get(os.Executable())(t)
	return Options{
		ID: "Fake-v0", NumEnvs: n, Children: children, Python: self, StartTimeout: patience, Timeout: patience,
		Environ: []string{"GORL_FAKE_CHILD=" + mode, "GORL_FAKE_ONCE=" + t.TempDir() + "/once"},
	}
}

// misbehaves reports whether it is this child's turn: the second child does once, in its fifth step.
func misbehaves(index, steps int) bool {
	if index != 1 || steps != 5 {
		return false
	}
	f, err := os.OpenFile(os.Getenv("GORL_FAKE_ONCE"), os.O_CREATE|os.O_EXCL, 0o600)
	f.Close()
	return err == nil
}

// fakeSpaces is what a fake child says of its environments.
const fakeSpaces = `{
	"observation": {"kind": "Dict", "keys": ["a", "b"], "spaces": [
		{"kind": "Box", "shape": [3], "low": [null], "high": [null]}, {"kind": "Discrete", "nvec": [100000]}]},
	"action": {"kind": "Box", "shape": [2], "low": [-1], "high": [1]},
	"state": {"kind": "Box", "shape": [1], "low": [null], "high": [null]},
	"amp": {"kind": "Box", "shape": [1], "low": [null], "high": [null]},
	"motions": false}`

// fakeEnv is an environment whose every number can be foretold: its episodes have 3 + i%4 steps, of which odd
// environments are truncated and even ones terminated.
type fakeEnv struct {
	i, steps int
	seed     float32
}

// length is the length of an episode of environment i.
func (f *fakeEnv) length() int { return 3 + f.i%4 }

// observe writes an observation: index, seed, step, and 7·step + index.
func (f *fakeEnv) observe(row []float32) {
	copy(row, []float32{float32(f.i), f.seed, float32(f.steps), float32(7*f.steps + f.i)})
}

// faker is a child that steps fake environments.
type faker struct {
	setup   setup
	memory  []byte
	layout  *layout
	block   *control
	arrays  exchange
	envs    []*fakeEnv
	steps   int
	pending []byte // a message for after the command
}

// got returns a value that comes without an error, which ends the child.
func got[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// fakeChild speaks the bridge's protocol from the other side.
func fakeChild(mode string) {
	requests, replies := os.NewFile(4, "requests"), os.NewFile(5, "replies")
	_ = syscall.SetNonblock(4, false)
	_ = syscall.SetNonblock(5, false)
	receive := func() []byte {
		var size [4]byte
		got(io.ReadFull(requests, size[:]))
		b := make([]byte, binary.LittleEndian.Uint32(size[:]))
		got(io.ReadFull(requests, b))
		return b
	}
	reply := func(head string) {
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(head)))
		b = binary.LittleEndian.AppendUint32(b, 0)
		got(replies.Write(append(b, head...)))
	}
	receive() // the program
	f := &faker{}
	got(f, json.Unmarshal(receive(), &f.setup))
	reply(f.describe(mode))
	receive()
	f.attach()
	reply("{}")
	for {
		for atomic.LoadUint32(&f.block.sequence) == f.block.done {
			futexWait(&f.block.sequence, f.block.done, time.Second)
			if os.Getppid() != f.setup.Parent {
				return
			}
		}
		if f.block.command == commandClose {
			return
		}
		status := f.run(mode, replies)
		atomic.StoreUint32(&f.block.status, status)
		atomic.AddUint32(&f.block.done, 1)
		futexWake(&f.block.done)
		if status&statusMessage != 0 {
			reply(string(f.pending))
		}
	}
}

// describe returns the description of the environments, or misbehaves.
func (f *faker) describe(mode string) string {
	description := fakeSpaces
	switch mode {
	case "start-missing":
		description = `{"error": "it has no gymnasium", "missing": true}`
	case "start-exit":
		fmt.Fprintln(os.Stderr, "cannot go on")
		os.Exit(7)
	case "start-hang":
		time.Sleep(time.Hour)
	case "start-other":
		if f.setup.Index == 1 {
			description = strings.Replace(description, `"shape": [3]`, `"shape": [4]`, 1)
		}
	}
	return description
}

func (f *faker) attach() {
	info := got(os.NewFile(3, "memory").Stat())
	f.memory = got(syscall.Mmap(3, 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED))
	f.layout = got(parseHeader(f.memory))
	f.block = f.layout.block(f.memory, f.setup.Index)
	f.arrays.find(f.memory, f.layout)
	for i := f.setup.From; i < f.setup.To; i++ {
		f.envs = append(f.envs, &fakeEnv{i: i})
	}
}

// run does one command and returns its status.
func (f *faker) run(mode string, replies *os.File) uint32 {
	switch f.block.command {
	case commandReset:
		for _, e := range f.envs {
			if f.block.seed >= 0 {
				e.seed = float32(f.block.seed) + float32(e.i)
			}
			f.reset(e)
		}
	case commandStep:
		f.steps++
		for _, e := range f.envs {
			f.step(e)
			if mode == "marks" { // ends are unknown, and environment 1 only resets in the second step
				if f.arrays.shared.flags[e.i] != 0 {
					f.arrays.shared.flags[e.i] |= flagUnknown
				}
				if e.i == 1 && f.steps == 2 {
					f.arrays.shared.flags[1], f.arrays.shared.rewards[1] = flagInvalid, 0
				}
			}
		}
		if misbehaves(f.setup.Index, f.steps) {
			return f.misbehave(mode, replies)
		}
	}
	if f.steps == 1 && f.block.command == commandStep {
		f.pending = []byte(`{"columns": ["steps"], "infos": {}}`)
		return statusMessage
	}
	return 0
}

func (f *faker) reset(e *fakeEnv) {
	e.steps = 0
	e.observe(f.arrays.observations.shared.floats[4*e.i:])
	if f.arrays.states.shared.floats != nil {
		f.arrays.states.shared.floats[e.i] = -1
	}
}

func (f *faker) step(e *fakeEnv) {
	e.steps++
	a := &f.arrays
	k := len(a.shared.infos) / len(a.shared.flags)
	a.shared.rewards[e.i] = float64(a.shared.actions[2*e.i]) + 10*float64(a.shared.actions[2*e.i+1])
	a.amp.shared.floats[e.i] = float32(100*e.i + e.steps)
	if k > 0 {
		a.shared.infos[k*e.i] = float64(e.steps)
		for j := 1; j < k; j++ {
			a.shared.infos[k*e.i+j] = math.NaN()
		}
	}
	a.shared.flags[e.i] = 0
	if e.steps < e.length() {
		e.observe(a.observations.shared.floats[4*e.i:])
		a.states.shared.floats[e.i] = float32(e.steps)
		return
	}
	a.shared.flags[e.i] = 1 + uint8(e.i%2)
	e.observe(a.observations.sharedFinals.floats[4*e.i:])
	a.states.sharedFinals.floats[e.i] = float32(e.steps)
	f.reset(e)
}

// misbehave does what its name says, once, and returns the status of the command.
func (f *faker) misbehave(mode string, replies *os.File) uint32 {
	first := f.setup.From
	switch mode {
	case "exit":
		fmt.Fprintln(os.Stderr, "the simulation has exploded")
		os.Exit(9)
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Hour) // the signal may reach another thread first: this one must not answer
	case "stop":
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		time.Sleep(time.Hour) // as above
	case "hang":
		time.Sleep(time.Hour)
	case "nan":
		f.arrays.observations.shared.floats[4*first+2] = float32(math.NaN())
	case "index":
		f.arrays.observations.shared.floats[4*first+3] = -1
	case "final-nan":
		f.arrays.shared.flags[first] = 2
		f.arrays.observations.sharedFinals.floats[4*first] = float32(math.Inf(1))
	case "reward":
		f.arrays.shared.rewards[first] = math.NaN()
	case "amp":
		f.arrays.amp.shared.floats[first] = float32(math.NaN())
	case "flags":
		f.arrays.shared.flags[first] = 0x40
	case "guard":
		f.block.guard[3] = 0
	case "header":
		copy(f.memory, "nonsense")
	case "status":
		return 0xdead
	case "garbage":
		replies.Write([]byte("0123456789 this is no message"))
		return statusMessage
	case "half":
		replies.Write([]byte{100, 0, 0, 0, 0, 0, 0, 0, '{'})
		return statusMessage
	case "exception":
		f.pending = []byte(`{"error": "Traceback: the environment is cross", "env": ` + strconv.Itoa(first) + `}`)
		return statusMessage | statusFailed
	case "columns":
		f.pending = []byte(`{"columns": [` + strings.Repeat(`"x",`, 999) + `"x"]}`)
		return statusMessage
	}
	return 0
}
