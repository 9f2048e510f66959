package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
)

// measure is one figure by name.
type measure struct {
	Name  string  `json:"measure"`
	Value float64 `json:"value"`
}

// samples collects figures over rounds.
type samples struct {
	names  []string
	values map[string][]float64
}

func (s *samples) add(ms []measure) {
	if s.values == nil {
		s.values = map[string][]float64{}
	}
	for _, m := range ms {
		if !slices.Contains(s.names, m.Name) {
			s.names = append(s.names, m.Name)
		}
		s.values[m.Name] = append(s.values[m.Name], m.Value)
	}
}

func (s samples) median(name string) float64 { return compare.Median(s.values[name]) }

// latest shows the last round's figures.
func latest(s samples) string {
	var parts []string
	for _, name := range s.names {
		v := s.values[name]
		parts = append(parts, fmt.Sprintf("%s %.2f", name, v[len(v)-1]))
	}
	return strings.Join(parts, ", ")
}

// table is what takeTurns prints.
type table struct {
	columns []column
	rows    [][]string
}

// units are how figures of a measure are printed; the others are milliseconds.
var units = map[string]string{"steps_per_second": "%.0f/s", "simulated_per_second": "%.0f/s",
	"physics_per_thread": "%.0f/s", "product": "%.0f GFLOP/s", "fma_peak": "%.0f GFLOP/s", "resident_growth": "%.1f " +
		"MiB", "compile": "%.1f s"}

// add appends the rows of one size with a number of threads. product is the machine's rate of matrix products in
// GFLOP/s, 0 where it is not known: an update whose operations are counted shows what share of it every side reaches.
func (t *table) add(size, threads string, sides []samples, product float64) {
	var names []string
	for _, s := range sides {
		for _, name := range s.names {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		row := []string{size, threads, strings.ReplaceAll(name, "_", " ")}
		for _, c := range t.columns {
			cell, a := "", sides[c.a].median(name)
			switch {
			case len(sides[c.a].values[name]) == 0 || c.b >= 0 && len(sides[c.b].values[name]) == 0:
			case c.b >= 0:
				cell = fmt.Sprintf("%.3g", a/sides[c.b].median(name))
			case units[name] != "":
				cell = fmt.Sprintf(units[name], a)
			default:
				cell = fmt.Sprintf("%.3g ms", a)
			}
			row = append(row, cell)
		}
		t.rows = append(t.rows, row)
	}
	sh, counted := shapes[size]
	if !counted || product == 0 {
		return
	}
	row := []string{size, threads, "share of the product rate"}
	for _, c := range t.columns {
		cell := ""
		if ms := sides[c.a].median("update"); c.b < 0 && ms > 0 {
			cell = fmt.Sprintf("%.0f %%", 100*sh.flops()/(ms*1e6)/product)
		}
		row = append(row, cell)
	}
	t.rows = append(t.rows, row)
}

// print prints the table as Markdown.
func (t *table) print() {
	header := []string{"size", "threads", "measure"}
	for _, c := range t.columns {
		header = append(header, c.title)
	}
	line := func(cells []string) { fmt.Printf("| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	line(slices.Repeat([]string{"---"}, len(header)))
	for _, row := range t.rows {
		line(row)
	}
}
