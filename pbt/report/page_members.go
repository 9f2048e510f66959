package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/tracking/plot"
)

// standings are the members, the best first.
func (f *facts) standings() table {
	t := table{Header: append([]string{"member", "lineage", plot.Plain(f.Run.Objective, 40), "best", "steps", "took over", "was copied"}, f.keys...)}
	type member struct {
		id          int
		last, best  float64
		hasLast     bool
		hasBest     bool
		measuredNow bool
	}
	var members []member
	for i, track := range f.Members {
		m := member{id: i, last: math.NaN(), best: math.NaN()}
		if n := len(track.Objective); n > 0 {
			p := track.Objective[n-1]
			m.last, m.hasLast = p.Value, true
			m.measuredNow = len(track.Copies) == 0 || track.Copies[len(track.Copies)-1].Iteration < p.Iteration
		}
		for _, p := range track.Objective {
			if drawable(p.Value) && (!m.hasBest || f.better(p.Value, m.best)) {
				m.best, m.hasBest = p.Value, true
			}
		}
		members = append(members, m)
	}
	slices.SortStableFunc(members, func(a, b member) int {
		x, y := a.hasLast && drawable(a.last), b.hasLast && drawable(b.last)
		switch {
		case x != y:
			return compareBool(y, x)
		case !x || a.last == b.last:
			return 0
		case f.better(a.last, b.last):
			return -1
		}
		return 1
	})
	for _, m := range members[:min(len(members), maxLanes)] {
		track := f.Members[m.id]
		course := f.courses[m.id]
		founder := course[len(course)-1].founder
		r := row{Ink: f.ink(founder).Class(), Cells: []string{fmt.Sprint(m.id), fmt.Sprint(founder), "–", "–", fmt.Sprint(track.Steps), fmt.Sprint(len(track.Copies)), fmt.Sprint(f.copied[m.id])}}
		if m.hasLast {
			r.Cells[2] = short(m.last)
			if !m.measuredNow {
				r.Cells[2] += " (before its last copy)"
			}
		}
		if m.hasBest {
			r.Cells[3] = short(m.best)
		}
		if f.best != nil && f.best.member == m.id {
			r.Class = "best"
		}
		for _, key := range f.keys {
			value := "–"
			if points := track.Hyperparameters[key]; len(points) > 0 {
				value = short(points[len(points)-1].Value)
			}
			r.Cells = append(r.Cells, value)
		}
		if f.evolves {
			shape := "–"
			if c := f.changes[m.id]; len(c) > 0 {
				shape = plot.Plain(c[len(c)-1].architecture, 200)
			}
			r.Cells = append(r.Cells, shape)
		}
		t.Rows = append(t.Rows, r)
	}
	if f.evolves {
		t.Header = append(t.Header, "architecture")
		for _, h := range t.Header[1:] {
			t.Left = append(t.Left, h == "architecture")
		}
		t.Left = append([]bool{false}, t.Left...)
	}
	return t.shorten(40)
}

// shorten cuts the names of columns, which may be anything.
func (t table) shorten(n int) table {
	for i := range t.Header {
		t.Header[i] = plot.Plain(t.Header[i], n)
	}
	return t
}

// matrix is who copied whom, for not too many members.
func (f *facts) matrix() [][]cell {
	n := len(f.Members)
	if n > maxMatrix || f.copies == 0 {
		return nil
	}
	counts, most := make([][]int, n), 0
	for i, track := range f.Members {
		counts[i] = make([]int, n)
		for _, c := range track.Copies {
			counts[i][c.Parent]++
			most = max(most, counts[i][c.Parent])
		}
	}
	header := []cell{{Text: "copied →", Head: true}}
	for i := range n {
		header = append(header, cell{Text: fmt.Sprint(i), Head: true})
	}
	rows := [][]cell{header}
	for i := range n {
		line := []cell{{Text: fmt.Sprint(i), Head: true}}
		for j, count := range counts[i] {
			c := cell{Text: nonzero(count), Shade: (10*count + most - 1) / most}
			if count > 0 {
				c.Title = fmt.Sprintf("member %d took over the weights of member %d, %d times", i, j, count)
			}
			line = append(line, c)
		}
		rows = append(rows, line)
	}
	return rows
}

// sources are the members that were copied, those most often copied first.
func (f *facts) sources() table {
	t := table{Header: []string{"member", "was copied", "by"}, Left: []bool{false, false, true}}
	by := make([]map[int]int, len(f.Members))
	for i, track := range f.Members {
		for _, c := range track.Copies {
			if by[c.Parent] == nil {
				by[c.Parent] = make(map[int]int)
			}
			by[c.Parent][i]++
		}
	}
	var order []int
	for i := range f.Members {
		if f.copied[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return f.copied[b] - f.copied[a] })
	for _, i := range order[:min(len(order), 200)] {
		var who []string
		for j := range f.Members {
			switch n := by[i][j]; {
			case n == 1:
				who = append(who, fmt.Sprint(j))
			case n > 1:
				who = append(who, fmt.Sprintf("%d (%d×)", j, n))
			}
		}
		t.Rows = append(t.Rows, row{Cells: []string{fmt.Sprint(i), fmt.Sprint(f.copied[i]), strings.Join(who, ", ")}})
	}
	return t
}

// short writes a number in few characters: at most five digits, and 1e-5 rather than 1e-05.
func short(v float64) string {
	if a := math.Abs(v); a >= 1e-3 && a < 1e6 || v == 0 {
		digits := 5
		if a < 1 && 1-a < 0.01 { // a discount factor's digits count from one downwards
			digits = 7
		}
		s := strconv.FormatFloat(v, 'g', digits, 64)
		if !strings.Contains(s, "e") {
			return s
		}
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return plot.ShortExponent(strconv.FormatFloat(v, 'e', 4, 64)) // of NaN and the infinities, these
}
