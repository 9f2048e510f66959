package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/gorl-dev/gorl/internal/loopback"
	"github.com/gorl-dev/gorl/internal/process"
)

// The limits of characters: how many play at a time, how many pages may show one, how long one may take to start, and
// how long it stays when its last page has gone.
const (
	maxCharacters = 3
	maxPages      = 50
	startWithin   = time.Minute
	stayFor       = 10 * time.Second
)

// character is a child process that plays a run, for all pages that show it. Server.playing guards pages and idle.
type character struct {
	run    string
	socket string
	pages  int
	idle   *time.Timer             // ends the process when no page is left
	cancel context.CancelCauseFunc // ends the process, with the reason
	late   *time.Timer             // ends a process that does not listen in time
	ended  chan struct{}           // closed when the process has ended, after why is set
	why    error
}

// characterSocket serves the WebSocket of a page that shows a run: it starts the run's character, unless it plays
// already, and passes messages on. A page that cannot have it is told why, as {"refused": "..."}.
func (s *Server) characterSocket(w http.ResponseWriter, r *http.Request) {
	if !loopback.OwnPage(w, r) {
		return
	}
	page, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // the answer has been written
	}
	defer func() { _ = page.CloseNow() }()
	page.SetReadLimit(4096)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if err := s.play(ctx, cancel, page, r.URL.Query().Get("run")); err != nil && ctx.Err() == nil {
		text, _ := json.Marshal(map[string]string{"refused": err.Error()}) // a map of texts has no error
		_ = send(ctx, page, text)
		_ = page.Close(websocket.StatusNormalClosure, "")
	}
}

// play passes on messages between a page and the character of a run until either ends. It calls cancel when the page
// leaves. The error says why the character does not play.
func (s *Server) play(ctx context.Context, cancel func(), page *websocket.Conn, run string) error {
	c, err := s.join(run)
	if err != nil {
		return err
	}
	defer s.leave(c)
	var child *websocket.Conn
	connected := make(chan struct{}) // closed when child is set
	go func() {                      // reads from the beginning, so that a page that leaves is noticed
		defer cancel()
		for {
			_, text, err := page.Read(ctx)
			if err != nil {
				return
			}
			select {
			case <-connected:
				_ = send(ctx, child, text) // the reader below learns that it has gone
			default: // a page has no requests before it has the scene
			}
		}
	}()
	for child == nil { // the process needs a while until it listens
		select {
		case <-c.ended:
			return c.why
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
			child = dialCharacter(ctx, c.socket)
		}
	}
	c.late.Stop()
	defer func() { _ = child.CloseNow() }()
	close(connected)
	for err == nil {
		var text []byte
		if _, text, err = child.Read(ctx); err == nil {
			err = send(ctx, page, text)
		}
	}
	closed, _ := errors.AsType[websocket.CloseError](err)
	if closed.Code == websocket.StatusPolicyViolation { // a request that makes no sense
		return page.Close(closed.Code, closed.Reason)
	}
	select {
	case <-c.ended:
		return c.why
	case <-time.After(5 * time.Second):
		return errors.New("the process that plays the run does not answer")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send sends a message within the time that a page may take to read.
func send(ctx context.Context, to *websocket.Conn, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeFor)
	defer cancel()
	return to.Write(ctx, websocket.MessageText, text)
}

// dialCharacter connects to the viewer at a Unix socket. It returns nil if none listens there.
func dialCharacter(ctx context.Context, socket string) *websocket.Conn {
	transport := &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}
	//nolint:bodyclose // Dial reads it to its end
	conn, _, err := websocket.Dial(ctx, "http://127.0.0.1/socket", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Origin": {"http://127.0.0.1"}}})
	if err != nil {
		return nil
	}
	conn.SetReadLimit(64 << 20) // the meshes of a robot
	return conn
}

// join returns the character of a run for one more page, and starts it if it does not play.
func (s *Server) join(id string) (*character, error) {
	f := s.folder(id)
	if f == nil {
		return nil, errors.New("there is no such run")
	}
	config, err := s.playable(f)
	if err != nil {
		return nil, err
	}
	s.playing.Lock()
	defer s.playing.Unlock()
	if c := s.characters[id]; c != nil {
		if c.pages >= maxPages {
			return nil, fmt.Errorf("%d pages show this character already; close one", maxPages)
		}
		c.pages++
		if c.idle != nil {
			c.idle.Stop()
		}
		return c, nil
	}
	if len(s.characters) >= maxCharacters {
		return nil, fmt.Errorf("%d characters play already; close one", maxCharacters)
	}
	c, err := s.startCharacter(id, config)
	if err != nil {
		return nil, err
	}
	s.characters[id] = c
	return c, nil
}

// leave takes a page from a character, which ends a while after its last page.
func (s *Server) leave(c *character) {
	s.playing.Lock()
	defer s.playing.Unlock()
	if c.pages--; c.pages > 0 {
		return
	}
	c.idle = time.AfterFunc(s.stay, func() {
		s.playing.Lock()
		defer s.playing.Unlock()
		if c.pages == 0 {
			s.forget(c)
			c.cancel(errors.New("its last page was closed"))
		}
	})
}

// forget removes a character from those that pages can join. The caller holds playing.
func (s *Server) forget(c *character) {
	if s.characters[c.run] == c {
		delete(s.characters, c.run)
	}
}

// playable returns the path of the configuration of a run or a population. It is an error if a character cannot be
// played from files below the folder of all runs.
func (s *Server) playable(f *folder) (config string, err error) {
	for _, dir := range []string{f.id, cmp.Or(f.of, f.id)} { // a member's is the population's
		for _, name := range []string{runFile, "config.yaml"} {
			name = path.Join(dir, name)
			if info, err := s.root.Lstat(name); config == "" && err == nil && info.Mode().IsRegular() {
				config = filepath.Join(s.dir, filepath.FromSlash(name))
			}
		}
	}
	if config == "" {
		return "", errors.New("the run has no run.yaml, so its environment is unknown")
	}
	found := false
	err = fs.WalkDir(s.root.FS(), f.id, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case err != nil: // removed meanwhile
		case e.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link, which the server does not follow", name)
		case path.Ext(name) == ".safetensors":
			found = true
		}
		return nil
	})
	if err == nil && !found {
		err = errors.New("there is no checkpoint yet; trainer.checkpoint_interval says when one is written")
	}
	return config, err
}

