package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// browser is a headless Chromium with one page, driven by its DevTools protocol.
type browser struct {
	*testing.T
	conn    *websocket.Conn
	session string
	id      int
}

// chromium starts one. The test is skipped where there is none.
func chromium(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("needs Chromium (on Debian the package chromium)")
	}
	// not the test's, as its last process may still write when it is removed
	folder := get(os.MkdirTemp("", "chromium"))(t)
	ctx, cancel := context.WithCancel(context.Background())
	b := &browser{T: t}
	cmd := exec.CommandContext(ctx, path, "--headless=new", "--no-sandbox", "--remote-debugging-port=0",
		"--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-dev-shm-usage", "--no-first-run",
		"--user-data-dir="+folder, "about:blank")
	cmd.WaitDelay = 10 * time.Second
	said := get(cmd.StderrPipe())(t)
	must(t, cmd.Start())
	t.Cleanup(func() {
		if b.conn == nil || wsjson.Write(ctx, b.conn,
			map[string]any{"id": b.id + 1, "method": "Browser.close"}) != nil {
			cancel()
		}
		_ = cmd.Wait() // it may be killed
		cancel()
		_ = os.RemoveAll(folder)
	})
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		_, url, ok := strings.Cut(lines.Text(), "DevTools listening on ")
		if !ok {
			continue
		}
		//nolint:bodyclose // Dial reads it to its end
		b.conn, _, err = websocket.Dial(t.Context(), url, nil)
		must(t, err)
		b.conn.SetReadLimit(64 << 20)
		go func() { // it must not fill the pipe
			for lines.Scan() {
			}
		}()
		var target struct{ TargetID string }
		b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
		var attached struct{ SessionID string }
		b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
		b.session = attached.SessionID
		b.call("Emulation.setDeviceMetricsOverride", // small, because a CPU draws it
			map[string]any{"width": 560, "height": 480, "deviceScaleFactor": 1, "mobile": false}, nil)
		return b
	}
	t.Fatal("Chromium does not say where it listens")
	return nil
}

// call calls a method and reads its result. Events are passed over.
func (b *browser) call(method string, params, result any) {
	b.Helper()
	b.id++
	request := map[string]any{"id": b.id, "method": method, "params": params}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	must(b, wsjson.Write(b.Context(), b.conn, request))
	for {
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		must(b, wsjson.Read(b.Context(), b.conn, &answer))
		switch {
		case answer.ID != b.id:
			continue
		case answer.Error != nil:
			b.Fatalf("%s: %s", method, answer.Error.Message)
		case result != nil:
			must(b, json.Unmarshal(answer.Result, result))
		}
		return
	}
}

// do evaluates a script, whose promise it waits for, and reads its value.
func (b *browser) do(script string, value any) {
	b.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	b.call("Runtime.evaluate", map[string]any{"expression": "(async () => {" + script + "})()", "awaitPromise": true,
		"returnByValue": true}, &answer)
	if e := answer.ExceptionDetails; e != nil {
		b.Fatalf("%s: %s %s", script, e.Text, e.Exception.Description)
	}
	if value != nil {
		if err := json.Unmarshal(answer.Result.Value, value); err != nil {
			b.Fatalf("%s: %v", script, err)
		}
	}
}

// press presses a key.
func (b *browser) press(key string) {
	b.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "text": key}, nil)
	}
}

// shot returns the PNG of what the page shows now.
func (b *browser) shot() []byte {
	b.Helper()
	var answer struct{ Data []byte }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &answer)
	return answer.Data
}

