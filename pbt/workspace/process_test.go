package workspace

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/testmain"
)

// The tests of several processes run this test binary again, in a role, with a folder and options.
const (
	roleVariable   = "GORL_WORKSPACE_TEST_ROLE"
	folderVariable = "GORL_WORKSPACE_TEST_FOLDER"
	ttlVariable    = "GORL_WORKSPACE_TEST_TTL"
)

func TestMain(m *testing.M) {
	role := map[string]func(f *Folder) error{
		"hold": hold, "write": writeForever,
	}[os.Getenv(roleVariable)]
	if role == nil {
		testmain.SideBySide()
		os.Exit(m.Run())
	}
	ttl, err := time.ParseDuration(os.Getenv(ttlVariable))
	if err == nil {
		var f *Folder
		if f, err = OpenFolder(os.Getenv(folderVariable), 2, FolderOptions{LeaseTTL: ttl}); err == nil {
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

func start(t *testing.T, role, dir string, ttl time.Duration) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), roleVariable+"="+role, folderVariable+"="+dir, ttlVariable+"="+ttl.String())
	p.Stderr = &p.words
	p.in, p.out = must.Get(p.StdinPipe())(t), bufio.NewReader(must.Get(p.StdoutPipe())(t))
	must.Do(t, p.Start())
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

// hold joins member 0 until its input ends.
func hold(f *Folder) error {
	if _, err := f.Join(context.Background(), 0); err != nil {
		return err
	}
	fmt.Println("joined")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}
