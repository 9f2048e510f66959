//go:build linux

package cli

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/gorl-dev/gorl/internal/runfile"
)

// playedRuns trains runs/pole and runs/walk in a folder of their own, and adds runs/python, whose environment is a
// program.
func playedRuns(t *testing.T) {
	t.Helper()
	t.Setenv(beGorl, "1") // the program that plays a run is this one
	here(t, "pole.yaml", short)
	gorl(t, 0, "train", "-c", "pole.yaml", "-q")
	write(t, "walk.yaml", walks)
	gorl(t, 0, "train", "-c", "walk.yaml", "-q", "--seed", "2")
	changedRun(t, "python", "environment={id: 'gymnasium:CartPole-v1'}")
}

// changedRun copies runs/pole, with a setting changed as --set does.
func changedRun(t *testing.T, name, assignment string) {
	t.Helper()
	dir := filepath.Join("runs", name)
	must(t, os.CopyFS(dir, os.DirFS(filepath.Join("runs", "pole"))))
	c := get(runfile.Read(filepath.Join(dir, runFile)))(t)
	must(t, c.Set(assignment))
	write(t, filepath.Join(dir, runFile), string(get(c.YAML())(t)))
}

// players counts the processes that play runs of this test.
func players(t *testing.T) (n int) {
	t.Helper()
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		text, _ := os.ReadFile(line)
		here, err := os.Readlink(filepath.Join(filepath.Dir(line), "cwd"))
		if wd, _ := os.Getwd(); err == nil && here == wd && strings.Contains(string(text), "--socket") {
			n++
		}
	}
	return n
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 300 {
		if is() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("within 30 s %s", what)
}

// A click plays the newest checkpoint of a run, in any number of tabs by one process, which ends with the last of them.
// Nothing is written into the runs.
func TestCharacterInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser draws for a minute")
	}
	b := chromium(t)
	playedRuns(t)
	files := func() (list []string) {
		must(t, fs.WalkDir(os.DirFS("runs"), ".", func(name string, e fs.DirEntry, err error) error {
			info, e2 := e.Info()
			must(t, e2)
			list = append(list, name+info.ModTime().String())
			return err
		}))
		return list
	}
	before := files()
	url, stop := started(t, "serve", "runs", "--port", "0")
	b.open(url, 800)
	b.do(`location.hash = 'run=walk'`, nil)
	b.until(`document.querySelector('[data-key=play]').offsetParent`)
	if n := players(t); n != 0 {
		t.Fatalf("%d processes play before a click", n)
	}
	b.tab(`e.dataset.key === 'play'`)
	b.enter()
	const viewer = `document.querySelector('iframe.character').contentWindow`
	b.until(viewer + `.viewer?.frame?.time > 0.1`)
	var moved bool
	b.do(`const v = `+viewer+`.viewer, one = v.frame.poses; return one.some((x, i) => v.frame.poses[i] !== x) ||
		(await v.next()).poses.some((x, i) => one[i] !== x)`, &moved)
	if !moved {
		t.Error("it does not move")
	}
	b.until(viewer + `.viewer.frame.figures.checkpoint === 96`)
	b.do(`const w = `+viewer+`; errors.push(...w.errors);`, nil)
	b.clean()

	second := *b
	second.session = ""
	second.id = 1e6 // answers are told apart by their numbers
	var target struct{ TargetID string }
	second.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	second.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	second.session = attached.SessionID
	second.call("Page.navigate", map[string]any{"url": url + "/character/?run=walk"}, nil)
	second.until(`document.getElementById('play').textContent === 'Play' && !document.getElementById('gone').hidden`)
	second.do(`document.getElementById('play').click()`, nil)
	second.until(`window.viewer.frame?.steps > 0`)
	if n := players(t); n != 1 {
		t.Errorf("%d processes play one run in two tabs", n)
	}
	same(t, "the runs have changed", before, files())
	// A newer checkpoint takes its place.
	gorl(t, 0, "train", "--resume", "runs/walk", "-q", "--timesteps", "128")
	second.until(`window.viewer.frame.figures.checkpoint === 128`)
	b.call("Page.bringToFront", nil, nil)
	// It ends when the last page has gone.
	b.do(`document.querySelector('[data-key=play]').click()`, nil)
	b.until(`!document.querySelector('iframe.character')`)
	second.do(`await viewer.next()`, nil)
	second.call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
	eventually(t, "the process does not end", func() bool { return players(t) == 0 })
	b.call("Page.bringToFront", nil, nil)
	b.do(`location.hash = 'run=pole'`, nil)
	b.until(`document.querySelector('a[target]').href.endsWith('=pole')`)
	b.do(`document.querySelector('[data-key=play]').click()`, nil)
	b.until(viewer + `.document.getElementById('picture').naturalWidth === 300`)
	b.do(`const w = `+viewer+`; errors.push(...w.errors);`, nil)
	b.clean()
	stop()
	if n := players(t); n != 0 {
		t.Errorf("%d processes play when the server has ended", n)
	}
}

// Settings that need too much, or that do not exist, end the process that plays, and not the server. Pages get the
// reason.
func TestCharacterHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	playedRuns(t)
	for name, assignment := range map[string]string{
		"networks": "models={mlp: [400000, 400000]}",
		"large":    "models={mlp: [30000, 30000]}",
		"model":    "environment={id: Character, model: /dev/zero}",
		"nothing":  "environment={id: CartPoole}",
		"many":     "environment.num_envs=2000000000",
	} {
		changedRun(t, name, assignment)
	}
	must(t, os.Symlink(filepath.Join(t.TempDir(), "away"), filepath.Join("runs", "walk", "checkpoints", "link")))
	url, stop := started(t, "serve", "runs", "--port", "0")
	answer := get(http.Get(url + "/api/runs"))(t)
	answer.Body.Close()
	ask := func(run, origin string) (string, error) {
		//nolint:bodyclose // Dial reads it to its end
		conn, _, err := websocket.Dial(t.Context(), url+"/character/socket?run="+run,
			&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
		if err != nil {
			return "", err
		}
		defer conn.CloseNow()
		conn.SetReadLimit(1 << 20)
		var m struct {
			Refused string
			Scene   *struct{}
		}
		must(t, wsjson.Read(t.Context(), conn, &m))
		if m.Scene != nil {
			return "plays", nil
		}
		return m.Refused, nil
	}
	for run, want := range map[string]string{"networks": "2³¹ weights", "large": "", "model": "regular file",
		"nothing": "did you mean",
		"many":    "plays", "python": "which a page does not start", "walk": "is a link", "none": "no such run",
		"../..": "no such run"} {
		got := get(ask(run, url))(t)
		if got == "" || !strings.Contains(got, want) || want == "" && got == "plays" ||
			strings.Contains(got, "goroutine") || strings.Contains(got, "--help") {
			t.Errorf("%s: %q, want %q", run, got, want)
		}
	}
	if _, err := ask("many", "http://evil.example"); err == nil {
		t.Error("another site's page starts a process")
	}
	if answer = get(http.Get(url + "/api/runs"))(t); answer.StatusCode != 200 {
		t.Errorf("the server answers %s", answer.Status)
	}
	answer.Body.Close()
	stop()
}
