//go:build linux

package distributed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/tensor"
)

// rankVariable makes this test binary a rank that adds up until an error ends it: see TestMain.
const rankVariable = "GORL_TEST_RANK"

func TestMain(m *testing.M) {
	if rank := os.Getenv(rankVariable); rank != "" {
		os.Exit(addUp(rank))
	}
	os.Exit(m.Run())
}

// addUp joins a rank of two on another machine, and prints a line for every sum that is right.
func addUp(rank string) int {
	cfg := DefaultConfig()
	cfg.Timeout, cfg.JoinTimeout = 2*time.Second, 20*time.Second
	r, _ := strconv.Atoi(rank)
	g, err := Join(context.Background(), Place{Rank: r, Size: 2, LocalSize: 1, Address: "10.79.0.1:29517", Run: "network"},
		cfg)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer g.Close()
	s := tensor.NoGrad()
	defer s.Close()
	for i := 0; ; i++ {
		x := s.Full(tensor.Float32, float64(r+1), 10_000)
		g.Sum(s, x)
		sum := s.Sum(x)
		if err := s.Err(); err != nil {
			fmt.Println("ended:", err)
			return 0
		}
		if got, err := tensor.Item(sum); got != 30_000 {
			fmt.Println("the sum is", got, err)
			return 1
		}
		fmt.Println("sum", i)
		s.Reset()
	}
}

// machines makes two network namespaces that stand for machines, with a cable between them, and returns what runs a
// command in one. Without the rights to make them the test is skipped.
func machines(t *testing.T) (in func(machine int, argv ...string) *exec.Cmd) {
	t.Helper()
	ip, err := exec.LookPath("ip")
	if err != nil || os.Getuid() != 0 {
		t.Skip("needs root and the program ip (Debian's iproute2), to make two network namespaces")
	}
	name := func(i int) string { return fmt.Sprintf("gorl%d-%d", os.Getpid(), i) }
	run := func(argv ...string) error {
		out, err := exec.Command(ip, argv...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(argv, " "), err, out)
		}
		return nil
	}
	t.Cleanup(func() {
		for i := range 2 {
			_ = run("netns", "del", name(i))
		}
	})
	for i := range 2 {
		if err := run("netns", "add", name(i)); err != nil {
			t.Skip("needs the right to make network namespaces: ", err)
		}
	}
	var errs []error
	errs = append(errs, run("-n", name(0), "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns",
		name(1)))
	for i := range 2 {
		errs = append(errs, run("-n", name(i), "addr", "add", fmt.Sprintf("10.79.0.%d/24", i+1), "dev", "cable"),
			run("-n", name(i), "link", "set", "cable", "up"), run("-n", name(i), "link", "set", "lo", "up"))
	}
	must(t, errors.Join(errs...))
	return func(machine int, argv ...string) *exec.Cmd {
		return exec.Command(ip, append([]string{"netns", "exec", name(machine)}, argv...)...)
	}
}

// TestNetwork lets two ranks on machines of their own add up, over a cable with a delay and losses where the kernel can
// make these. Then the cable is cut: both end within the timeout, and name the other.
func TestNetwork(t *testing.T) {
	in := machines(t)
	lossy := in(0, "tc", "qdisc", "add", "dev", "cable", "root", "netem", "delay", "5ms", "loss", "1%")
	if out, err := lossy.CombinedOutput(); err != nil {
		t.Logf("without a delay and losses: %v: %s", err, out)
	}
	type line struct {
		rank int
		text string
	}
	lines := make(chan line)
	commands := make([]*exec.Cmd, 2)
	for r := range commands {
		c := in(r, os.Args[0])
		c.Env = append(os.Environ(), rankVariable+"="+strconv.Itoa(r))
		out, err := c.StdoutPipe()
		must(t, err)
		must(t, c.Start())
		commands[r] = c
		go func() {
			for scan := bufio.NewScanner(out); scan.Scan(); {
				lines <- line{r, scan.Text()}
			}
			lines <- line{r, ""}
		}()
		t.Cleanup(func() { _ = c.Process.Kill() })
	}
	var last [2]string
	var cut time.Time
	for open := 2; open > 0; {
		l := <-lines
		switch {
		case l.text == "":
			open--
		case l.text == "sum 50" && l.rank == 0:
			if out, err := in(0, "ip", "link", "set", "cable", "down").CombinedOutput(); err != nil {
				t.Fatalf("cutting the cable: %v: %s", err, out)
			}
			cut = time.Now()
			last[0] = l.text
		default:
			last[l.rank] = l.text
		}
	}
	for r, c := range commands {
		if err := c.Wait(); err != nil {
			t.Errorf("rank %d: %v, behind %q", r, err, last[r])
		}
		if want := fmt.Sprintf("rank %d has died, or cannot be reached", 1-r); !strings.HasPrefix(last[r], "ended:") ||
			!strings.Contains(last[r], want) {
			t.Errorf("rank %d ends with %q; want an error that says %q", r, last[r], want)
		}
	}
	if took := time.Since(cut); took > time.Minute {
		t.Errorf("the ranks ended %v after the cable was cut; want no hang beyond the timeout of 2 s and the reports", took)
	}
}
