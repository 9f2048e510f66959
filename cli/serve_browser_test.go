package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking"
)

// open opens an address with a page of the given width, and waits until the page shows something.
func (b *browser) open(url string, width int) {
	b.Helper()
	b.call("Page.enable", nil, nil)
	b.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `window.errors = [];
		for (const kind of ['error', 'unhandledrejection', 'securitypolicyviolation']) {
			addEventListener(kind, e => errors.push(kind + ': ' + (e.message ?? e.reason ?? e.violatedDirective)));
		}`}, nil)
	b.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.call("Page.navigate", map[string]any{"url": "about:blank"}, nil) // else a new hash alone loads nothing
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	b.until(`document.querySelectorAll('canvas').length > 1 && document.querySelectorAll('tbody tr').length > 2`)
}

// until waits until an expression of the page is true.
func (b *browser) until(want string) {
	b.Helper()
	var state string
	b.do(fmt.Sprintf(`for (let i = 0; i < 200; i++) {
		try { if (%s) return ''; } catch (e) { if (i === 199) return String(e); }
		await new Promise(r => setTimeout(r, 50));
	}
	return document.body?.innerText.slice(0, 3000) ?? 'nothing';`, want), &state)
	if state != "" {
		b.Fatalf("%s does not come true; the page says\n%s", want, state)
	}
}

// key presses a key that writes nothing, by its name and its code.
func (b *browser) key(name string, code int) {
	b.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": name, "code": name,
			"windowsVirtualKeyCode": code}, nil)
	}
}

// tab presses Tab until the expression about the focused element e is true.
func (b *browser) tab(want string) {
	b.Helper()
	for range 60 {
		b.key("Tab", 9)
		var there bool
		if b.do(`const e = document.activeElement; return !!(`+want+`)`, &there); there {
			return
		}
	}
	b.Fatalf("Tab does not reach %s", want)
}

func (b *browser) enter() {
	b.Helper()
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Enter", "text": "\r",
		"windowsVirtualKeyCode": 13}, nil)
}

// clean checks that nothing failed, nothing hostile ran, and the page is no wider than the window.
func (b *browser) clean() {
	b.Helper()
	var state struct {
		Errors []string
		Pwned  bool
		Wider  int
		Images int
	}
	b.do(`return {errors, pwned: !!window.pwned, images: document.images.length,
		wider: document.documentElement.scrollWidth - document.documentElement.clientWidth}`, &state)
	if len(state.Errors) > 0 || state.Pwned || state.Wider > 0 || state.Images > 0 {
		b.Errorf("%+v", state)
	}
}

// The page shows runs and a population, live and saved, by keyboard alone, in any width, dark and light.
func TestServeInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser draws for some seconds")
	}
	b, root := chromium(t), servedRuns(t)
	crowd := `{"event":"population","run":{"schema":1,"members":150,"objective":"o","interval_steps":9}}` + "\n"
	for i := range 300 {
		crowd += fmt.Sprintf(`{"event":%q,"iteration":%d,"member":%d,"steps":%d,"objective":%d,"after":{"a":1}}`+"\n",
			[]string{"start", "keep"}[i/150], i/150, i%150, i/150*9, i%150)
	}
	must(t, os.MkdirAll(filepath.Join(root, "crowd", "000"), 0o755))
	write(t, filepath.Join(root, "crowd", "000", journal.File), crowd)
	url, stop := started(t, "serve", root, "--port", "0")
	b.open(url, 1280)
	b.until(`document.querySelector('.list').innerText.includes('window.pwned')`)
	b.clean()
	// A run that writes changes in the list, and the focus stays.
	b.tab(`e.dataset.key === 'box walk'`)
	run := get(tracking.OpenRun(filepath.Join(root, "walk"), tracking.Options{StepsPerTimestep: 4}))(t)
	run.Scalar(tracking.TagReturn, 777, 7)
	must(t, run.Close())
	b.until(`[...document.querySelectorAll('.list tr')].some(r => r.innerText.includes('777')) &&
		document.activeElement.dataset.key === 'box walk'`)
	// A choice is in the address, and the settings that differ are listed.
	b.do(`document.activeElement.click()`, nil)
	b.until(`location.hash.includes('run=') && !location.hash.includes('walk') &&
		!document.querySelector('.legend').innerText.includes('walk')`)
	b.do(`document.activeElement.click()`, nil)
	b.until(`document.body.innerText.includes('1 of 5 settings differ')`)
	var kept [3]float64
	b.do(`return limits([...Array(40).keys(), 1e6, -1e7, null])`, &kept)
	if kept[0] < -50 || kept[0] > 0 || kept[1] > 100 || kept[2] != 2 {
		t.Errorf("the axis goes from %v to %v, %v are left out", kept[0], kept[1], kept[2])
	}
	population := func() {
		b.until(`document.querySelectorAll('svg .lane').length === 4`)
		b.tab(`e.classList.contains('lane') && e.dataset.key === 'lane 0'`)
		b.key("ArrowDown", 40)
		b.key("ArrowDown", 40)
		b.enter()
		b.until(`location.hash.includes('member=2') && document.querySelectorAll('svg .lane.chosen').length === 1`)
		var rows [][]string
		b.do(`const heading = [...document.querySelectorAll('h2')].find(h => h.textContent.startsWith('Decisions'));
			return [...heading.parentElement.querySelectorAll('tbody tr')]
				.map(r => [...r.cells].map(c => c.textContent))`, &rows)
		why := false
		for _, r := range rows {
			why = why || r[2] == "copied member 3" && r[3] != ""
			if r[1] != "2" {
				t.Errorf("a decision of member %s: %q", r[1], r)
			}
		}
		if !why {
			t.Errorf("the decisions do not say why: %q", rows)
		}
		b.clean()
	}
	b.tab(`e.dataset.key === 'run crew'`)
	b.enter()
	population()
	// A narrow page has no bar, however many members there are.
	b.open(url+"/#population=crowd", 360)
	b.until(`document.querySelectorAll('svg .lane').length === 100 &&
		document.querySelectorAll('[aria-label="Members of each lineage over time"] path').length === 9`)
	b.clean()
	b.open(url, 360)
	b.clean()
	page := filepath.Join(t.TempDir(), "page.html")
	gorl(t, 0, "serve", root, "--export", page)
	stop()
	b.until(`document.getElementById('live').classList.contains('lost')`)
	b.open("file://"+page+"#run=walk", 1280)
	b.until(`document.querySelector('.list').innerText.includes('window.pwned') &&
		!document.querySelector('[data-key=play]')`)
	b.clean()
	b.open("file://"+page+"#population=crew", 1280)
	population()
}
