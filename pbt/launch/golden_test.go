package launch

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write what the golden dialogues get into their files; then judge the difference")

// TestGoldenSchedule runs the dialogues in testdata/schedule. A case is its name with settings, lines of what happens
// and when, "----", and what the schedule does; lines that begin with # before a case are comments.
func TestGoldenSchedule(t *testing.T) {
	files, err := filepath.Glob("testdata/schedule/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files (%v)", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			for i, block := range strings.Split(strings.TrimRight(string(data), "\n"), "\n\n") {
				if i > 0 {
					out.WriteString("\n")
				}
				lines := strings.Split(block, "\n")
				for strings.HasPrefix(lines[0], "#") {
					fmt.Fprintln(&out, lines[0])
					lines = lines[1:]
				}
				rule := slices.Index(lines, "----")
				if rule < 0 {
					t.Fatalf("the case %q has no ----", lines[0])
				}
				name, settings, _ := strings.Cut(lines[0], " ")
				want := strings.Join(lines[rule+1:], "\n") + "\n"
				t.Run(name, func(t *testing.T) {
					got := dialogue(t, settings, lines[1:rule])
					fmt.Fprintf(&out, "%s\n%s", strings.Join(lines[:rule+1], "\n"), got)
					if !*rewrite && got != want {
						t.Errorf("%s\n%s", strings.Join(lines[:rule], "\n"), cmp.Diff(want, got))
					}
				})
			}
			if *rewrite && !t.Failed() {
				if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// dialogue drives a schedule. Times are in seconds; "exit 2 75" is an exit status, "exit 2 killed" an end by a signal.
func dialogue(t *testing.T, settings string, happened []string) string {
	f, err := Parse([]byte("launcher: {" + settings + "}"))
	if err != nil {
		return err.Error() + "\n"
	}
	s := newSchedule(f.Launcher)
	begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	var out strings.Builder
	on := func(st start) string {
		if st.gpu == noGPU {
			return fmt.Sprintf(" start %d", st.policy)
		}
		return fmt.Sprintf(" start %d on GPU %d", st.policy, st.gpu)
	}
	for _, text := range happened {
		at, text, _ := strings.Cut(text, " ")
		seconds, err := strconv.ParseFloat(at, 64)
		if err != nil {
			t.Fatal(err)
		}
		now := begin.Add(time.Duration(seconds * float64(time.Second)))
		fmt.Fprintf(&out, "%s", at)
		for _, do := range strings.Split(text, ",") {
			words := strings.Fields(do)
			if len(words) == 0 {
				continue
			}
			policy := 0
			if len(words) > 1 {
				if policy, err = strconv.Atoi(words[1]); err != nil {
					t.Fatal(err)
				}
			}
			switch words[0] {
			case "beat":
				frames, err := strconv.ParseInt(words[2], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				s.beat(policy, progress{frames: frames})
			case "exit":
				status, how := -1, words[2]
				if n, err := strconv.Atoi(words[2]); err == nil {
					status, how = n, ""
				}
				if s.seats[policy].state != running {
					t.Fatalf("%s: policy %d does not run", text, policy)
				}
				again, ok := s.exited(policy, status, how, now)
				fmt.Fprintf(&out, " | %d %s", policy, s.seats[policy].state)
				if note := s.seats[policy].note; note != "" {
					fmt.Fprintf(&out, " (%s)", note)
				}
				if ok {
					out.WriteString(" at once" + on(again))
				}
			case "stop":
				s.stop()
			default:
				t.Fatalf("what is %q?", do)
			}
		}
		out.WriteString(" |")
		for _, st := range s.due(now) {
			out.WriteString(on(st))
		}
		if wake, ok := s.wake(now); ok {
			fmt.Fprintf(&out, " wake %.6g", wake.Sub(begin).Seconds())
		}
		if s.over() {
			out.WriteString(" over")
		}
		out.WriteString("\n")
	}
	return out.String()
}
