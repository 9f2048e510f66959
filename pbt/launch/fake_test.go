package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

var fakeMember string // the built program

// TestMain builds the fake member, or makes the test's own program a launcher when a test starts it as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "launcher" {
		f, err := ReadFile(os.Args[2])
		if err == nil {
			err = Run(context.Background(), f, Options{})
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "launch-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		fakeMember = filepath.Join(dir, "fakemember")
		if out, err := exec.Command("go", "build", "-o", fakeMember, "../../internal/test/fakemember").CombinedOutput(); err != nil {
			panic(fmt.Sprintf("building the fake member: %v\n%s", err, out))
		}
		alive := filepath.Join(dir, "alive")
		if err := syscall.Mkfifo(alive, 0o600); err != nil {
			panic(err)
		}
		pipe, err := os.OpenFile(alive, os.O_RDWR, 0)
		if err != nil {
			panic(err)
		}
		defer pipe.Close()
		os.Setenv("GORL_FAKE_ALIVE", alive) // fake members end when this process has
		return m.Run()
	}())
}
