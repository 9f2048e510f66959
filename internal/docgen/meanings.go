package docgen

import (
	"go/ast"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// meanings returns the comments of all fields with a yaml tag in the structs of packages, by
// "package.Type.key". root is the repository's folder, and packages are paths in it. A field without a comment has that
// of the field before. Names of fields are replaced by their keys.
func meanings(root string, packages ...string) (map[string]string, error) {
	all := map[string]string{}
	keys := map[string]string{} // key by Go name; "" if structs differ
	declared := map[string]*ast.StructType{}
	for _, p := range packages {
		types, err := structs(filepath.Join(root, filepath.FromSlash(p)))
		if err != nil {
			return nil, err
		}
		for name, s := range types {
			declared[p+"."+name] = s
			for _, f := range s.Fields.List {
				if len(f.Names) == 0 || keyOf(f) == "" {
					continue
				}
				name := f.Names[0].Name
				if known, ok := keys[name]; ok && known != keyOf(f) {
					keys[name] = ""
				} else {
					keys[name] = keyOf(f)
				}
			}
		}
	}
	for at, s := range declared {
		siblings, text := siblings(declared, at), ""
		for _, f := range s.Fields.List {
			if keyOf(f) == "" {
				continue
			}
			if f.Doc != nil {
				text = word.ReplaceAllStringFunc(firstParagraph(f.Doc), func(w string) string {
					key := siblings[w]
					inner := strings.IndexFunc(w[1:], unicode.IsUpper)
					if key == "" && inner >= 0 && !strings.HasPrefix(w, "\"") {
						key = keys[w] // a word with a capital inside is a Go name
					}
					if key == "" {
						return w
					}
					return "`" + key + "`"
				})
				text = link.ReplaceAllString(text, "`$1`")
			}
			if text != "" {
				all[at+"."+keyOf(f)] = text
			}
		}
	}
	return all, nil
}

// keyOf returns the key of a field, or "".
func keyOf(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	tag, _ := strconv.Unquote(f.Tag.Value)
	key, _, _ := strings.Cut(reflect.StructTag(tag).Get("yaml"), ",")
	return strings.TrimPrefix(key, "-")
}

// siblings returns the keys of a struct and of the structs that it embeds, by Go name. at is "package.Type", with all
// or the last element of the package's path.
func siblings(declared map[string]*ast.StructType, at string) map[string]string {
	own, all := map[string]string{}, map[string]string{}
	for other, s := range declared {
		if other != at && path.Base(other) != at {
			continue
		}
		for _, f := range s.Fields.List {
			if len(f.Names) > 0 {
				own[f.Names[0].Name] = keyOf(f)
				continue
			}
			switch t := f.Type.(type) {
			case *ast.Ident:
				maps.Copy(all, siblings(declared, other[:strings.LastIndexByte(other, '.')+1]+t.Name))
			case *ast.SelectorExpr:
				maps.Copy(all, siblings(declared, t.X.(*ast.Ident).Name+"."+t.Sel.Name))
			}
		}
	}
	maps.Copy(all, own)
	return all
}
