package report

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
)

// svg writes the scene as an element for an HTML page that has the styles of its inks. All text in it is escaped.
func (s *scene) svg() template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %s %s" role="img" aria-label="%s">`, decimal(s.width), decimal(s.height), template.HTMLEscapeString(plain(s.label, 300)))
	b.WriteByte('\n')
	for _, it := range s.items {
		it.svg(&b)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) // every text went through HTMLEscapeString, the rest are numbers
}

func (it item) svg(b *strings.Builder) {
	attributes := fmt.Sprintf(` class="%s`, it.ink.class())
	switch {
	case it.kind == stroke && it.title != "":
		attributes += ` l t"`
	case it.kind == stroke:
		attributes += ` l"`
	case it.hollow:
		attributes += ` h"`
	default:
		attributes += ` f"`
	}
	if it.opacity > 0 {
		attributes += ` opacity="` + strconv.FormatFloat(it.opacity, 'g', 2, 64) + `"`
	}
	title := ""
	if it.title != "" {
		title = "<title>" + template.HTMLEscapeString(plain(it.title, 300)) + "</title>"
	}
	element := "path"
	switch it.kind {
	case stroke, fill:
		attributes += ` d="` + it.path.svg() + `"`
		if it.kind == stroke {
			attributes += ` stroke-width="` + decimal(it.width) + `"`
		}
		if it.dash {
			attributes += ` stroke-dasharray="4 3"`
		}
	case dot:
		element = "circle"
		attributes += fmt.Sprintf(` cx="%s" cy="%s" r="%s"`, decimal(it.at.x), decimal(it.at.y), decimal(it.radius))
	case text:
		element = "text"
		attributes += fmt.Sprintf(` x="%s" y="%s" font-size="%s"`, decimal(it.at.x), decimal(it.at.y), decimal(it.size))
		if it.align != toLeft {
			attributes += ` text-anchor="` + map[align]string{toMiddle: "middle", toRight: "end"}[it.align] + `"`
		}
		if it.bold {
			attributes += ` font-weight="600"`
		}
		if it.upward {
			attributes += fmt.Sprintf(` transform="rotate(-90 %s %s)"`, decimal(it.at.x), decimal(it.at.y))
		}
		title += template.HTMLEscapeString(plain(it.text, 200))
	}
	if title == "" {
		fmt.Fprintf(b, "<%s%s/>\n", element, attributes)
	} else {
		fmt.Fprintf(b, "<%s%s>%s</%s>\n", element, attributes, title, element)
	}
}

func (p path) svg() string {
	var b strings.Builder
	for _, s := range p {
		b.WriteByte(s.op)
		from := 2
		switch s.op {
		case 'Z':
			continue
		case 'C':
			from = 0
		}
		for i, at := range s.p[from:] {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(decimal(at.x) + " " + decimal(at.y))
		}
	}
	return b.String()
}

// decimal has one digit after the point where it is needed.
func decimal(x float64) string {
	s := strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
	if s == "-0" {
		return "0"
	}
	return s
}
