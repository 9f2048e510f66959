package docgen

import (
	"go/ast"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// meanings returns the comments of all fields with a yaml tag in the structs of packages, by
// "package.Type.key". root is the repository's folder, and packages are paths in it.
func meanings(root string, packages ...string) (map[string]string, error) {
	all := map[string]string{}
	keys := map[string]string{} // key by Go name; "" if structs differ
	var comments []comment
	for _, p := range packages {
		types, err := structs(filepath.Join(root, filepath.FromSlash(p)))
		if err != nil {
			return nil, err
		}
		for name, s := range types {
			comments = append(comments, commentsOf(p+"."+name+".", s, keys)...)
		}
	}
	for _, c := range comments {
		text := word.ReplaceAllStringFunc(c.text, func(w string) string {
			key := c.siblings[w]
			inner := strings.IndexFunc(w[1:], unicode.IsUpper)
			if key == "" && inner > 0 && !strings.HasPrefix(w, "\"") {
				key = keys[w] // a word with a capital inside is a Go name
			}
			if key == "" {
				return w
			}
			return "`" + key + "`"
		})
		all[c.at] = saysDefault.ReplaceAllString(link.ReplaceAllString(text, "`$1`"), "$3")
	}
	return all, nil
}

// comment is the comment of a field.
type comment struct {
	at, text string
	siblings map[string]string // keys of the same struct, by Go name
}

// commentsOf returns the comments of a struct's fields and adds their names to keys. A field without a comment has that
// of the field before.
func commentsOf(prefix string, s *ast.StructType, keys map[string]string) (list []comment) {
	siblings := map[string]string{}
	text := ""
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			continue
		}
		tag, _ := strconv.Unquote(f.Tag.Value)
		key, _, _ := strings.Cut(reflect.StructTag(tag).Get("yaml"), ",")
		if key == "" || key == "-" {
			continue
		}
		if f.Doc != nil {
			text = firstParagraph(f.Doc)
		}
		for _, name := range names(f) {
			if known, ok := keys[name]; ok && known != key {
				keys[name] = ""
			} else {
				keys[name] = key
			}
			siblings[name] = key
		}
		if text != "" {
			list = append(list, comment{prefix + key, text, siblings})
		}
	}
	return slices.Clip(list)
}
