package watch

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking"
)

// writeRun writes a run of so many values a tag, a second apart, of timesteps 10, 20, ... in 4 environments.
func writeRun(t testing.TB, dir string, values int, tags ...string) {
	t.Helper()
	now := time.Now().Add(-time.Duration(values) * time.Second)
	run := must.Get(tracking.OpenRun(dir, tracking.Options{StepsPerTimestep: 4,
		Now: func() time.Time { return now }}))(t)
	for i := 1; i <= values; i++ {
		now = now.Add(time.Second)
		for k, tag := range append(tags, tracking.TagReturn) {
			run.Scalar(tag, int64(10*i), float64(i+k))
		}
	}
	must.Do(t, run.Close())
}

func write(t testing.TB, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
}

const settings = "seed: %d\nagent: {class: PPO, learning_rate: 0.001}\nenvironment: {id: CartPole}\n" +
	"trainer: {timesteps: 100, tracker: \"http://me:secret@host\"}\n"

// serve returns a server of a folder, and a function that gets a path and decodes the answer.
func serve(t testing.TB, root, token string) (s *Server, get func(path string, into any) int) {
	t.Helper()
	s = must.Get(New(Config{Root: root, Token: token, Tags: func(all []string) []string { return all },
		Group: func(names, _ []string) []Group { return []Group{{"all", names}} }}))(t)
	s.every, s.tick = 0, 10*time.Millisecond
	server := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		must.Do(t, s.Close())
	})
	return s, func(path string, into any) int {
		t.Helper()
		answer := must.Get(http.Get(server.URL + path))(t)
		defer answer.Body.Close()
		text := must.Get(io.ReadAll(answer.Body))(t)
		if raw, ok := into.(*string); ok {
			*raw = string(text)
		} else if into != nil {
			if answer.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d %s", path, answer.StatusCode, text)
			}
			must.Do(t, json.Unmarshal(text, into))
		}
		return answer.StatusCode
	}
}

type list struct{ Runs []Row }

// The state of a run is that of its lock, of the end that it recorded, or of its files.
func TestRows(t *testing.T) {
	root := t.TempDir()
	for name, values := range map[string]int{"finished": 10, "failed": 5, "asked": 5, "killed": 5, "busy": 5,
		"early": 5} {
		dir := filepath.Join(root, "group", name)
		writeRun(t, dir, values)
		write(t, filepath.Join(dir, "run.yaml"), fmt.Sprintf(settings, 1))
		must.Do(t, runfile.Record(dir, nil, runfile.Start{}))
		old := time.Now().Add(-time.Hour)
		for _, file := range []string{tracking.ScalarsFile, "run.yaml", runfile.ProvenanceFile} {
			must.Do(t, os.Chtimes(filepath.Join(dir, file), old, old))
		}
	}
	must.Do(t, runfile.End(filepath.Join(root, "group", "failed"), fmt.Errorf("the pole broke"), false))
	must.Do(t, runfile.End(filepath.Join(root, "group", "asked"), fmt.Errorf("context canceled"), true))
	must.Do(t, runfile.End(filepath.Join(root, "group", "early"), nil, false))
	unlock := must.Get(durable.Lock(filepath.Join(root, "group", "busy"), "lock"))(t)
	defer func() { must.Do(t, unlock()) }()
	_, get := serve(t, root, "")
	var got list
	get("/api/runs", &got)
	states := map[string]string{}
	for _, r := range got.Runs {
		states[r.ID] = strings.TrimSpace(r.State + " " + r.Words)
		if r.Agent != "PPO" || r.Environment != "CartPole" || r.Total != 100 || r.Rate != 10 ||
			r.Return == nil || 10*int64(*r.Return) != r.Step {
			t.Errorf("%+v", r)
		}
	}
	want := map[string]string{"group/finished": "finished", "group/failed": "failed the pole broke",
		"group/asked": "stopped", "group/killed": "stopped", "group/early": "finished"}
	if runtime.GOOS == "linux" {
		want["group/busy"] = "training"
	} else {
		delete(states, "group/busy")
	}
	must.Equal(t, "the states of the runs", want, states)
	var details []Settings
	get("/api/settings?run=group/failed", &details)
	if v := details[0].Values; v["trainer.tracker"] != "http://me:***@host" || v["agent.learning_rate"] != "0.001" {
		t.Errorf("%v", v)
	}
}