// A page in Chromium shows the humanoid that comes with gorl and one with two clips: the picture stays while it pauses
// and changes with every step, a push moves the character, the clip that is chosen begins, and the page says when the
// server is gone.
func TestViewInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser draws for a minute")
	}
	b := chromium(t)
	for _, x := range []struct {
		args  []string
		clips []string
	}{
		{[]string{"--example", "humanoid"}, nil},
		{[]string{"--env", "Humanoid", "--set", "motions=[humanoid_walk, humanoid_run]"},
			[]string{"humanoid_walk", "humanoid_run"}},
	} {
		url, stop := viewed(t, x.args...)
		b.call("Page.navigate", map[string]any{"url": url}, nil)
		b.do(`window.errors = []; addEventListener('error', e => errors.push(e.message));
			while (!window.viewer?.frame) await new Promise(r => requestAnimationFrame(r));`, nil)
		press := func(key, want string) { // and wait for what it does, and for pictures of it
			b.press(key)
			b.do(`while (!(`+want+`)) await viewer.next();
				for (let i = 0; i < 3; i++) await new Promise(r => requestAnimationFrame(r));`, nil)
		}
		type frame struct {
			Steps int
			Root  [3]float64
			Ghost []float64
			Clip  *struct{ Now, Chosen int }
		}
		step := func() (f frame) {
			b.do(`return viewer.frame`, &f)
			press(".", fmt.Sprintf("viewer.frame.steps > %d", f.Steps))
			b.do(`return viewer.frame`, &f)
			return f
		}
		press(" ", "viewer.frame.paused")
		press("r", "viewer.frame.time === 0")
		first := b.shot()
		if !bytes.Equal(first, b.shot()) {
			t.Errorf("%q: while it is paused the picture changes", x.args)
		}
		start, before := step(), step()
		if (start.Ghost != nil) != (x.clips == nil) || bytes.Equal(first, b.shot()) {
			t.Errorf("%q: there is a ghost: %v; or steps change no picture", x.args, start.Ghost != nil)
		}
		// to the right of the picture, which is forward
		b.do(`document.querySelector('[data-push=right]').click()`, nil)
		if after := step(); !(after.Root[0]-2*before.Root[0]+start.Root[0] > 0.003) {
			t.Errorf("%q: the push does not lengthen the way of a step: %v, %v, %v", x.args, start.Root, before.Root,
				after.Root)
		}
		var offered []string
		b.do(`return [...document.querySelectorAll('#clip option')].slice(1).map(o => o.textContent)`, &offered)
		if len(offered) != len(x.clips) {
			t.Errorf("%q: the page offers the clips %q", x.args, offered)
		}
		for k, clip := range x.clips {
			b.do(fmt.Sprintf(`const clip = document.getElementById('clip'), before = viewer.frame.episode;
				clip.value = '%d';
				clip.dispatchEvent(new Event('change'));
				while (viewer.frame.episode === before) await viewer.next();`, k), nil)
			var begun frame
			b.do(`return viewer.frame`, &begun)
			if begun.Clip == nil || begun.Clip.Now != k || begun.Clip.Chosen != k ||
				!strings.Contains(offered[k], clip) {
				t.Errorf("chosen %q: the episode begins in %v of %q", clip, begun.Clip, offered)
			}
		}
		var errors []string
		if b.do(`return errors`, &errors); len(errors) > 0 {
			t.Errorf("%q: the page's errors: %q", x.args, errors)
		}
		stop()
		b.do(`while (document.getElementById('gone').hidden) await new Promise(r => requestAnimationFrame(r));`, nil)
	}
	// An arrow shows where the quadruped is commanded to go, and none is there if it is to stand.
	url, stop := viewed(t, "--example", "quadruped")
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	for speed, want := range map[int]string{1: "[0 1 0]", 0: "[]"} {
		var arrow []float64
		b.do(fmt.Sprintf(`while (!window.viewer?.frame) await new Promise(r => requestAnimationFrame(r));
			document.getElementById('direction').value = 90;
			document.getElementById('speed').value = %d;
			document.getElementById('speed').dispatchEvent(new Event('input'));
			while (viewer.frame.command.Speed !== %[1]d) await viewer.next();
			await viewer.next();
			return viewer.arrow?.map(Math.round) ?? []`, speed), &arrow)
		if fmt.Sprint(arrow) != want {
			t.Errorf("commanded to go at %d m/s along y: the arrow is %v, want %s", speed, arrow, want)
		}
	}
	stop()
}
