//go:build linux

package watch

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// Only a few characters play at a time; one that nobody watches ends, and another may take its place.
func TestCharacterLimits(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		write(t, filepath.Join(root, name, "run.yaml"), settings)
		if name != "e" {
			write(t, filepath.Join(root, name, "checkpoints", "agent_1.safetensors"), "")
		}
	}
	s, get := serve(t, root, "")
	defer func() { must.Do(t, s.Close()) }()
	s.stay = time.Millisecond
	s.cfg.Play = func(string, string, string) []string { return []string{"sleep", "1000"} }
	get("/api/runs", new(list))
	refused := func(id, want string) {
		t.Helper()
		must.RefusedAs(s.join(id))(t, id, want)
	}
	refused("e", "no checkpoint yet")
	refused("..", "no such run")
	var first *character
	for _, id := range []string{"a", "a", "b", "c"} {
		c := must.Get(s.join(id))(t)
		if first == nil {
			first = c
		} else if (c == first) != (id == "a") {
			t.Errorf("%s: two pages of a run have one process: %v", id, c == first)
		}
	}
	refused("d", "3 characters play already")
	s.leave(first)
	refused("d", "3 characters play already")
	s.leave(first)
	<-first.ended
	if c, err := s.join("d"); err != nil || first.why.Error() != "its last page was closed" {
		t.Errorf("%v, %v: %v", c, err, first.why)
	}
}
