package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// graph has the names that each name leads to. It has no circles.
type graph map[string]map[string]bool

// add makes sure that a name is there, and, where to is another name, leads to it.
func (g graph) add(from, to string) {
	if g[from] == nil {
		g[from] = map[string]bool{}
	}
	if to != "" && to != from {
		g[from][to] = true
	}
}

// names lists all names, in order.
func (g graph) names() []string { return slices.Sorted(maps.Keys(g)) }

// next lists where a name leads to, in order.
func (g graph) next(name string) []string { return slices.Sorted(maps.Keys(g[name])) }

func (g graph) reaches(from, to string) bool {
	return slices.ContainsFunc(g.next(from), func(next string) bool { return next == to || g.reaches(next, to) })
}

// reduced leaves out the edges that follow from others (the transitive reduction).
func (g graph) reduced() graph {
	small := graph{}
	for from := range g {
		small.add(from, "")
		for to := range g[from] {
			around := func(next string) bool { return next != to && g.reaches(next, to) }
			if !slices.ContainsFunc(g.next(from), around) {
				small.add(from, to)
			}
		}
	}
	return small
}

// importsOfModule asks the go command which packages of the module import which, by their paths in the repository.
func importsOfModule() (graph, error) {
	command := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return nil, err
	}
	g := graph{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return g, nil
		} else if err != nil {
			return nil, err
		}
		from := strings.TrimPrefix(p.ImportPath, module+"/")
		g.add(from, "")
		for _, path := range p.Imports {
			if to, ok := strings.CutPrefix(path, module+"/"); ok {
				g.add(from, to)
			}
		}
	}
}

// drawn says whether a package is in the picture: not the examples and benchmarks, and of internal packages only the
// one where PPO and AMP are made.
func drawn(path string) bool {
	if path == "agents/internal/onpolicy" {
		return true
	}
	internal := slices.Contains(strings.Split(path, "/"), "internal")
	return !internal && folder(path) != "snippets" && folder(path) != "benchmarks"
}

// folder is the first folder of a package's path.
func folder(path string) string { return strings.Split(path, "/")[0] }

// visible joins the packages in the picture by what they import themselves or through packages that are not in it.
func visible(all graph) graph {
	g := graph{}
	var follow func(from, at string)
	follow = func(from, at string) {
		for to := range all[at] {
			if drawn(to) {
				g.add(from, to)
			} else {
				follow(from, to)
			}
		}
	}
	for path := range all {
		if drawn(path) {
			g.add(path, "")
			follow(path, path)
		}
	}
	return g
}
