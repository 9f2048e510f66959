package architecture

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The picture of docs/architecture.md: packages are boxes, those of one folder stand in a frame, and imports are
// arrows.
// The plan says where the folders stand; which packages there are and what they import comes from the code.

// plan has those that import above, or beside, those that are imported.
func plan() *box {
	return stacked(
		frame("programs", "cli", "cmd"),
		abreast(
			frame("populations", "pbt"),
			stacked(
				abreast(frame("files", "tracking"), stacked(&box{h: 28}, frame("training", "trainers"))),
				abreast(frame("agents", "agents"), frame("environments, motion", "envs", "motions")),
			),
		),
		abreast(frame("parts of agents", "models"), frame("policies without libtorch", "infer"),
			frame("parts of agents", "distributed"),
			frame("parts of agents", "memory", "preprocessors", "schedulers"), &box{w: 60}),
		abreast(&box{}, frame("foundations", "tensor"), &box{}, frame("foundations", "spaces")),
		frame("files", "checkpoint"),
	)
}

// colours are those of frames by what they are for, in the order of the legend.
var colours = [][2]string{
	{"programs", "#e3e6ea"}, {"populations", "#e4dcf5"}, {"training", "#d6e6fa"}, {"agents", "#d3efdc"},
	{"environments, motion", "#cdebee"}, {"parts of agents", "#fbf0c4"}, {"policies without libtorch", "#fde3cf"},
	{"files", "#f7d9e3"}, {"foundations", "#e8e0d2"},
}

const (
	margin, gap   = 24.0, 64.0 // around the picture, and between frames
	tall          = 28.0       // a package's box
	across, below = 12.0, 30.0 // between packages
	pad, title    = 14.0, 30.0 // within a frame: at its sides, and for its name
)

// A box is a frame with the packages of some folders, a row or a column of boxes, or, with neither, room that stays
// free.
type box struct {
	use        string
	folders    []string
	rooms      [][]string // packages, from the bottom row to the top row
	parts      []*box
	beside     bool
	x, y, w, h float64
}

func frame(use string, folders ...string) *box { return &box{use: use, folders: folders} }
func abreast(parts ...*box) *box               { return &box{parts: parts, beside: true} }
func stacked(parts ...*box) *box               { return &box{parts: parts} }

// frames are those of a plan, by folder.
func (b *box) frames(found map[string]*box) map[string]*box {
	for _, f := range b.folders {
		found[f] = b
	}
	for _, p := range b.parts {
		p.frames(found)
	}
	return found
}

// furnish arranges packages in rows, each above those that it imports, and near them.
func (b *box) furnish(within graph) {
	at := map[string]float64{}
	for _, path := range within.names() {
		h := within.height(path)
		for len(b.rooms) <= h {
			b.rooms = append(b.rooms, nil)
		}
		b.rooms[h] = append(b.rooms[h], path)
	}
	if len(b.folders) == len(within) { // they have nothing to do with each other
		b.rooms = nil
		for _, path := range within.names() {
			b.rooms = append(b.rooms, []string{path})
		}
	}
	for _, row := range b.rooms {
		near := func(path string) float64 {
			sum, n := 0.5, 1.0
			for to := range within[path] {
				sum, n = sum+at[to], n+1
			}
			return sum / n
		}
		slices.SortStableFunc(row, func(p, q string) int { return cmp.Compare(near(p), near(q)) })
		for i, path := range row {
			at[path] = (float64(i) + 0.5) / float64(len(row))
		}
		b.w = max(b.w, b.width(row)+2*pad)
	}
	b.h = float64(len(b.rooms))*(tall+below) - below + title + pad
	if b.alone() {
		b.h = tall + 12
	}
}

// width is that of the boxes of some packages beside each other.
func (b *box) width(paths []string) float64 {
	w := -across
	for _, path := range paths {
		w += 7.5*float64(len(b.label(path))) + 24 + across
	}
	return w
}

// alone says that a frame is a single package.
func (b *box) alone() bool { return len(b.rooms) == 1 && len(b.rooms[0]) == 1 }

func (b *box) label(path string) string { return strings.TrimPrefix(path, b.folders[0]+"/") }

// measure finds the sizes of rows and columns.
func (b *box) measure() {
	for i, p := range b.parts {
		p.measure()
		switch {
		case b.beside:
			b.w, b.h = b.w+p.w, max(b.h, p.h)
		default:
			b.w, b.h = max(b.w, p.w), b.h+p.h
		}
		if i > 0 && b.beside {
			b.w += gap
		} else if i > 0 {
			b.h += gap
		}
	}
}

