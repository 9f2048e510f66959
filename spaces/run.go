package spaces

// Run is columns of a row that follow each other and have values of one type.
type Run struct {
	// From and To are the columns, To not included.
	From, To int
	// DType is the type of their values; indices of Discrete and MultiDiscrete are Float32 in a row.
	DType DType
}

// Runs are the columns of a row by the types of their values, each run as long as possible. What keeps rows in less
// memory keeps Uint8 runs as bytes.
func (s Space) Runs() []Run {
	var runs []Run
	at := 0
	for _, leaf := range s.Leaves() {
		to := at + leaf.Space.Width()
		if n := len(runs); n > 0 && runs[n-1].DType == leaf.Space.DType {
			runs[n-1].To = to
		} else if to > at {
			runs = append(runs, Run{at, to, leaf.Space.DType})
		}
		at = to
	}
	return runs
}

// Bytes is the number of a row's Uint8 columns.
func (s Space) Bytes() int {
	n := 0
	for _, run := range s.Runs() {
		if run.DType == Uint8 {
			n += run.To - run.From
		}
	}
	return n
}