// Curves grow with their logs, keep the number of their points, begin again when a log is replaced, and are joined.
func TestCurves(t *testing.T) {
	root := t.TempDir()
	writeRun(t, filepath.Join(root, "a"), 5000, "loss")
	writeRun(t, filepath.Join(root, "b"), 5000)
	_, get := serve(t, root, "")
	get("/api/runs", nil)
	panel := func(query string) (p Panel) {
		t.Helper()
		var c Curves
		get("/api/curves?"+query, &c)
		for _, p := range c.Panels {
			if p.Tag == tracking.TagReturn && c.Notes == nil {
				return p
			}
		}
		t.Fatalf("%s: %+v", query, c)
		return p
	}
	c := panel("run=a").Curves[0]
	n := len(c.X)
	if n > maxPoints || n < maxPoints/2 || c.Per != 8 || c.X[n-1] != 200_000 {
		t.Errorf("%d points of %d values to %v", n, c.Per, c.X[n-1])
	}
	for i, y := range c.Y { // of values i+1 with steps 40(i+1), joined by 8
		if want := float64(c.X[i])/40 - 3.5 + 1; math.Abs(float64(y)-want) > 1e-3 && i < n-1 {
			t.Fatalf("at %v: %v, want %v", c.X[i], y, want)
		}
	}
	for axis, last := range map[string]float64{"time": 4999, "timesteps": 50_000} {
		if c := panel("run=a&x=" + axis).Curves[0]; float64(c.X[n-1]) != last {
			t.Errorf("over %s the curve ends at %v", axis, c.X[n-1])
		}
	}
	both := panel("run=a&run=b&run=nothing&seeds=1").Curves
	if len(both) != 1 || len(both[0].Low) != len(both[0].Y) || len(both[0].Runs) != 2 {
		t.Errorf("%d joined curves", len(both))
	}
	file := must.Get(os.OpenFile(filepath.Join(root, "a", tracking.ScalarsFile), os.O_APPEND|os.O_WRONLY, 0))(t)
	line := `{"time":1,"step":60000,"env_steps":240000,"tag":"Episode / return","value":"NaN"}`
	must.Get(file.WriteString(line))(t) // which is not whole yet
	if c := panel("run=a").Curves[0]; c.X[len(c.X)-1] != 200_000 {
		t.Error("a line in progress was read")
	}
	must.Get(file.WriteString("\n"))(t)
	must.Do(t, file.Close())
	if c := panel("run=a").Curves[0]; c.X[len(c.X)-1] != 240_000 {
		t.Error("a new line was not read")
	}
	must.Do(t, os.RemoveAll(filepath.Join(root, "a")))
	writeRun(t, filepath.Join(root, "a"), 3)
	get("/api/runs", nil)
	if c := panel("run=a").Curves[0]; len(c.X) != 3 || c.Per != 1 {
		t.Errorf("a replaced log has %d points", len(c.X))
	}
}

const secret = "top: secret\n"

// Nothing outside the folder is read, whatever links and requests say, and nothing is written.
func TestStaysInside(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "run.yaml"), secret)
	writeRun(t, filepath.Join(outside, "run"), 3)
	write(t, filepath.Join(outside, "run", "run.yaml"), secret)
	writeRun(t, filepath.Join(root, "good"), 3)
	must.Do(t, os.Symlink(filepath.Join(outside, "run"), filepath.Join(root, "linked")))
	must.Do(t, os.Symlink(filepath.Join(outside, "run.yaml"), filepath.Join(root, "good", "run.yaml")))
	must.Do(t, os.MkdirAll(filepath.Join(root, "files"), 0o755))
	for _, name := range []string{tracking.ScalarsFile, "run.yaml"} {
		must.Do(t, os.Symlink(filepath.Join(outside, "run", tracking.ScalarsFile), filepath.Join(root, "files", name)))
	}
	before := names(t, root)
	_, get := serve(t, root, "")
	var got list
	get("/api/runs", &got)
	if len(got.Runs) != 1 || got.Runs[0].ID != "good" {
		t.Errorf("%+v", got.Runs)
	}
	for _, id := range []string{"good", "linked", "files", "..", filepath.Join(outside, "run"), "good/../../x", "."} {
		for _, path := range []string{"/api/settings", "/api/curves", "/api/population"} {
			var text string
			get(path+"?run="+url.QueryEscape(id), &text)
			if strings.Contains(text, "secret") || id != "good" && strings.Contains(text, `"y"`) {
				t.Errorf("%s of %q: %s", path, id, text)
			}
		}
	}
	for path, want := range map[string]int{"/../server.go": 404, "/%2e%2e/page.go": 404, "/": 200,
		"/uplot/uPlot.iife.min.js": 200} {
		must.Equal(t, "status of "+path, want, get(path, nil))
	}
	must.Equal(t, "something was written", before, names(t, root))
}

func names(t *testing.T, root string) (all []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	}))
	return all
}