// place puts a box to the top of an area, in its middle, and the parts of a row or column into even shares of it.
func (b *box) place(x, y, w, h float64) {
	b.x, b.y = x+(w-b.w)/2, y
	if len(b.parts) == 0 {
		return
	}
	extraW, extraH := (w-b.w)/float64(len(b.parts)), (h-b.h)/float64(len(b.parts))
	for _, p := range b.parts {
		if b.beside {
			p.place(x, y, p.w+extraW, h)
			x += p.w + extraW + gap
		} else {
			p.place(x, y+extraH/2, w, p.h)
			y += p.h + extraH + gap
		}
	}
}

// packages gives the middle and the upper edge of every package's box: each row as near to what it imports as it can
// be.
func (b *box) packages(within graph) map[string][2]float64 {
	at := map[string][2]float64{}
	for up, row := range b.rooms {
		x, wide := b.x+(b.w-b.width(row))/2, b.width(row)
		shift, n := 0.0, 0.0
		place := func(move func(path string, middle float64)) {
			for i, path := range row {
				left := x
				if i > 0 {
					left += b.width(row[:i]) + across
				}
				move(path, left+b.width(row[i:i+1])/2)
			}
		}
		place(func(path string, middle float64) {
			for to := range within[path] {
				shift, n = shift+at[to][0]-middle, n+1
			}
		})
		x = min(max(x+shift/max(n, 1), b.x+pad), b.x+b.w-pad-wide)
		y := b.y + title + float64(len(b.rooms)-1-up)*(tall+below)
		place(func(path string, middle float64) { at[path] = [2]float64{middle, y} })
	}
	return at
}

// arrow is one between frames, from (x1, y1) to (x2, y2).
type arrow struct {
	from, to       *box
	x1, y1, x2, y2 float64
}

// level says that two frames stand beside each other.
func (a *arrow) level() bool { return a.to.y < a.from.y+a.from.h && a.from.y < a.to.y+a.to.h }

// arrows lead from frame to frame. Those that begin or end at one side of a frame are spread over it, but for those to
// the base, which go straight down from its edge.
func arrows(frames map[string]*box, base *box, between graph) []*arrow {
	var all []*arrow
	for _, from := range between.names() {
		for _, to := range between.next(from) {
			all = append(all, &arrow{from: frames[from], to: frames[to]})
		}
	}
	down := func(a *arrow) bool { return !a.level() && a.to != base }
	for _, name := range slices.Sorted(maps.Keys(frames)) {
		f := frames[name]
		spread(all, func(a *arrow) bool { return a.from == f && down(a) }, func(a *arrow) *box { return a.to },
			func(a *arrow, share float64) { a.x1, a.y1 = f.x+share*f.w, f.y+f.h })
		spread(all, func(a *arrow) bool { return a.to == f && down(a) }, func(a *arrow) *box { return a.from },
			func(a *arrow, share float64) { a.x2, a.y2 = f.x+share*f.w, f.y })
	}
	for _, a := range all {
		switch {
		case a.level():
			a.y1 = (max(a.from.y, a.to.y) + min(a.from.y+a.from.h, a.to.y+a.to.h)) / 2
			if a.y2 = a.y1; a.from.x > a.to.x {
				a.x1, a.x2 = a.from.x, a.to.x+a.to.w
			} else {
				a.x1, a.x2 = a.from.x+a.from.w, a.to.x
			}
		case a.to == base:
			a.y1, a.y2 = a.from.y+a.from.h, base.y
			if a.x1 = a.from.x + a.from.w - pad; a.from.x <= margin {
				a.x1 = a.from.x + pad
			}
			a.x2 = a.x1
		}
	}
	return all
}

// spread gives the arrows of one side of a frame their shares of it, in the order of the frames at their other ends.
func spread(all []*arrow, of func(*arrow) bool, other func(*arrow) *box, set func(*arrow, float64)) {
	var some []*arrow
	for _, a := range all {
		if of(a) {
			some = append(some, a)
		}
	}
	slices.SortStableFunc(some, func(a, b *arrow) int {
		return cmp.Compare(other(a).x+other(a).w/2, other(b).x+other(b).w/2)
	})
	for i, a := range some {
		set(a, (float64(i)+1)/(float64(len(some))+1))
	}
}

