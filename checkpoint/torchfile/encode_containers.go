package torchfile

func (e *encoder) list(v *List, depth int) {
	if v == nil {
		e.fail("a nil list cannot be written")
		return
	}
	e.op(opEmptyList)
	if len(v.Items) == 0 {
		return
	}
	e.op(opMark)
	for _, x := range v.Items {
		e.value(x, depth+1)
	}
	e.op(opAppends)
}

func (e *encoder) tuple(v Tuple, depth int) {
	if len(v) > 3 {
		e.op(opMark)
	}
	for _, x := range v {
		e.value(x, depth+1)
	}
	e.op([]byte{opEmptyTuple, opTuple1, opTuple2, opTuple3, opTuple}[min(len(v), 4)])
}

func (e *encoder) ints(v []int64) {
	t := make(Tuple, len(v))
	for i, n := range v {
		t[i] = n
	}
	e.tuple(t, 0)
}

func (e *encoder) dict(d *Dict, depth int) {
	if d == nil {
		e.fail("a nil dict cannot be written")
		return
	}
	if d.Ordered {
		e.orderedDict()
	} else {
		e.op(opEmptyDict)
	}
	if d.Len() > 0 {
		e.op(opMark)
		for k, x := range d.All() {
			e.value(k, depth+1)
			e.value(x, depth+1)
		}
		e.op(opSetItems)
	}
	if d.Attributes == nil {
		return
	}
	if !d.Ordered {
		e.fail("a plain dict has no Attributes; only an OrderedDict does")
	}
	e.value(d.Attributes, depth+1)
	e.op(opBuild)
}

func (e *encoder) orderedDict() {
	e.global("collections", "OrderedDict")
	e.op(opEmptyTuple, opReduce)
}
