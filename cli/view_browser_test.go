package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// shots is where TestViewInBrowser leaves what it sees, to be looked at.
var shots = flag.String("shots", "", "folder for the screenshots of TestViewInBrowser")

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
	folder, err := os.MkdirTemp("", "chromium") // not the test's, as its last process may still write when it is removed
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &browser{T: t}
	cmd := exec.CommandContext(ctx, path, "--headless=new", "--no-sandbox", "--remote-debugging-port=0", "--use-angle=swiftshader",
		"--enable-unsafe-swiftshader", "--disable-dev-shm-usage", "--no-first-run", "--user-data-dir="+folder, "about:blank")
	cmd.WaitDelay = 10 * time.Second
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if b.conn == nil || wsjson.Write(ctx, b.conn, map[string]any{"id": b.id + 1, "method": "Browser.close"}) != nil {
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
		if b.conn, _, err = websocket.Dial(t.Context(), url, nil); err != nil { //nolint:bodyclose // Dial reads it to its end
			t.Fatal(err)
		}
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
		width, height := 560, 480 // is drawn without a GPU
		if *shots != "" {
			width, height = 1000, 600
		}
		b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
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
	if err := wsjson.Write(b.Context(), b.conn, request); err != nil {
		b.Fatal(err)
	}
	for {
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := wsjson.Read(b.Context(), b.conn, &answer); err != nil {
			b.Fatal(err)
		}
		switch {
		case answer.ID != b.id:
			continue
		case answer.Error != nil:
			b.Fatalf("%s: %s", method, answer.Error.Message)
		case result != nil:
			if err := json.Unmarshal(answer.Result, result); err != nil {
				b.Fatal(err)
			}
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
	b.call("Runtime.evaluate", map[string]any{"expression": "(async () => {" + script + "})()", "awaitPromise": true, "returnByValue": true}, &answer)
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

// shot is what the page shows now.
func (b *browser) shot(name string) image.Image {
	b.Helper()
	var answer struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &answer)
	data, err := base64.StdEncoding.DecodeString(answer.Data)
	if err != nil {
		b.Fatal(err)
	}
	if *shots != "" {
		if err := os.WriteFile(filepath.Join(*shots, name+".png"), data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		b.Fatal(err)
	}
	return picture
}

// differing is the number of pixels in the right two thirds, where no figures stand, that differ visibly.
func differing(a, b image.Image) (n int) {
	for y := a.Bounds().Min.Y; y < a.Bounds().Max.Y*3/4; y++ {
		for x := a.Bounds().Max.X / 3; x < a.Bounds().Max.X; x++ {
			r0, g0, b0, _ := a.At(x, y).RGBA()
			r1, g1, b1, _ := b.At(x, y).RGBA()
			if max(r0, r1)-min(r0, r1)+max(g0, g1)-min(g0, g1)+max(b0, b1)-min(b0, b1) > 0x2000 {
				n++
			}
		}
	}
	return n
}

// red is the number of pixels of the colour of contacts.
func red(a image.Image) (n int) {
	for y := a.Bounds().Min.Y; y < a.Bounds().Max.Y; y++ {
		for x := a.Bounds().Min.X; x < a.Bounds().Max.X; x++ {
			if r, g, b, _ := a.At(x, y).RGBA(); r>>8 > 0xc8 && r>>8 < 0xd8 && g>>8 < 0x29 && b>>8 < 0x32 {
				n++
			}
		}
	}
	return n
}

// A page in Chromium shows a walker and a humanoid that were trained, and a humanoid with two clips: pictures stay while they
// pause and change while they move, a push by its key and by a button moves the character, there are marks where it touches
// the ground and nowhere else, the clip that is chosen begins, and the page says when the server is gone.
func TestViewInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser draws for a minute")
	}
	b := chromium(t)
	here(t, "walk.yaml", walks)
	write(t, "human.yaml", strings.NewReplacer("id: CartPole", "id: Humanoid, task: track, residual: true", "name: pole", "name: human").Replace(short))
	clips := []string{"humanoid_walk", "humanoid_run"}
	for _, x := range []struct {
		run   string
		args  []string
		ghost bool
		clips []string
	}{
		{"walk", []string{"runs/walk", "--checkpoint", "latest"}, false, nil},
		{"human", []string{"runs/human", "--checkpoint", "latest"}, true, nil},
		{"clips", []string{"--env", "Humanoid", "--set", "motions=[" + strings.Join(clips, ", ") + "]"}, false, clips},
	} {
		if x.clips == nil {
			gorl(t, 0, "train", "-c", x.run+".yaml", "-q", "--seed", "2")
		}
		url, stop := viewed(t, x.args...)
		b.call("Page.navigate", map[string]any{"url": url}, nil)
		b.do(`window.errors = []; addEventListener('error', e => errors.push(e.message));
			while (!window.viewer?.frame) await new Promise(r => requestAnimationFrame(r));`, nil)
		press := func(key, want string) { // and wait for what it does, and for pictures of it
			b.press(key)
			b.do(`while (!(`+want+`)) await viewer.next();
				for (let i = 0; i < 3; i++) await new Promise(r => requestAnimationFrame(r));`, nil)
		}
		press(" ", "viewer.frame.paused")
		press("r", "viewer.frame.time === 0")
		first := b.shot(x.run)
		if n := differing(first, b.shot(x.run+"-paused")); n > 0 {
			t.Errorf("%s: while it is paused %d pixels change", x.run, n)
		}
		type frame struct {
			Episode, Steps int
			Root           [3]float64
			Ghost          []float64
			Contacts       []float64
			Clip           *struct{ Now, Chosen int }
		}
		step := func() (f frame) {
			b.do(`return viewer.frame`, &f)
			press(".", fmt.Sprintf("viewer.frame.steps > %d", f.Steps))
			b.do(`return viewer.frame`, &f)
			return f
		}
		start := step()
		if (start.Ghost != nil) != x.ghost {
			t.Errorf("%s: there is a ghost: %v", x.run, start.Ghost != nil)
		}
		// The button → pushes to the right of the picture, which is forward, and the key P away from the viewer.
		before := step()
		b.do(`document.querySelector('[data-push=right]').click()`, nil)
		forward := step()
		b.press("p")
		after := step()
		if after.Episode != start.Episode || after.Steps != start.Steps+3 {
			t.Fatalf("%s: from %+v by three steps to %+v", x.run, start, after)
		}
		longer := func(a, b, c frame, x, y float64) float64 { // the way from b to c than that from a to b, along a direction
			return x*(c.Root[0]-2*b.Root[0]+a.Root[0]) + y*(c.Root[1]-2*b.Root[1]+a.Root[1])
		}
		if d := longer(start, before, forward, 1, 0); !(d > 0.003) {
			t.Errorf("%s: the push to the right lengthens the way of a step by %g m", x.run, d)
		}
		sin, cos := math.Sincos(115 * math.Pi / 180) // the camera's azimuth
		if d := longer(before, forward, after, cos, sin); !(d > 0.0005) {
			t.Errorf("%s: the push away lengthens the way of a step by %g m", x.run, d)
		}
		if n := differing(first, b.shot(x.run+"-pushed")); n < 300 {
			t.Errorf("%s: after three steps only %d pixels differ", x.run, n)
		}
		// Marks may be hidden by the foot that stands on them, so there are more moments to see one in.
		for _, touches := range []bool{false, true} {
			press("r", "viewer.frame.time === 0")
			var now frame
			b.do(`return viewer.frame`, &now)
			for marks, looked := 0, 0; marks == 0; now = step() {
				if now.Steps > after.Steps+200 || looked == 20 {
					t.Fatalf("%s: by step %d, with contacts %v, %d pictures show no mark", x.run, now.Steps, touches, looked)
				}
				if (len(now.Contacts) > 0) != touches {
					continue
				}
				marks = red(b.shot(fmt.Sprintf("%s-touches-%v", x.run, touches)))
				looked++
				if !touches {
					if marks > 0 {
						t.Errorf("%s: without contacts there are %d red pixels", x.run, marks)
					}
					break
				}
			}
		}
		// A browser that is too slow to draw every frame does not fall behind. An episode that ends within these ten frames
		// begins where it began, and says nothing: the next one is looked at.
		var slow struct {
			Way, Behind float64
			Ended       bool
		}
		for range 20 {
			press("r", "viewer.frame.time === 0")
			b.do(`const request = window.requestAnimationFrame, { episode, root: [start] } = viewer.frame;
				let draw;
				window.requestAnimationFrame = f => { draw = f; };
				while (!draw) await new Promise(r => request(r));
				for (let i = 0; i < 10; i++) {
					const next = viewer.next();
					document.getElementById('step').click();
					await next;
				}
				draw();
				const behind = viewer.frame.root[0] - viewer.shown[0];
				window.requestAnimationFrame = request;
				request(draw);
				return { Way: viewer.frame.root[0] - start, Behind: behind, Ended: viewer.frame.episode !== episode };`, &slow)
			if !slow.Ended {
				break
			}
		}
		if slow.Ended || !(slow.Way > 0.15) || !(math.Abs(slow.Behind) < 0.2*slow.Way) {
			t.Errorf("%s: ten frames later the root is %g m farther, and the picture of it %g m behind (the episode has ended: %v)", x.run, slow.Way,
				slow.Behind, slow.Ended)
		}
		var offered []string
		b.do(`return [...document.querySelectorAll('#clip option')].slice(1).map(o => o.textContent)`, &offered)
		if len(offered) != len(x.clips) {
			t.Errorf("%s: the page offers the clips %q", x.run, offered)
		}
		for k := range x.clips {
			b.do(fmt.Sprintf(`const clip = document.getElementById('clip'), before = viewer.frame.episode;
				clip.value = '%d';
				clip.dispatchEvent(new Event('change'));
				while (viewer.frame.episode === before) await viewer.next();
				for (let i = 0; i < 3; i++) await new Promise(r => requestAnimationFrame(r));`, k), nil)
			var begun frame
			var said string
			b.do(`return viewer.frame`, &begun)
			b.do(`return document.getElementById('table').textContent`, &said)
			if begun.Clip == nil || begun.Clip.Now != k || begun.Clip.Chosen != k || !strings.Contains(said, x.clips[k]) || !strings.Contains(offered[k], x.clips[k]) {
				t.Errorf("chosen %q: the episode begins in %v of %q, and the page says %q", x.clips[k], begun.Clip, offered, said)
			}
			chosen := b.shot(fmt.Sprintf("%s-chosen-%d", x.run, k))
			step()
			if n := differing(chosen, b.shot(fmt.Sprintf("%s-chosen-%d-moved", x.run, k))); n == 0 {
				t.Errorf("%s: a step in clip %d changes no pixel", x.run, k)
			}
		}
		var here frame
		b.do(`return viewer.frame`, &here)
		press(" ", fmt.Sprintf("viewer.frame.steps > %d", here.Steps+5))
		b.shot(x.run + "-moving")
		var errors []string
		if b.do(`return errors`, &errors); len(errors) > 0 {
			t.Errorf("%s: the page's errors: %q", x.run, errors)
		}
		if status, said := stop(); status != 0 {
			t.Errorf("gorl view ends with status %d: %s", status, said)
		}
		b.do(`while (document.getElementById('gone').hidden) await new Promise(r => requestAnimationFrame(r));`, nil)
		b.shot(x.run + "-gone")
	}
}