// draw makes the picture, as SVG.
func draw(imports graph) (string, error) {
	imports = visible(imports)
	house := plan()
	frames := house.frames(map[string]*box{})
	between, within := graph{}, map[string]graph{}
	for _, path := range imports.names() {
		f := frames[folder(path)]
		if f == nil {
			return "", fmt.Errorf("the plan has no place for %s: add its folder to plan in picture_test.go", path)
		}
		name := f.folders[0]
		if within[name] == nil {
			within[name] = graph{}
		}
		within[name].add(path, "")
		for _, to := range imports.next(path) {
			if g := frames[folder(to)]; g == f {
				within[name].add(path, to)
			} else if g != nil {
				between.add(name, g.folders[0])
			}
		}
	}
	frames = map[string]*box{}
	for name, g := range within {
		frames[name], within[name] = house.frames(map[string]*box{})[name], g.reduced()
		frames[name].furnish(within[name])
	}
	house.measure()
	house.place(margin, margin, house.w, house.h)
	base := house.parts[len(house.parts)-1]
	base.x, base.w = margin, house.w // everything stands on it

	var b strings.Builder
	w, h := house.w+2*margin, house.h+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" `+
		`font-family="Helvetica, Arial, sans-serif" font-size="14">
<title>The packages of gorl and what they import</title>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">`+
		`<path d="M0 0L8 4L0 8z" fill="#5a6470"/></marker></defs>
<rect width="%.0f" height="%.0f" rx="8" fill="#ffffff"/>
<g fill="none" stroke="#5a6470" stroke-width="1.4">
`, w, h, w, h)
	for _, a := range arrows(frames, base, between.reduced()) {
		bend := (a.y2 - a.y1) / 2
		fmt.Fprintf(&b, `<path d="M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f" marker-end="url(#head)"/>`+"\n", a.x1,
			a.y1, a.x1, a.y1+bend, a.x2, a.y2-bend, a.x2, a.y2)
	}
	b.WriteString("</g>\n")
	for _, name := range slices.Sorted(maps.Keys(frames)) {
		frames[name].write(&b, within[name])
	}
	for i, c := range colours {
		x, y := margin+float64(i/5)*130, margin+float64(i%5)*23
		fmt.Fprintf(&b, `<rect x="%.0f" y="%.0f" width="15" height="15" rx="3" fill="%s" stroke="#8a94a0"/>`+
			`<text x="%.0f" y="%.0f">%s</text>`+"\n", x, y, c[1], x+22, y+13, c[0])
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}

// write draws a frame, and in it packages and the arrows between them.
func (b *box) write(out *strings.Builder, within graph) {
	colour := colours[slices.IndexFunc(colours, func(c [2]string) bool { return c[0] == b.use })][1]
	name := b.folders[0] + "/"
	if len(b.folders) > 1 {
		name = b.use
	}
	fmt.Fprintf(out, `<rect x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="7" fill="%s" stroke="#8a94a0"/>`+"\n",
		b.x, b.y, b.w, b.h, colour)
	if b.alone() {
		fmt.Fprintf(out, `<text x="%.0f" y="%.0f" text-anchor="middle" font-weight="bold">%s</text>`+"\n", b.x+b.w/2,
			b.y+b.h/2+5, b.folders[0])
		return
	}
	fmt.Fprintf(out, `<text x="%.0f" y="%.0f" font-weight="bold">%s</text>`+"\n", b.x+pad, b.y+20, name)
	at := b.packages(within)
	for _, path := range within.names() {
		p := at[path]
		for _, to := range within.next(path) {
			q := at[to]
			fmt.Fprintf(out, `<path d="M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f" fill="none" stroke="#5a6470" `+
				`stroke-width="1.2" marker-end="url(#head)"/>`+"\n",
				p[0], p[1]+tall, p[0], p[1]+tall+below/2, q[0], q[1]-below/2, q[0], q[1])
		}
	}
	for _, path := range within.names() {
		p := at[path]
		weight, wide := "", b.width([]string{path})
		if slices.Contains(b.folders, path) {
			weight = ` font-weight="bold"`
		}
		fmt.Fprintf(out, `<rect x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="5" fill="#ffffff" stroke="#8a94a0"/>`+
			`<text x="%.0f" y="%.0f" text-anchor="middle"%s>%s</text>`+"\n",
			p[0]-wide/2, p[1], wide, tall, p[0], p[1]+19, weight, b.label(path))
	}
}
