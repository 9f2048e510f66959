package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/tracking/plot"
)

// maxSources is the number of copied members that are listed where the matrix of who copied whom would be too large.
const maxSources = 200

// standings lists the members, the best first: where they stand now and what they are trained with. Of more than
// maxLanes members the best are listed. A member without a finite objective, because nothing was measured yet or
// because it diverged, stands behind all that have one.
func (f *facts) standings() table {
	t := table{Header: []string{
		"member", "lineage", plot.Plain(f.Run.Objective, 40), "best", "steps", "took over", "was copied",
	}}
	t.Header = append(t.Header, f.keys...)
	order := make([]int, len(f.Members))
	last, best := make([]float64, len(f.Members)), make([]float64, len(f.Members))
	for i, track := range f.Members {
		order[i], last[i], best[i] = i, math.NaN(), math.NaN()
		for _, p := range track.Objective {
			last[i] = p.Value
			if drawable(p.Value) && (!drawable(best[i]) || f.better(p.Value, best[i])) {
				best[i] = p.Value
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := drawable(last[a]), drawable(last[b]); {
		case x != y:
			return cmp.Compare(number(y), number(x))
		case !x || last[a] == last[b]: // equals stay in the order of their numbers
			return 0
		case f.better(last[a], last[b]):
			return -1
		}
		return 1
	})
	for _, i := range order[:min(len(order), maxLanes)] {
		track, course := f.Members[i], f.courses[i]
		founder := course[len(course)-1].founder // of the present weights
		objective := "–"
		if n := len(track.Objective); n > 0 {
			objective = short(last[i])
			// What was measured before the last copy belongs to weights that are gone.
			if k := len(track.Copies); k > 0 && track.Copies[k-1].Iteration >= track.Objective[n-1].Iteration {
				objective += " (before its last copy)"
			}
		}
		ever := "–"
		if drawable(best[i]) {
			ever = short(best[i])
		}
		r := row{Ink: f.ink(founder).Class(), Cells: []string{
			fmt.Sprint(i), fmt.Sprint(founder), objective, ever,
			fmt.Sprint(track.Steps), fmt.Sprint(len(track.Copies)), fmt.Sprint(f.copied[i]),
		}}
		if f.best != nil && f.best.member == i {
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
			if c := f.changes[i]; len(c) > 0 {
				shape = plot.Plain(c[len(c)-1].architecture, 200)
			}
			r.Cells = append(r.Cells, shape)
		}
		t.Rows = append(t.Rows, r)
	}
	if f.evolves {
		t.Header = append(t.Header, "architecture")
		t.Left = make([]bool, len(t.Header))
		t.Left[len(t.Left)-1] = true
	}
	return t.shorten(40)
}

// number makes a truth sortable: true is 1, false 0.
func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// shorten cuts the names of columns to n characters: hyperparameters may be called anything.
func (t table) shorten(n int) table {
	for i := range t.Header {
		t.Header[i] = plot.Plain(t.Header[i], n)
	}
	return t
}

// matrix counts who copied whom: the member of a row took over the weights of the member of a column. The cell with
// the most copies is the darkest; its shade is 10, that of an empty one 0. Without copies, or of more than maxMatrix
// members, there is none.
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
			c := cell{Text: nonzero(count), Shade: (10*count + most - 1) / most} // rounded up: one copy is seen
			if count > 0 {
				c.Title = fmt.Sprintf("member %d took over the weights of member %d, %d times", i, j, count)
			}
			line = append(line, c)
		}
		rows = append(rows, line)
	}
	return rows
}

// sources lists the members that were copied, those most often copied first, each with the members that copied it. It
// stands in place of the matrix where that would be too large.
func (f *facts) sources() table {
	t := table{Header: []string{"member", "was copied", "by"}, Left: []bool{false, false, true}}
	by := make([]map[int]int, len(f.Members)) // of a copied member: how often each other copied it
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
	for _, i := range order[:min(len(order), maxSources)] {
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
