package docgen

import (
	"fmt"
	"go/ast"
	"reflect"
	"strings"
)

// Field is one exported field of a Go struct.
type Field struct {
	Name, Type string
	// Meaning is the field's comment on one line. Of several fields with one comment the first has it; for the others Same
	// is the first one's name.
	Meaning, Same string
}

// Fields lists the exported fields of a struct in the order of its source. root and module are as in [Settings].
func Fields(root, module string, v any) ([]Field, error) {
	t := reflect.TypeOf(v)
	d := describer{root: root, module: module, files: map[string]map[string]*ast.StructType{}}
	source, err := d.source(t)
	if err != nil {
		return nil, err
	}
	var list []Field
	same := ""
	for _, f := range source.Fields.List {
		comment := firstParagraph(f.Doc)
		for _, name := range names(f) {
			if !ast.IsExported(name) {
				continue
			}
			sf, ok := t.FieldByName(name)
			if !ok {
				return nil, fmt.Errorf("docgen: %v has no field %s", t, name)
			}
			x := Field{Name: name, Type: sf.Type.String(), Meaning: link.ReplaceAllString(comment, "`$1`")}
			switch {
			case comment != "":
				same, comment = name, ""
			case same == "":
				return nil, fmt.Errorf("docgen: %s of %v has no comment", name, t)
			default:
				x.Same = same
			}
			list = append(list, x)
		}
	}
	return list, nil
}

// FieldTable writes fields as a Markdown table.
func FieldTable(list []Field) string {
	var b strings.Builder
	b.WriteString("| field | type | meaning |\n|---|---|---|\n")
	for _, f := range list {
		meaning := strings.TrimPrefix(f.Meaning, f.Name+" is ") // the row says so already
		if meaning == "" {
			meaning = "see `" + f.Same + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", f.Name, f.Type, cell(meaning))
	}
	return b.String()
}
