package launch

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/dialogue"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestGoldenSchedule runs the dialogues in testdata/turns. A case is its name with settings, lines of what happens
// and when, "----", and what the schedule does.
func TestGoldenSchedule(t *testing.T) {
	dialogue.Run(t, "testdata/turns/*.txt", func(t *testing.T, c dialogue.Case) string {
		return drive(t, strings.Join(c.Words, " "), c.Input)
	})
}

// TestGoldenClusters runs the dialogues in testdata/clusters: a population's file, and what a cluster is given.
func TestGoldenClusters(t *testing.T) {
	files := must.Get(filepath.Abs("testdata/clusters/*.txt"))(t)
	t.Chdir("/") // which is in the script
	dialogue.Run(t, files, func(t *testing.T, c dialogue.Case) string {
		f := must.Get(Parse([]byte(strings.Join(c.Input, "\n"))))(t)
		if c.Words[0] == "kubernetes" {
			return string(must.Get(Kubernetes(f))(t))
		}
		return must.Get(Slurm(f))(t).Script
	})
}

// drive drives a schedule. Times are in seconds; "exit 2 75" is an exit status, "exit 2 killed" an end by a signal.
func drive(t *testing.T, settings string, happened []string) string {
	f, err := Parse([]byte("launcher: {" + settings + "}"))
	if err != nil {
		return err.Error() + "\n"
	}
	s := newTurns(f.Launcher)
	begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	var out strings.Builder
	on := func(st start) string {
		switch len(st.gpus) {
		case 0:
			return fmt.Sprintf(" start %d", st.member)
		case 1:
			return fmt.Sprintf(" start %d on GPU %d", st.member, st.gpus[0])
		}
		return fmt.Sprintf(" start %d on GPUs %v", st.member, st.gpus)
	}
	for _, text := range happened {
		at, text, _ := strings.Cut(text, " ")
		seconds := must.Get(strconv.ParseFloat(at, 64))(t)
		now := begin.Add(time.Duration(seconds * float64(time.Second)))
		fmt.Fprintf(&out, "%s", at)
		for _, do := range strings.Split(text, ",") {
			words := strings.Fields(do)
			if len(words) == 0 {
				continue
			}
			member := 0
			if len(words) > 1 {
				member = must.Get(strconv.Atoi(words[1]))(t)
			}
			switch words[0] {
			case "beat":
				steps := must.Get(strconv.ParseInt(words[2], 10, 64))(t)
				s.beat(member, progress{steps: steps})
			case "exit":
				status, how := -1, words[2]
				if n, err := strconv.Atoi(words[2]); err == nil {
					status, how = n, ""
				}
				must.Is(t, s.seats[member].state, running, "%s: the state of member %d", text, member)
				again, ok := s.exited(member, status, how, now)
				fmt.Fprintf(&out, " | %d %s", member, s.seats[member].state)
				if note := s.seats[member].note; note != "" {
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
