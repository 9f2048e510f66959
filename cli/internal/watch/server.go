// Package watch serves a page that shows runs and populations while they train. It only reads the files that they
// write, and opens nothing outside the folder of all runs. Only a process that plays a run (character.go) opens the
// models and clips that the run's configuration names.
//
// runs.go lists folders and judges their state, curves.go follows logs, population.go reads journals and heartbeats,
// server.go answers requests, character.go plays the newest checkpoint of a run. The page itself is that of package
// report.
package watch

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorl-dev/gorl/envs/view"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/loopback"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/report"
)

// Config says what is served.
type Config struct {
	// Root is the folder of all runs.
	Root string
	// Tags chooses the tags that are drawn by default.
	Tags func(all []string) []string
	// Group joins runs that differ only by their seeds.
	Group func(names, dirs []string) []Group
	// Play returns the command that plays the newest checkpoint of a run's folder at a Unix socket, as gorl view does.
	// A page's request calls it. Without Play no character can be watched.
	Play func(dir, config, socket string) []string
	// Token is required in requests: once as ?token=, then as a cookie. Without Token the server only answers requests
	// to a loopback address.
	Token string
}

// Group has the IDs of several runs that differ only by their seeds.
type Group struct {
	Name string
	Runs []string
}

// Server reads runs and answers requests. Several goroutines may use it.
type Server struct {
	cfg  Config
	dir  string // absolute
	root *os.Root
	// every is the time between two walks through all folders, and tick between two looks at their files.
	every, tick time.Duration

	mu      sync.Mutex // guards the fields below, to version
	folders map[string]*folder
	walked  time.Time
	rows    []Row
	version int64

	reading   sync.Mutex // guards followers: logs are read by one request at a time
	followers map[string]*follower

	following sync.Mutex // guards the fields below, to journals
	watched   string     // the population that a page asked for last
	journals  journal.Follower

	viewers atomic.Int64 // open streams of events

	playing    sync.Mutex // guards characters
	characters map[string]*character
	stay       time.Duration // see stayFor
}

// maxViewers limits the pages that are open at a time.
const maxViewers = 200

// New opens the folder of all runs.
func New(cfg Config) (*Server, error) {
	dir, err := filepath.Abs(cfg.Root)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Server{cfg: cfg, dir: dir, root: root, every: 10 * time.Second, tick: 2 * time.Second,
		folders: map[string]*folder{}, followers: map[string]*follower{}, characters: map[string]*character{},
		stay: stayFor}, nil
}

// Close ends the characters that play and releases the folder.
func (s *Server) Close() error {
	s.endCharacters()
	return s.root.Close()
}

// name returns the displayed name of a folder.
func (s *Server) name(id string) string {
	if id == "." {
		return filepath.Base(s.dir)
	}
	return id
}

// folder returns the folder of a run or a population, or nil. IDs are looked up, never opened: no request can name a
// path that was not found below the root.
func (s *Server) folder(id string) *folder {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.folders[id]; f != nil {
		c := *f
		return &c
	}
	return nil
}

// Handler answers the page's requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServerFS(report.Page()))
	mux.HandleFunc("/api/runs", func(w http.ResponseWriter, _ *http.Request) {
		_, err := s.refresh(300 * time.Millisecond)
		s.mu.Lock()
		answer := map[string]any{"root": filepath.Base(s.dir), "now": time.Now().UnixMilli(), "runs": s.rows}
		s.mu.Unlock()
		respond(w, answer, err)
	})
	mux.HandleFunc("/api/curves", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		respond(w, s.curvesOf(q["run"], q["tag"], q.Get("x"), q.Get("seeds") != ""), nil)
	})
	mux.HandleFunc("/api/settings", func(w http.ResponseWriter, r *http.Request) {
		list := []Settings{}
		for _, id := range r.URL.Query()["run"] {
			if f := s.folder(id); f != nil && len(list) < maxFollowed {
				list = append(list, s.settingsOf(f))
			}
		}
		respond(w, list, nil)
	})
	mux.HandleFunc("/api/population", func(w http.ResponseWriter, r *http.Request) {
		f := s.folder(r.URL.Query().Get("run"))
		if f == nil || !f.population {
			http.Error(w, "there is no such population", http.StatusNotFound)
			return
		}
		p, err := s.population(f, 0)
		respond(w, Population{p, s.health(f)}, err)
	})
	mux.HandleFunc("/api/events", s.events)
	if s.cfg.Play != nil {
		mux.Handle("/character/", http.StripPrefix("/character", view.Page()))
		mux.HandleFunc("/character/socket", s.characterSocket)
	}
	guarded := http.Handler(loopback.Only(mux))
	if s.cfg.Token != "" {
		guarded = loopback.ReadOnly(s.authorized(mux))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for key, value := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
				"img-src data:; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache",
		} {
			w.Header().Set(key, value)
		}
		guarded.ServeHTTP(w, r)
	})
}