// startCharacter starts the process that plays a run, with one page.
func (s *Server) startCharacter(id, config string) (*character, error) {
	socket, remove, err := process.SocketAddress()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.cfg.Root, filepath.FromSlash(id)) // as the user calls it
	argv := s.cfg.Play(dir, config, socket)
	// A program of package commandline says why it ends. The first line of another is the beginning of a trace.
	var first, reason string
	program := filepath.Base(argv[0])
	said := process.Tail{Each: func(line string) {
		first = cmp.Or(first, strings.TrimSpace(line))
		if _, text, ok := strings.Cut(line, ": "); ok && reason == "" && strings.HasPrefix(line, program) {
			reason, _, _ = strings.Cut(text, " (see ")
		}
	}}
	p, err := process.Start(process.Options{Argv: argv, Env: append(os.Environ(),
		"OMP_NUM_THREADS=1"), Stderr: &said, Grace: time.Second})
	if err != nil {
		remove()
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	late := time.AfterFunc(startWithin, func() { cancel(fmt.Errorf("it did not start within %v", startWithin)) })
	c := &character{run: id, socket: socket, pages: 1, cancel: cancel, late: late, ended: make(chan struct{})}
	go func() {
		var exit process.Exit
		select {
		case exit = <-p.Done():
		case <-ctx.Done():
			p.Kill()
			exit = <-p.Done()
		}
		cancel(errors.New(cmp.Or(reason, strings.TrimSuffix(fmt.Sprintf("the process that played it has ended (%v): %s",
			exit, first), ": ")))) // does nothing if it was ended: the first reason counts
		c.why = context.Cause(ctx)
		remove()
		s.playing.Lock()
		s.forget(c)
		s.playing.Unlock()
		close(c.ended)
	}()
	return c, nil
}

// endCharacters ends all characters and waits for them.
func (s *Server) endCharacters() {
	s.playing.Lock()
	var all []*character
	for _, c := range s.characters {
		c.cancel(errors.New("the server has ended"))
		all = append(all, c)
	}
	s.playing.Unlock()
	for _, c := range all {
		<-c.ended
	}
}
