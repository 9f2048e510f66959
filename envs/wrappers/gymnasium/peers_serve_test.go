package gymnasium

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/spaces"
)

// A Python program asks policies that add up their observations, and is told what is wrong with a file, with the
// program that served, and with what it asks.
func TestPeersServe(t *testing.T) {
	python := peers.Python(t, "gymnasium")
	client := must.Get(filepath.Abs("../../../clients/python"))(t)
	rooms := spaces.NewDict(map[string]spaces.Space{"a": spaces.NewDiscrete(3), "b": spaces.Unbounded(2)})
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 3)
	choices := spaces.NewMultiDiscrete(3, 2)
	masked := &chooser{adder{set: spaces.Set{Observation: spaces.Unbounded(1), Action: choices,
		ActionMask: spaces.NewActionMask(choices)}, training: true}}
	go func() { served <- Serve(ctx, masked, filepath.Join(folder, "masks"), ServeOptions{Rows: 4}) }()
	for name, observation := range map[string]spaces.Space{"box": spaces.Unbounded(3), "dict": rooms} {
		p := &adder{set: spaces.Set{Observation: observation, Action: spaces.NewBox(-1, 1, 2)}, training: true}
		go func() { served <- Serve(ctx, p, filepath.Join(folder, name), ServeOptions{Rows: 4}) }()
	}
	script := exec.Command(python, "-c", `
import os, struct, subprocess, sys
import numpy as np
from gorl_client import Policy, PolicyError

folder = sys.argv[1]
kept = []

def attempt(f):
    try:
        print(np.asarray(f()).tolist())
    except (ValueError, PolicyError) as e:
        kept.append(e)  # with all that its frames hold
        print(type(e).__name__, str(e).replace(folder, ""))

with Policy(folder + "/box") as policy:
    print(policy.name, policy.rows, policy.action_kind)
    for k in range(2000):
        assert policy.act([k, 0, 1])[0] == k + 1
    for bad in ([[1, 1, 1], [2, 2, 2]], [1, 2], [[0, 0, 0]] * 5, [float("nan"), 0, 0], [-1, 0, 0]):
        attempt(lambda: policy.act(bad))
    attempt(lambda: Policy(folder + "/box", wait=0))
with Policy(folder + "/box") as policy:
    print(policy.act([1, 1, 1]).tolist())
with Policy(folder + "/dict") as policy:
    for observation in (
        {"b": [1, 2], "a": 1}, {"a": np.array([1, 2]), "b": np.ones((2, 2))}, np.ones((2, 3)),
        {"a": 1, "c": [1, 2]}, {"a": 1, "b": [1, 2, 3]},
    ):
        attempt(lambda: policy.act(observation))
with Policy(folder + "/masks") as policy:
    for mask in ([[0, 1, 1, 1, 0], [False, False, True, False, True]], None, [[1, 0, 0, 0, 0]] * 2):
        attempt(lambda: policy.act([[7], [8]], action_mask=mask))
with open(folder + "/text", "wb") as f:
    f.write(b"x" * 99)
for _ in range(2):  # the first attempt holds on to nothing
    attempt(lambda: Policy(folder + "/text", wait=0))

# A server that was killed, and that nobody has asked about: its file is there.
gone = subprocess.Popen(["true"])
with open(folder + "/dict", "rb") as f:
    memory = bytearray(f.read())
offset = memory.index(struct.pack("<I", os.getppid()), 4096)
memory[offset : offset + 4] = struct.pack("<I", gone.pid)
os.waitid(os.P_PID, gone.pid, os.WEXITED | os.WNOWAIT)
with open(folder + "/killed", "wb") as f:
    f.write(memory)
attempt(lambda: Policy(folder + "/killed", wait=0))
`, folder)
	script.Env = append(os.Environ(), "PYTHONPATH="+client)
	out, err := script.CombinedOutput()
	cancel()
	must.Do(t, errors.Join(<-served, <-served, <-served))
	want := `adder 4 Box
[[3.0, -3.0], [6.0, -6.0]]
ValueError the observations have the shape (2,); the policy takes (3,), or a batch of them
ValueError 5 observations; the policy takes from 1 to 4 at once
PolicyError gymnasium: observations: spaces: Box(3): environment 0, dimension 0 is NaN; it must be finite
PolicyError negative observations
PolicyError /box: another program is asking this policy, or this one has not closed it
[3.0, -3.0]
[4.0, -4.0]
[[3.0, -3.0], [4.0, -4.0]]
[[3.0, -3.0], [3.0, -3.0]]
ValueError the observation has the keys ['a', 'c']; the policy takes ['a', 'b']
ValueError the part b has the shape (3,); the policy takes (2,), or a batch of them in every part
[[1, 0], [2, 1]]
ValueError the policy was trained with action masks; pass them as action_mask
PolicyError gymnasium: spaces: environment 0: the action mask allows no choice of index 1 of MultiDiscrete(3, 2); ` +
		`it must allow at least one
PolicyError /text begins with b'xxxxxxxx', version 2021161080; it must be b'GORLSHM\x00', version 1
PolicyError /text begins with b'xxxxxxxx', version 2021161080; it must be b'GORLSHM\x00', version 1
PolicyError /killed: the program that served the policy has ended
`
	must.Equal(t, "what the program printed", want, string(out))
	must.Do(t, err)
	must.Is(t, masked.training, true, "the policy trains again")
	_, err = os.Stat(filepath.Join(folder, "box"))
	must.Not(t, !errors.Is(err, os.ErrNotExist), "the file is still there: %v", err)
}
