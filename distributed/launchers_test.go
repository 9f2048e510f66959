package distributed

import (
	"strings"
	"testing"
)

// Lists of machines and of tasks, as scontrol show hostnames and sinfo write and read them.
func TestSlurmLists(t *testing.T) {
	for list, want := range map[string]string{ // none for an error
		"a,b": "a", "n[07-12,20],m1": "n07", "r[1-2]n[03,05]x": "r1n03x", "n[5,1-3]": "n5", "a.b-c[1]": "a.b-c1",
		"": "", ",a": "", "n[1": "", "n[]": "", "n[a]": "", "n[1,]": "", "[[1]]": "", "(null)": "",
	} {
		if got, err := firstHost(list); got != want || (err == nil) != (want != "") {
			t.Errorf("the first of %q is %q, %v; want %q", list, got, err, want)
		}
	}
	for _, x := range []struct {
		list       string
		node, want int // 0 for an error
	}{
		{"2(x3),1", 2, 2}, {"2(x3),1", 3, 1}, {"2147483647(x2147483647)", 5, 2147483647}, {"2(x3),1", 4, 0},
		{"", 0, 0}, {"2(x0)", 0, 0}, {"2(x3", 0, 0}, {"-1", 0, 0}, {"2,,1", 1, 0}, {"9999999999", 0, 0},
	} {
		if got, err := tasksOn(x.list, x.node); got != x.want || (err == nil) != (x.want > 0) {
			t.Errorf("%q has %d tasks on node %d, %v; want %d", x.list, got, x.node, err, x.want)
		}
	}
}

// Whatever stands in an environment, the place makes sense or there is an error.
func FuzzDetect(f *testing.F) {
	f.Add("n[01-04,7],m", "2(x3),1", "3", "0", "4", "10")
	f.Add("r[1-2]n[03,05]x", "1", "0", "0", "1", "")
	f.Fuzz(func(t *testing.T, nodes, tasks, node, local, size, rank string) {
		values := map[string]string{
			"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_STEP_NODELIST": nodes, envTasks: tasks,
			"SLURM_NODEID": node, "SLURM_LOCALID": local,
			"SLURM_STEP_NUM_TASKS": size, "SLURM_PROCID": rank,
		}
		p, ok, err := Detect(func(name string) string { return values[name] })
		if err != nil || !ok {
			return
		}
		if p.Rank < 0 || p.Rank >= p.Size || p.LocalRank < 0 || p.LocalRank >= p.LocalSize ||
			strings.ContainsAny(p.Address, "[]()/ \n") {
			t.Errorf("%+v of %v", p, values)
		}
	})
}