// authorized passes on requests with the token. The first request gives it as ?token= and gets a cookie.
func (s *Server) authorized(h http.Handler) http.Handler {
	same := func(given string) bool { return subtle.ConstantTimeCompare([]byte(given), []byte(s.cfg.Token)) == 1 }
	const cookie = "gorl-token"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if given := r.URL.Query().Get("token"); given != "" && same(given) {
			http.SetCookie(w, &http.Cookie{Name: cookie, Value: given, Path: "/", HttpOnly: true,
				SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		if c, err := r.Cookie(cookie); err != nil || !same(c.Value) {
			http.Error(w, "open the address with the token that gorl serve printed", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// respond writes a value as JSON, or an error.
func respond(w http.ResponseWriter, value any, err error) {
	var text []byte
	if err == nil {
		text, err = json.Marshal(value)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the page may be closed
}

// events sends the version of the list whenever it changes (server-sent events). A page that reads too slowly is
// dropped; it connects again by itself.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if s.viewers.Add(1) > maxViewers {
		s.viewers.Add(-1)
		http.Error(w, fmt.Sprintf("%d pages are open already; close some", maxViewers), http.StatusServiceUnavailable)
		return
	}
	defer s.viewers.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	ticker := time.NewTicker(s.tick)
	defer ticker.Stop()
	for sent, idle := int64(-1), 0; ; {
		s.mu.Lock()
		version := s.version
		s.mu.Unlock()
		text := ""
		switch idle++; {
		case version != sent:
			text, sent, idle = fmt.Sprintf("data: %d\n\n", version), version, 0
		case idle >= 8:
			text, idle = ": still here\n\n", 0
		}
		if text != "" {
			if err := control.SetWriteDeadline(time.Now().Add(writeFor)); err != nil {
				return
			}
			if _, err := io.WriteString(w, text); err != nil || control.Flush() != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
	}
}

// writeFor is the longest time for a page to read an answer.
const writeFor = 20 * time.Second

// poll reads the runs while a page is open.
func (s *Server) poll(ctx context.Context) {
	for {
		more := false
		if s.viewers.Load() > 0 {
			more, _ = s.refresh(time.Second) // the folder may be readable again later
		}
		wait := s.tick
		if more {
			wait = 100 * time.Millisecond
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// Serve answers requests until the context ends. It then returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go s.poll(ctx)
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, WriteTimeout: writeFor,
		IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 17}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Settings are the settings of a run as text by dotted keys, and facts about its last start.
type Settings struct {
	ID     string            `json:"id"`
	Values map[string]string `json:"values"`
	Facts  [][2]string       `json:"facts"`
}

// settingsOf reads the settings of a run.
func (s *Server) settingsOf(f *folder) Settings {
	out := Settings{ID: f.id, Values: map[string]string{}}
	settings, err := s.settings(f.id)
	if err != nil {
		out.Facts = append(out.Facts, [2]string{"damaged", err.Error()})
	}
	config.Flatten(settings, func(key string, value any) { out.Values[key] = fmt.Sprint(value) })
	if starts, err := s.starts(f.id); err == nil && len(starts) > 0 {
		last := starts[len(starts)-1]
		for _, fact := range [][2]string{{"started", last.Time.Format(time.RFC3339)},
			{"starts", fmt.Sprint(len(starts))}, {"host", last.Host}, {"platform", last.Platform}, {"gorl", last.Gorl},
			{"commit", last.Commit}, {"libtorch", last.Libtorch}, {"error", last.Error}} {
			if fact[1] != "" {
				out.Facts = append(out.Facts, fact)
			}
		}
	}
	return out
}

// maxExported is the number of runs whose curves are in an exported page.
const maxExported = 50

// Export writes the page with all runs, populations and curves of the latest runs as one file.
func (s *Server) Export(w io.Writer, title string) error {
	for more := true; more; {
		var err error
		if more, err = s.refresh(time.Minute); err != nil {
			return err
		}
	}
	populations, settings, ids := map[string]Population{}, []Settings{}, []string{}
	for _, r := range s.rows {
		switch f := s.folder(r.ID); {
		case f.population:
			p, err := s.population(f, 0)
			if err != nil {
				return err
			}
			populations[r.ID] = Population{p, s.health(f)}
		case len(ids) < maxExported && r.Of == "":
			ids = append(ids, r.ID)
			settings = append(settings, s.settingsOf(f))
		}
	}
	curves := s.curvesOf(ids, nil, "steps", false)
	for curves.Partial {
		curves = s.curvesOf(ids, nil, "steps", false)
	}
	return report.WritePage(w, title, map[string]any{"runs": s.rows, "now": time.Now().UnixMilli(),
		"root": filepath.Base(s.dir), "populations": populations, "settings": settings,
		"curves": map[string]Curves{"": curves, "seeds": s.curvesOf(ids, nil, "steps", true)}})
}
