package mjcf

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxDepth is the nesting of elements above which a document is refused.
const maxDepth = 200

// Element is an element of a document.
type Element struct {
	Name       string
	Attributes []xml.Attr
	Children   []*Element
	// file and line are where the element was read, for errors.
	file string
	line int
}

// New returns an element with attributes given as name, value, name, value.
func New(name string, attributes ...string) *Element {
	e := &Element{Name: name}
	for i := 0; i+1 < len(attributes); i += 2 {
		e.Set(attributes[i], attributes[i+1])
	}
	return e
}

// Get returns an attribute, or "" if there is none.
func (e *Element) Get(name string) string {
	for _, a := range e.Attributes {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// Set changes an attribute, or adds it.
func (e *Element) Set(name, value string) {
	for i := range e.Attributes {
		if e.Attributes[i].Name.Local == name {
			e.Attributes[i].Value = value
			return
		}
	}
	e.Attributes = append(e.Attributes, xml.Attr{Name: xml.Name{Local: name}, Value: value})
}

// Drop removes attributes.
func (e *Element) Drop(names ...string) {
	e.Attributes = slices.DeleteFunc(e.Attributes,
		func(a xml.Attr) bool { return slices.Contains(names, a.Name.Local) })
}

// Remove removes the children of the given names.
func (e *Element) Remove(names ...string) {
	e.Children = slices.DeleteFunc(e.Children, func(c *Element) bool { return slices.Contains(names, c.Name) })
}

// All visits the element and everything in it, parents first. parent is nil for the element itself.
func (e *Element) All(yield func(parent, e *Element) bool) { e.all(nil, yield) }

func (e *Element) all(parent *Element, yield func(parent, e *Element) bool) bool {
	if !yield(parent, e) {
		return false
	}
	for _, c := range slices.Clone(e.Children) {
		if !c.all(e, yield) {
			return false
		}
	}
	return true
}

// Find returns the element of a kind with the name given, and its parent. Both are nil if there is none. Elements of
// the default section have no names, so they are not found.
func (e *Element) Find(kind, name string) (parent, found *Element) {
	for p, c := range e.All {
		if c.Name == kind && c.Get("name") == name {
			return p, c
		}
	}
	return nil, nil
}

// where returns the file, line and name of the element, for errors.
func (e *Element) where() string { return fmt.Sprintf("%s:%d: <%s>", e.file, e.line, e.Name) }

// parse reads a document. file is its name for errors.
func parse(file string, text []byte) (*Element, error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // ASCII in practice
	var stack []*Element
	var root *Element
	for {
		line, _ := d.InputPos()
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			e := &Element{Name: t.Name.Local, Attributes: t.Attr, file: file, line: line}
			for i, a := range t.Attr {
				if slices.ContainsFunc(t.Attr[:i], func(b xml.Attr) bool { return a.Name.Local == b.Name.Local }) {
					return nil, fmt.Errorf("%s: the attribute %s is given twice", e.where(), a.Name.Local)
				}
				t.Attr[i].Value = strings.Join(strings.Fields(a.Value), " ") // MuJoCo 2.2 miscounts ends of lines
			}
			switch {
			case len(stack) >= maxDepth:
				return nil, fmt.Errorf("%s: elements are nested more than %d deep", e.where(), maxDepth)
			case len(stack) > 0:
				top := stack[len(stack)-1]
				top.Children = append(top.Children, e)
			case root != nil:
				return nil, fmt.Errorf("%s: a document has one root element, this is another", e.where())
			default:
				root = e
			}
			stack = append(stack, e)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		}
	}
	if root == nil {
		return nil, fmt.Errorf("%s: there is no element in it; want <mujoco>", file)
	}
	return root, nil
}

// Text returns the document as MJCF text.
func (e *Element) Text() string {
	var b strings.Builder
	e.write(&b, 0)
	return b.String()
}

func (e *Element) write(b *strings.Builder, depth int) {
	indent := strings.Repeat("  ", depth)
	b.WriteString(indent + "<" + e.Name)
	for _, a := range e.Attributes {
		b.WriteString(" " + a.Name.Local + `="`)
		_ = xml.EscapeText(b, []byte(a.Value)) // a Builder does not fail
		b.WriteString(`"`)
	}
	if len(e.Children) == 0 {
		b.WriteString("/>\n")
		return
	}
	b.WriteString(">\n")
	for _, c := range e.Children {
		c.write(b, depth+1)
	}
	b.WriteString(indent + "</" + e.Name + ">\n")
}

// Parse reads a document of MJCF text. It expands no includes.
func Parse(text []byte) (*Element, error) { return parse("MJCF text", text) }
