package tracking

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/tracking/internal/column"
)

// Table writes an aligned text table with a rule under its header. Columns of numbers are aligned to the right, the
// others to the left. A cell of "", "-" or "–" fits both. A row must not be longer than the header. Wide characters
// count as two columns. Line breaks within cells become spaces.
func Table(w io.Writer, header []string, rows [][]string) error {
	if len(header) == 0 {
		return fmt.Errorf("tracking: a table needs a header")
	}
	widths, texts := make([]int, len(header)), make([]bool, len(header))
	lines := append([][]string{header}, rows...)
	for r, row := range lines {
		if len(row) > len(header) {
			return fmt.Errorf("tracking: row %d of a table has %d cells, its header %d", r-1, len(row), len(header))
		}
		lines[r] = make([]string, len(header))
		for c, cell := range row {
			cell = column.OneLine(cell)
			lines[r][c], widths[c] = cell, max(widths[c], column.Width(cell))
			texts[c] = texts[c] || r > 0 && !isNumber(cell)
		}
	}
	rule := make([]string, len(header))
	for c, width := range widths {
		rule[c] = strings.Repeat("─", width)
	}
	var b strings.Builder
	for _, row := range slices.Insert(lines, 1, rule) {
		for c, cell := range row {
			pad := strings.Repeat(" ", widths[c]-column.Width(cell))
			if row[c] = pad + cell; texts[c] {
				row[c] = cell + pad
			}
		}
		b.WriteString(strings.TrimRight(strings.Join(row, "  "), " ") + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("tracking: writing a table: %w", err)
	}
	return nil
}

// isNumber reports whether a cell fits a column of numbers.
func isNumber(cell string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimRight(cell, "%kMG")), 64)
	return err == nil || slices.Contains([]string{"", "-", "–"}, cell)
}

// Cells formats values as the cells of a row, as fmt.Sprint does.
func Cells(values ...any) []string {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = fmt.Sprint(v)
	}
	return row
}
