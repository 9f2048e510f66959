package torchfile

import (
	"fmt"
)

func (e *encoder) list(v *List, depth int) error {
	if v == nil {
		return fmt.Errorf("torchfile: a nil list cannot be written")
	}
	e.op(opEmptyList)
	if len(v.Items) == 0 {
		return nil
	}
	e.op(opMark)
	for _, x := range v.Items {
		if err := e.value(x, depth+1); err != nil {
			return err
		}
	}
	e.op(opAppends)
	return nil
}

func (e *encoder) tuple(v Tuple, depth int) error {
	if len(v) == 0 {
		e.op(opEmptyTuple)
		return nil
	}
	if len(v) > 3 {
		e.op(opMark)
	}
	for _, x := range v {
		if err := e.value(x, depth+1); err != nil {
			return err
		}
	}
	if len(v) > 3 {
		e.op(opTuple)
	} else {
		e.op(opTuple1 + byte(len(v)) - 1)
	}
	return nil
}

func (e *encoder) ints(v []int64) {
	t := make(Tuple, len(v))
	for i, n := range v {
		t[i] = n
	}
	_ = e.tuple(t, 0) // whole numbers can always be written
}

func (e *encoder) dict(d *Dict, depth int) error {
	if d == nil {
		return fmt.Errorf("torchfile: a nil dict cannot be written")
	}
	if depth > maxDepth {
		return tooDeep()
	}
	if d.Ordered {
		e.orderedDict()
	} else {
		e.op(opEmptyDict)
	}
	if d.Len() > 0 {
		e.op(opMark)
		for k, x := range d.All() {
			if err := e.value(k, depth+1); err != nil {
				return err
			}
			if err := e.value(x, depth+1); err != nil {
				return err
			}
		}
		e.op(opSetItems)
	}
	if d.Attributes == nil {
		return nil
	}
	if !d.Ordered {
		return fmt.Errorf("torchfile: a plain dict has no Attributes; only an OrderedDict does")
	}
	if err := e.dict(d.Attributes, depth+1); err != nil {
		return err
	}
	e.op(opBuild)
	return nil
}

func (e *encoder) orderedDict() {
	e.global("collections", "OrderedDict")
	e.op(opEmptyTuple, opReduce)
}
