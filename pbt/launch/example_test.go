package launch_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/pbt/launch"
)

// A member that trains in its own way: it saves and returns when its context ends.
func ExampleMember() {
	os.Exit(launch.Member(func(ctx context.Context, p launch.Process) error {
		fmt.Printf("member %d of %s\n", p.Member, p.Config)
		<-ctx.Done()
		return context.Cause(ctx)
	}))
}

func ExampleRun() {
	dir, err := os.MkdirTemp("", "launch")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	f, err := launch.Parse(
		[]byte(`launcher: {num_policies: 2, command: [sh, -c, 'echo I am member $GORL_PBT_POLICY_IDX']}`))
	if err != nil {
		log.Fatal(err)
	}
	f.Directory = dir

	ctx, kill, stop := launch.Interrupts(context.Background())
	defer stop()
	if err := launch.Run(ctx, f, launch.Options{Kill: kill}); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(f.Dir(), "logs", "001.log"))
	fmt.Print(string(text), err)
	// Output:
	// I am member 1
	// <nil>
}
