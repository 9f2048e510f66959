package trackers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"unicode"
)

// mlflowServer calls a tracking server's REST interface, version 2.0.
type mlflowServer struct {
	ctx    context.Context
	client http.Client
	uri    address
}

// call posts a request in JSON, and reads the answer into answer unless that is nil.
func (m *mlflowServer) call(method string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("%s: %w (%w)", method, err, ErrFinal)
	}
	return m.send(http.MethodPost, "mlflow/"+method, bytes.NewReader(body), answer)
}

// put sends a file to the server's artifacts.
func (m *mlflowServer) put(place, path string) error {
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	long := *m
	long.client.Timeout = 0 // the context limits it
	return long.send(http.MethodPut, "mlflow-artifacts/artifacts"+place, bytes.NewReader(body), nil)
}

// get sends a request whose query is in the address.
func (m *mlflowServer) get(method string, query url.Values, answer any) error {
	return m.send(http.MethodGet, "mlflow/"+method+"?"+query.Encode(), nil, answer)
}

// refusal is an answer other than 200 OK.
type refusal struct {
	Status  string `json:"-"`
	Code    string `json:"error_code"`
	Message string `json:"message"`
}

func (r *refusal) Error() string {
	if r.Message == "" {
		return "the server answers " + r.Status
	}
	return fmt.Sprintf("the server answers %s: %s", r.Status, cut(r.Message, 300))
}

// send sends a request. A refusal of the request itself is final.
func (m *mlflowServer) send(verb, method string, body io.Reader, answer any) error {
	request, err := http.NewRequestWithContext(m.ctx, verb, string(m.uri)+"/api/2.0/"+method, body)
	if err != nil {
		return fmt.Errorf("%w (%w)", err, ErrFinal)
	}
	request.Header.Set("Content-Type", "application/json")
	if verb == http.MethodPut {
		request.Header.Set("Content-Type", "application/octet-stream")
	}
	user, token := os.Getenv("MLFLOW_TRACKING_USERNAME"), os.Getenv("MLFLOW_TRACKING_TOKEN")
	switch {
	case user != "":
		request.SetBasicAuth(user, os.Getenv("MLFLOW_TRACKING_PASSWORD"))
	case token != "":
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := m.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode == http.StatusOK {
		if answer == nil {
			return nil
		}
		if err := json.Unmarshal(text, answer); err != nil {
			return fmt.Errorf("%s gives an answer that is not JSON; is it an MLflow server? (%w)", m.uri, ErrFinal)
		}
		return nil
	}
	refused := &refusal{Status: response.Status}
	_ = json.Unmarshal(text, refused) // other servers, such as proxies, answer in HTML
	switch code := response.StatusCode; {
	case code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= 500:
		return refused
	// the caller creates it
	case refused.Code == "RESOURCE_DOES_NOT_EXIST" && strings.HasPrefix(method, "mlflow/experiments/"):
		return refused
	}
	return fmt.Errorf("%w (%w)", refused, ErrFinal)
}

// names maps tags to different names that MLflow accepts.
type names struct {
	byTag map[string]string
	taken map[string]bool
}

func (n *names) of(tag string) string {
	if name, ok := n.byTag[tag]; ok {
		return name
	}
	if n.byTag == nil {
		n.byTag, n.taken = map[string]string{}, map[string]bool{}
	}
	name := mlflowName(tag)
	for i, whole := 2, name; n.taken[name]; i++ {
		name = fmt.Sprintf("%s_%d", cut(whole, maxName-12), i)
	}
	n.byTag[tag], n.taken[name] = name, true
	return name
}

// mlflowName returns a name that MLflow's server accepts for a tag (mlflow/utils/validation.py of 3.17). The server
// also requires that a name, read as a path, is in its shortest form.
func mlflowName(tag string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == '(' || r == ')':
			return -1
		case unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./ :", r):
			return r
		}
		return '_'
	}, tag)
	name = cut(name, maxName)
	if name != path.Clean(name) || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "..") || name == "." {
		name = "_" + cut(strings.ReplaceAll(name, "/", "_"), maxName-1)
	}
	return name
}

// cut returns the first n characters of a text.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	runes := []rune(text)
	return string(runes[:min(n, len(runes))])
}
