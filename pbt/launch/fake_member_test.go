package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/gorl-dev/gorl/pbt/workspace"
)

var (
	errYield   = errors.New("it yields")
	errRestart = errors.New("it wants to be started again")
)

// fakeMember makes this process a member of a population: it does what the words of the script say, keeps to the
// environment and the exit statuses of a member, and returns the status.
func fakeMember(script []string) int {
	go endWith(os.Getenv(envAlive))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := fake(ctx, script)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errYield):
		return 75
	case errors.Is(err, errRestart):
		return 76
	case ctx.Err() != nil:
		return 78
	}
	return 1
}

// fakeHelper makes this process one that a member started and that does not end with it.
func fakeHelper(pipe string) {
	go endWith(os.Getenv(envAlive))
	signal.Ignore(syscall.SIGTERM)
	hold(pipe)
	fmt.Println("here")
	select {}
}

// hold opens a named pipe for writing, as a sign of life that ends with the process, whatever ends it.
func hold(path string) {
	pipe, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(pipe, "here")
	held = append(held, pipe) // not to be closed by the collector
}

var held []*os.File

// endWith ends the process when no process has the named pipe open for writing any more: the test is gone, and will not
// stop what it started.
func endWith(path string) {
	pipe, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		_, err = pipe.Read(make([]byte, 1))
	}
	fmt.Fprintln(os.Stderr, "the test has ended:", err)
	os.Exit(3)
}

// fake does what its arguments say, one after the other. Every start is counted in a file of the workspace; an argument
// with "2:" before it is for the second start only, "p1:" for member 1.
func fake(ctx context.Context, script []string) (err error) {
	dir := filepath.Dir(os.Getenv("GORL_PBT_CONFIG"))
	member, err := strconv.Atoi(os.Getenv("GORL_PBT_POLICY_IDX"))
	if err != nil {
		return err
	}
	slice, err := strconv.ParseInt(os.Getenv("GORL_PBT_SLICE"), 10, 64)
	if err != nil {
		return err
	}
	attempt := count(filepath.Join(dir, fmt.Sprintf("starts-%d", member)))
	board, err := workspace.OpenFolder(dir, 3, workspace.FolderOptions{})
	if err != nil {
		return err
	}
	seat, err := board.Join(ctx, member)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, seat.Release()) }()
	view, err := board.View()
	if err != nil {
		return err
	}
	h := workspace.Heartbeat{Member: member, Phase: workspace.Training, Parent: -1, Iteration: 1}
	if last := view.Members[member].Heartbeat; last != nil {
		h = *last
	}
	for _, do := range script {
		if n, rest, ok := strings.Cut(do, ":"); ok {
			if strings.HasPrefix(n, "p") && n != fmt.Sprintf("p%d", member) || !strings.HasPrefix(n, "p") &&
				n != strconv.Itoa(attempt) {
				continue
			}
			do = rest
		}
		verb, arg, _ := strings.Cut(do, "=")
		switch verb {
		case "say":
			fmt.Println(arg)
		case "env":
			fmt.Printf("%s=%s\n", arg, os.Getenv(arg))
		case "order": // appends the member to a file
			if err := appendTo(filepath.Join(dir, arg), strconv.Itoa(member)); err != nil {
				return err
			}
		case "train": // so many intervals in all
			total, err := strconv.ParseInt(arg, 10, 64)
			if err != nil {
				return err
			}
			for n := int64(0); h.Iteration <= total; n++ {
				if slice > 0 && n == slice {
					return fmt.Errorf("after %d intervals: %w", n, errYield)
				}
				h.Steps, h.Objective, h.HasObjective, h.Phase = h.Iteration*100, float64(h.Iteration), true,
					workspace.Training
				h.Iteration++
				if err := seat.Beat(h); err != nil {
					return err
				}
			}
		case "hold":
			hold(arg)
		case "helper", "loud-helper": // a process of its own that never ends; a loud one has the member's output
			helper := exec.Command(os.Args[0], "helper", arg)
			if verb == "loud-helper" {
				helper.Stderr = os.Stderr
			}
			says, err := helper.StdoutPipe()
			if err != nil {
				return err
			}
			if err := helper.Start(); err != nil {
				return err
			}
			if _, err := says.Read(make([]byte, 1)); err != nil {
				return err
			}
		case "stubborn":
			signal.Ignore(syscall.SIGTERM)
		case "wait":
			<-ctx.Done()
			fmt.Println("saved")
			return ctx.Err()
		case "forever":
			select {}
		case "restart":
			return errRestart
		case "fail":
			return errors.New(arg)
		case "exit":
			status, err := strconv.Atoi(arg)
			if err != nil {
				return err
			}
			os.Exit(status)
		default:
			return fmt.Errorf("what is %q?", do)
		}
	}
	return nil
}

// count adds a line to a file and returns how many there are.
func count(path string) int {
	if err := appendTo(path, "x"); err != nil {
		panic(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return strings.Count(string(data), "\n")
}

func appendTo(path, line string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, line)
	return errors.Join(err, file.Close())
}
