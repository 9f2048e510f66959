package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs/view"
	"github.com/gorl-dev/gorl/internal/commandline"
)

// walks is a run of a walker that trains in a moment.
var walks = strings.NewReplacer("id: CartPole", "id: Walker", "PPO", "AMP", "name: pole", "name: walk").Replace(short)

// viewed starts gorl view, see [started].
func viewed(t *testing.T, args ...string) (url string, stop func() (said string)) {
	t.Helper()
	return started(t, append([]string{"view"}, args...)...)
}

// started starts a command that serves, and returns its address and what ends it, well, and returns its messages.
func started(t *testing.T, args ...string) (url string, stop func() (said string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	var stderr bytes.Buffer
	status := make(chan int, 1)
	go func() {
		status <- commandline.Execute(ctx, command(), args, write, &stderr)
		write.Close()
	}()
	stop = func() string {
		cancel()
		s := <-status
		if status <- s; s != commandline.Done {
			t.Errorf("gorl %q ends with status %d: %s", args, s, stderr.String())
		}
		return stderr.String()
	}
	t.Cleanup(func() { stop() })
	url, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatalf("gorl %s has no address: %s", args[0], stop())
	}
	return strings.TrimSpace(url), stop
}

// frames reads messages until a frame is as wanted, and returns it and the scene.
func frames(t *testing.T, url string, request *view.Request, want func(*view.Frame) bool) (scene view.Scene,
	f view.Frame) {
	t.Helper()
	//nolint:bodyclose // Dial reads it to its end
	conn, _, err := websocket.Dial(t.Context(), url+"/socket",
		&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {url}}})
	must(t, err)
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	if request != nil {
		must(t, wsjson.Write(t.Context(), conn, request))
	}
	for {
		var m struct {
			Scene *view.Scene
			Frame json.RawMessage
		}
		must(t, wsjson.Read(t.Context(), conn, &m))
		if m.Scene != nil {
			scene = *m.Scene
			continue
		}
		f = view.Frame{}
		must(t, json.Unmarshal(m.Frame, &f))
		if want(&f) {
			return scene, f
		}
	}
}

// A run is shown by its checkpoint, with the discriminator's reward, on a page; a signal ends it well.
func TestViewRun(t *testing.T) {
	here(t, "walk.yaml", walks)
	gorl(t, 0, "train", "-c", "walk.yaml", "-q", "--seed", "2")
	url, stop := viewed(t, "runs/walk", "--checkpoint", "latest", "--set", "episode_length=10")
	scene, f := frames(t, url, nil, func(f *view.Frame) bool { return f.Episode == 2 && f.Time > 0.01 })
	if scene.Title != "runs/walk, timestep 96" || len(scene.Shapes) != 8 || scene.Step < 0.0199 || scene.Step > 0.0201 {
		t.Errorf("the scene is %+v", scene)
	}
	if style, ok := f.Figures["style reward"]; !ok || style < 0 || style > 9.3 {
		t.Errorf("the figures are %v", f.Figures)
	}
	same(t, "messages", "", stop())
	// One of PPO has no such reward; its wrappers have the statistics that it learned.
	gorl(t, 0, "train", "-c", "walk.yaml", "-q", "--set", "agent.class=PPO", "--set", "models.mlp=[8]", "--set",
		"trainer.name=plain", "--set", "environment.wrappers=[normalize_observation]")
	followEvery = 10 * time.Millisecond
	t.Cleanup(func() { followEvery = 3 * time.Second })
	url, stop = viewed(t, "runs/plain", "--stochastic", "--follow")
	_, f = frames(t, url, &view.Request{Do: "reset"},
		func(f *view.Frame) bool { return f.Episode >= 2 && f.Time > 0.01 })
	if _, ok := f.Figures["style reward"]; ok {
		t.Error("PPO has a style reward")
	}
	gorl(t, 0, "train", "--resume", "runs/plain", "--timesteps", "128", "-q")
	frames(t, url, nil, func(f *view.Frame) bool { return f.Figures["checkpoint"] == 128 })
	stop()
	// A newer checkpoint that cannot play leaves the earlier one playing.
	flags := &evalFlags{console: console{stderr: io.Discard}, checkpoint: "latest", episodes: 1, numEnvs: 1}
	saved := get(flags.load("runs/plain"))(t)
	env := get(flags.makeEnvironment(saved.sections, ""))(t)
	defer env.Close()
	p := &playing{flags: flags, run: saved, env: env, newer: make(chan *checkpoint.Saved, 1)}
	must(t, p.load(saved.Saved))
	defer p.Close()
	p.newer <- &checkpoint.Saved{Snapshot: checkpoint.NewSnapshot()}
	get(p.Act(get(env.Reset(1))(t)))(t)
	same(t, "the timestep", int64(128), p.run.Manifest.Step)
}

// The policies that come with gorl walk, and act in their examples' environments only.
func TestViewExamples(t *testing.T) {
	same(t, "the policies", "humanoid quadruped walker", strings.Join(policyNames(), " "))
	for _, name := range policyNames() {
		url, stop := viewed(t, "--example", name, "--seed", "2")
		_, first := frames(t, url, nil, func(*view.Frame) bool { return true })
		scene, f := frames(t, url, &view.Request{Do: "rate", Rate: 4}, func(f *view.Frame) bool { return f.Time > 4 })
		way := math.Hypot(f.Root[0]-first.Root[0], f.Root[1]-first.Root[1])
		if scene.Title != "example "+name || f.Episode != 1 || way < 1 {
			t.Errorf("%q is in episode %d after 4 s, and has gone %.2f m", scene.Title, f.Episode, way)
		}
		stop()
	}
}

func TestViewWrongUse(t *testing.T) {
	here(t, "short.yaml", short)
	gorl(t, 0, "train", "-c", "short.yaml", "-q")
	refuses(t, commandline.WrongUse, [][2]string{
		{"view runs/pole --env Walker", "a checkpoint, --env ID or --example NAME"},
		{"view", "one of humanoid, quadruped, walker"},
		{"view --example walker -c a.yaml", "--example has a policy of its own"},
		{"view --example humanoid --set task=imitate", "--set has changed the environment of --example humanoid"},
		{"view runs/pole --follow --checkpoint best", "--follow is for a run"},
		{"view --env Wolker", `did you mean "Walker"`},
	})
}
