package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/testmain"
)

// The tests of several processes run this test binary again, in a role, with a folder and options.
const (
	roleVariable    = "GORL_WORKSPACE_TEST_ROLE"
	folderVariable  = "GORL_WORKSPACE_TEST_FOLDER"
	ttlVariable     = "GORL_WORKSPACE_TEST_TTL"
	machineVariable = "GORL_WORKSPACE_TEST_MACHINE" // a name of the machine; those of different ones share no locks
)

func TestMain(m *testing.M) {
	role := map[string]func(f *Folder) error{
		"hold": holdSeat, "write": writeForever, "read": readForever,
	}[os.Getenv(roleVariable)]
	if role == nil {
		testmain.SideBySide()
		os.Exit(m.Run())
	}
	ttl, err := time.ParseDuration(os.Getenv(ttlVariable))
	if err == nil {
		var f *Folder
		if f, err = OpenFolder(os.Getenv(folderVariable), 2, FolderOptions{LeaseTTL: ttl}); err == nil {
			if machine, ok := os.LookupEnv(machineVariable); ok {
				f.domain = machine
			}
			err = role(f)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// process is a child in a role.
type process struct {
	*exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	words strings.Builder
}

func start(t *testing.T, role, dir string, ttl time.Duration, environment ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(append(os.Environ(), roleVariable+"="+role, folderVariable+"="+dir, ttlVariable+"="+ttl.String()), environment...)
	p.Stderr = &p.words
	in, err := p.StdinPipe()
	out, err2 := p.StdoutPipe()
	if err := errors.Join(err, err2, p.Start()); err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	t.Cleanup(func() {
		p.Process.Kill()
		p.Wait()
	})
	return p
}

// line reads what the child prints.
func (p *process) line(t *testing.T) string {
	t.Helper()
	text, err := p.out.ReadString('\n')
	if err != nil {
		p.Wait()
		t.Fatalf("the child ended: %v\n%s", err, p.words.String())
	}
	return strings.TrimSpace(text)
}

// ask sends the child a line and returns its answer.
func (p *process) ask(t *testing.T, command string) string {
	t.Helper()
	if _, err := fmt.Fprintln(p.in, command); err != nil {
		t.Fatalf("%v\n%s", err, p.words.String())
	}
	return p.line(t)
}

// holdSeat joins member 0 and does what it is told.
func holdSeat(f *Folder) error {
	s, err := f.Join(context.Background(), 0)
	if err != nil {
		return err
	}
	fmt.Println("joined")
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		command, argument, _ := strings.Cut(commands.Text(), " ")
		n, _ := strconv.ParseInt(argument, 10, 64)
		var err error
		switch command {
		case "beat":
			err = s.Beat(Heartbeat{Phase: Training, Parent: -1, Iteration: n})
		case "publish":
			_, err = s.Publish(record(0, n, float64(n)), weights(0, n))
		case "best":
			err = s.PublishBest(record(0, n, float64(n)), weights(0, n), false)
		case "prune":
			err = s.Prune(Keep{Oldest: n})
		case "release":
			err = s.Release()
		}
		lost := false
		select {
		case <-s.Lost():
			lost = true
		default:
		}
		switch {
		case errors.Is(err, ErrLeaseLost) && lost:
			fmt.Println("lost")
		case err != nil || lost:
			fmt.Printf("lost %t, error %v\n", lost, err)
		default:
			fmt.Println("ok")
		}
	}
	return commands.Err()
}
