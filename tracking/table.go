package tracking

import (
	"fmt"
	"io"
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
	columns := make([]tableColumn, len(header))
	for c, name := range header {
		columns[c] = tableColumn{width: column.Width(column.OneLine(name)), numeric: true}
	}
	for r, row := range rows {
		if len(row) > len(header) {
			return fmt.Errorf("tracking: row %d of a table has %d cells, its header %d", r, len(row), len(header))
		}
		for c, cell := range row {
			columns[c].fit(column.OneLine(cell))
		}
	}
	var b, row strings.Builder
	line := func(cells []string) {
		row.Reset()
		for c := range columns {
			cell := ""
			if c < len(cells) {
				cell = column.OneLine(cells[c])
			}
			if c > 0 {
				row.WriteString("  ")
			}
			columns[c].write(&row, cell)
		}
		b.WriteString(strings.TrimRight(row.String(), " "))
		b.WriteByte('\n')
	}
	line(header)
	rule := make([]string, len(columns))
	for c := range columns {
		rule[c] = strings.Repeat("─", columns[c].width)
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("tracking: writing a table: %w", err)
	}
	return nil
}

// Cells formats values as the cells of a row, as fmt.Sprint does.
func Cells(values ...any) []string {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = fmt.Sprint(v)
	}
	return row
}

// tableColumn is the layout of a column.
type tableColumn struct {
	width   int
	numeric bool // all cells are numbers
}

func (c *tableColumn) fit(cell string) {
	c.width = max(c.width, column.Width(cell))
	switch cell {
	case "", "-", "–":
		return
	}
	number := strings.TrimSpace(strings.TrimRight(cell, "%kMG"))
	if _, err := strconv.ParseFloat(number, 64); err != nil {
		c.numeric = false
	}
}

func (c *tableColumn) write(b *strings.Builder, cell string) {
	pad := strings.Repeat(" ", c.width-column.Width(cell))
	if c.numeric {
		b.WriteString(pad + cell)
	} else {
		b.WriteString(cell + pad)
	}
}
