package distributed

import (
	"time"
	"unsafe"
)

// exchange performs one operation: f sends and receives its frames, which have the operation's number.
func (g *Group) exchange(f func() error) error {
	if g.lost != nil {
		return g.lost
	}
	g.op++
	begin := time.Now()
	defer func() { g.spent += time.Since(begin) }()
	g.links.until(begin.Add(g.cfg.Timeout))
	if g.joining != nil && g.joining.Err() != nil { // cancelled before the deadline was set
		g.links.until(begin)
	}
	err := f()
	if err == nil {
		err = g.links.flush()
	}
	if err != nil {
		return g.fail(err)
	}
	return nil
}

// sendAll sends to each other rank the bytes that payload returns for that rank.
func (g *Group) sendAll(k kind, payload func(rank int) []byte) error {
	for r, l := range g.links.others() {
		if err := l.send(frame{kind: k, op: g.op}, payload(r)); err != nil {
			return err
		}
	}
	return nil
}

// receive reads the frame of rank r into b.
func (g *Group) receive(k kind, r int, b []byte) error {
	if _, err := g.links[r].expect(frame{kind: k, op: g.op}, len(b)); err != nil {
		return err
	}
	return g.links[r].read(b)
}

// sum adds up b, elements of size bytes. A small b is sent whole to all ranks. For a large b each rank adds up a part
// of its own, and then sends the result to the others.
func (g *Group) sum(b []byte, size int, add func(to, from []byte)) error {
	if len(b) <= small {
		if err := g.sendAll(kindSum, func(int) []byte { return b }); err != nil {
			return err
		}
		return g.addUp(b, add)
	}
	elements := len(b) / size
	part := func(rank int) []byte {
		return b[elements*rank/g.Size()*size : elements*(rank+1)/g.Size()*size]
	}
	own := part(g.Rank())
	if err := g.sendAll(kindSum, part); err != nil {
		return err
	}
	if err := g.addUp(own, add); err != nil {
		return err
	}
	if err := g.links.flush(); err != nil { // the other parts of b are overwritten now
		return err
	}
	if err := g.sendAll(kindTotal, func(int) []byte { return own }); err != nil {
		return err
	}
	for r := range g.links.others() {
		if err := g.receive(kindTotal, r, part(r)); err != nil {
			return err
		}
	}
	return nil
}

// addUp adds the numbers of all ranks to own. Every rank adds in the order of the ranks, so that all get equal bits.
func (g *Group) addUp(own []byte, add func(to, from []byte)) error {
	for i := range g.scratch {
		if cap(g.scratch[i]) < len(own) {
			g.scratch[i] = make([]byte, len(own))
		}
	}
	total, in := own, g.scratch[0][:len(own)]
	if g.Rank() > 1 { // rank 1 may start with its own numbers, because a+b equals b+a
		total = g.scratch[1][:len(own)]
	}
	for r := range g.Size() {
		switch {
		case r == g.Rank() && r > 1:
			add(total, own)
		case r == g.Rank():
		case r == 0 && g.Rank() > 1:
			if err := g.receive(kindSum, r, total); err != nil {
				return err
			}
		default:
			if err := g.receive(kindSum, r, in); err != nil {
				return err
			}
			add(total, in)
		}
	}
	if g.Rank() > 1 {
		copy(own, total)
	}
	return nil
}

// addElements adds the elements of from to those of to.
func addElements[T float32 | float64 | int32 | int64](to, from []byte) {
	var element T
	n := len(to) / int(unsafe.Sizeof(element))
	a := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(to))), n)
	b := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(from))), n)
	for i, x := range b {
		a[i] += x
	}
}

// GatherBytes returns the bytes of every rank, by rank. Their lengths may differ.
func (g *Group) GatherBytes(b []byte) ([][]byte, error) {
	if !g.Several() {
		return [][]byte{b}, nil
	}
	all := make([][]byte, g.Size())
	all[g.Rank()] = append([]byte{}, b...)
	err := g.exchange(func() (err error) {
		if err = g.sendAll(kindBytes, func(int) []byte { return b }); err != nil {
			return err
		}
		for r := range g.links.others() {
			if all[r], err = g.receiveBytes(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// BroadcastBytes returns the bytes of rank root; those of the others are ignored.
func (g *Group) BroadcastBytes(root int, b []byte) ([]byte, error) {
	if !g.Several() {
		return b, nil
	}
	err := g.exchange(func() (err error) {
		if g.Rank() == root {
			return g.sendAll(kindBytes, func(int) []byte { return b })
		}
		b, err = g.receiveBytes(root)
		return err
	})
	return b, err
}

// receiveBytes reads bytes of any length from rank r.
func (g *Group) receiveBytes(r int) ([]byte, error) {
	n, err := g.links[r].expect(frame{kind: kindBytes, op: g.op}, -1)
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	return b, g.links[r].read(b)
}
