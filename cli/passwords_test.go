package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
)

// The password in a tracker's address opens the connection. It is in no file of the run, in nothing that the tracker is
// sent, and in no message; a run that goes on from run.yaml says that it needs it again.
func TestPasswordsOfTrackersStayOut(t *testing.T) {
	const password = "open:Sesame@7"
	var mu sync.Mutex
	var bodies bytes.Buffer
	greeted := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if user, word, _ := r.BasicAuth(); user != "me" || word != password {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		greeted++
		_, _ = io.Copy(&bodies, r.Body)
		fmt.Fprint(w, `{"experiment": {"experiment_id": "7"}, "run": {"info": {"run_id": "abc"}}}`)
	}))
	defer server.Close()
	uri := strings.Replace(server.URL, "://", "://me:"+password+"@", 1)
	clean := func(where, said string) {
		t.Helper()
		if strings.Contains(said, "Sesame") {
			t.Errorf("the password is in %s:\n%s", where, said)
		}
	}
	single := "environment: {id: CartPole, num_envs: 4}\nmodels: {mlp: [8]}\nagent: {class: PPO, rollouts: 8, " +
		"mini_batches: 2}\ntrainer: {timesteps: 16, directory: runs, name: single}\n"
	for name, config := range map[string]string{"single": single, "crew": crew} {
		here(t, "p.yaml", config)
		mu.Lock()
		greeted = 0
		bodies.Reset()
		mu.Unlock()
		trackers := "trainer.trackers=[mlflow: {tracking_uri: '" + uri + "'}]"
		stdout, stderr := gorl(t, 0, "train", "-c", "p.yaml", "-s", trackers)
		clean("the output of "+name, stdout+stderr)
		clean("the requests of "+name, bodies.String())
		if greeted == 0 || !strings.Contains(bodies.String(), "me:***@") {
			t.Errorf("%s: the server was called %d times with %s", name, greeted, bodies.String())
		}
		for _, path := range files(t, "runs") {
			clean(path, text(path))
		}
		stdout, _ = gorl(t, 0, "train", "-c", "p.yaml", "-s", trackers, "--check")
		clean("what --check prints", stdout)
		if name == "single" {
			_, stderr = gorl(t, 0, "train", "--resume", "runs/single", "--timesteps", "24")
			matches(t, stderr, `tracker mlflow: "tracking_uri" is "http://me:\*\*\*@127.*without its `+
				`password.*MLFLOW_TRACKING_PASSWORD`)
		}
	}
	here(t, "p.yaml", single)
	_, stderr := gorl(t, commandline.WrongUse, "train", "-c", "p.yaml", "--check", "-s",
		"trainer.trackers=[mlflow: {tracking_uri: '"+strings.Replace(uri, "http", "htp", 1)+"'}]")
	clean("the error", stderr)
}
