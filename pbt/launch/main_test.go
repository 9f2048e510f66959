package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// envAlive names a pipe that the tests' process holds open for writing: the processes it started end when it has ended.
const envAlive = "GORL_FAKE_ALIVE"

// TestMain runs the tests, or makes the tests' own program what a test starts it as: a launcher, a fake member, or a
// helper of one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "launcher":
			f, err := ReadFile(os.Args[2])
			if err == nil {
				err = Run(context.Background(), f, Options{})
			}
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		case "member":
			os.Exit(fakeMember(os.Args[2:]))
		case "helper":
			fakeHelper(os.Args[2])
		}
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "launch-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		alive := filepath.Join(dir, "alive")
		if err := syscall.Mkfifo(alive, 0o600); err != nil {
			panic(err)
		}
		pipe, err := os.OpenFile(alive, os.O_RDWR, 0)
		if err != nil {
			panic(err)
		}
		defer pipe.Close()
		os.Setenv(envAlive, alive)
		return m.Run()
	}())
}