// Damaged, huge and odd files are described, and the other runs are shown.
func TestHostileFiles(t *testing.T) {
	root := t.TempDir()
	name := `<img src=x onerror=alert(1)>'"&` + "\u202e"
	writeRun(t, filepath.Join(root, name), 3, `</script><script>alert(2)</script>`)
	write(t, filepath.Join(root, name, "run.yaml"), "agent: {class: \"<b>\"}\n")
	writeRun(t, filepath.Join(root, "cut"), 3)
	scalars := filepath.Join(root, "cut", tracking.ScalarsFile)
	text := must.Read(t, scalars)
	must.Do(t, os.WriteFile(scalars, append(text[:len(text)-20], "\nnot JSON\n"...), 0o644))
	write(t, filepath.Join(root, "endless", tracking.ScalarsFile), strings.Repeat("x", chunkBytes+1))
	write(t, filepath.Join(root, "large", "run.yaml"), "a: "+strings.Repeat("x", maxSmall))
	write(t, filepath.Join(root, "crew", "000", journal.File), "no journal\n")
	s, get := serve(t, root, "")
	var got list
	get("/api/runs", &got)
	words := map[string]string{}
	for _, r := range got.Runs {
		words[r.ID] = r.Words
	}
	for id, want := range map[string]string{name: "", "cut": "line", "endless": "", "large": "has more than",
		"crew": "line 1"} {
		if w, ok := words[id]; !ok || !strings.Contains(w, want) || want == "" && w != "" {
			t.Errorf("%q: %q, want %q", id, w, want)
		}
	}
	query := url.Values{}
	for id := range words {
		query.Add("run", id)
	}
	var raw string
	get("/api/curves?"+query.Encode(), &raw)
	if strings.ContainsAny(raw, "<>") || !strings.Contains(raw, "longer than 8 MiB") ||
		!strings.Contains(raw, "cut: ") {
		t.Errorf("%.2000s", raw)
	}
	s.reading.Lock() // curves that are being read do not hold up a population
	defer s.reading.Unlock()
	must.Equal(t, "status of a damaged population", http.StatusUnprocessableEntity,
		get("/api/population?run=crew", nil))
}

// Without a token only this machine is answered, with one only who has it. Nobody writes.
func TestAccess(t *testing.T) {
	for token, cases := range map[string][]struct {
		method, path, host, cookie string
		want                       int
	}{
		"": {{"GET", "/", "127.0.0.1:1", "", 200}, {"GET", "/api/runs", "evil.example", "", 403},
			{"POST", "/", "127.0.0.1", "", 405}},
		"word": {{"GET", "/api/runs", "127.0.0.1", "", 403}, {"GET", "/?token=wrong", "box", "", 403},
			{"GET", "/?token=word", "box", "", 303}, {"GET", "/", "box", "word", 200}, {"GET", "/", "box", "wor", 403}},
	} {
		s, _ := serve(t, t.TempDir(), token)
		for _, c := range cases {
			r := httptest.NewRequest(c.method, c.path, nil)
			if r.Host = c.host; c.cookie != "" {
				r.AddCookie(&http.Cookie{Name: "gorl-token", Value: c.cookie})
			}
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			if w.Code != c.want || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
				t.Errorf("%q: %+v: status %d", token, c, w.Code)
			}
		}
	}
}

// Pages learn of changes, and readers that do not read hold up nobody.
func TestEventsAndSlowReaders(t *testing.T) {
	root := t.TempDir()
	writeRun(t, filepath.Join(root, "a"), 3000, "b", "c", "d")
	s := must.Get(New(Config{Root: root, Tags: func(all []string) []string { return all }}))(t)
	s.every, s.tick = 0, 10*time.Millisecond
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), l) }()
	defer func() {
		l.Close()
		must.Do(t, s.Close())
	}()
	address := "http://" + l.Addr().String()
	must.Get(http.Get(address + "/api/runs"))(t).Body.Close()
	for range 20 {
		conn := must.Open(net.Dial("tcp", l.Addr().String()))(t)
		must.Get(fmt.Fprint(conn, "GET /api/curves?run=a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))(t)
	}
	stream := must.Get(http.Get(address + "/api/events"))(t)
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	next := func() string {
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return text
			}
		}
		t.Fatal(lines.Err())
		return ""
	}
	first := next()
	writeRun(t, filepath.Join(root, "b"), 3)
	if second := next(); second == first {
		t.Errorf("the version stays %s", first)
	}
}

var load = flag.Int("load", 40, "number of synthetic runs of TestLoad; 1000 is the figure of the guides")

// A list of many long runs is there within a second, and memory stays small.
func TestLoad(t *testing.T) {
	root := t.TempDir()
	var tags []string
	for k := range 24 {
		tags = append(tags, fmt.Sprintf("loss %d", k))
	}
	for i := range *load {
		dir := filepath.Join(root, fmt.Sprintf("group-%d", i/100), fmt.Sprintf("run-%d", i))
		writeRun(t, dir, 400, tags...)
		write(t, filepath.Join(dir, "run.yaml"), fmt.Sprintf(settings, i))
	}
	s, get := serve(t, root, "")
	s.every = time.Minute
	began := time.Now()
	var got list
	get("/api/runs", &got)
	first := time.Since(began)
	if len(got.Runs) != *load || first > time.Second {
		t.Errorf("%d runs after %v", len(got.Runs), first)
	}
	query := "run=group-0/run-1"
	for i := range min(*load, maxFollowed, 100) {
		query += fmt.Sprintf("&run=group-0/run-%d", i)
	}
	for partial := true; partial; {
		var c Curves
		get("/api/curves?"+query, &c)
		partial = c.Partial
	}
	for must.Get(s.refresh(time.Second))(t) {
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d runs: list after %v, all after %v, heap %d MiB", *load, first, time.Since(began), m.HeapAlloc>>20)
	if m.HeapAlloc > 300<<20 {
		t.Errorf("%d MiB in use", m.HeapAlloc>>20)
	}
}
