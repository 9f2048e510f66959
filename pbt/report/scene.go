package report

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// scene is a drawing, in units that are pixels on the page and points in a picture, from the upper left corner. It is
// laid out once and written as SVG and as PNG.
type scene struct {
	width, height float64
	label         string // what it shows, for those who cannot see it
	items         []item
}

type kind int

const (
	stroke kind = iota
	fill
	dot
	text
)

// item is one thing to draw. Later items lie over earlier ones.
type item struct {
	kind    kind
	ink     ink
	opacity float64 // 0 is 1
	title   string  // a tooltip

	path  path
	width float64 // of a stroke
	dash  bool

	at     point
	radius float64 // of a dot
	hollow bool    // a dot, or a fill, of which only the border has the ink

	text   string
	size   float64
	align  align
	bold   bool
	upward bool // turned to be read from bottom to top
}

type align int

const (
	toLeft align = iota // the text begins at its place
	toMiddle
	toRight
)

type point struct{ x, y float64 }

// path is a way of straight lines and curves.
type path []segment

// segment goes to the last of its points: 'M' without drawing, 'L' straight, 'C' as a Bézier curve; 'Z' closes.
type segment struct {
	op byte
	p  [3]point
}

func (p *path) move(x, y float64) { *p = append(*p, segment{'M', [3]point{2: {x, y}}}) }
func (p *path) line(x, y float64) { *p = append(*p, segment{'L', [3]point{2: {x, y}}}) }
func (p *path) close()            { *p = append(*p, segment{op: 'Z'}) }
func (p *path) curve(x1, y1, x2, y2, x, y float64) {
	*p = append(*p, segment{'C', [3]point{{x1, y1}, {x2, y2}, {x, y}}})
}

func polygon(points ...point) path {
	var p path
	for i, at := range points {
		if i == 0 {
			p.move(at.x, at.y)
		} else {
			p.line(at.x, at.y)
		}
	}
	p.close()
	return p
}

func (s *scene) add(items ...item) { s.items = append(s.items, items...) }

// put draws another scene with its upper left corner at (x, y).
func (s *scene) put(other *scene, x, y float64) {
	for _, it := range other.items {
		it.at = point{it.at.x + x, it.at.y + y}
		it.path = append(path{}, it.path...)
		for i := range it.path {
			for j := range it.path[i].p {
				it.path[i].p[j].x += x
				it.path[i].p[j].y += y
			}
		}
		s.add(it)
	}
}

func (s *scene) words(x, y, size float64, ink ink, to align, words string) {
	s.add(item{kind: text, ink: ink, at: point{x, y}, size: size, align: to, text: words})
}

// wordsWidth is about how wide a text is.
func wordsWidth(words string, size float64) float64 {
	return 0.5 * size * float64(utf8.RuneCountInString(words))
}

// plain is a text on one line without control characters, cut where it is longer than n characters.
func plain(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError:
			return '�'
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
			return ' '
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
