package docgen

import (
	"path/filepath"
	"testing"
)

// Listed is a table in a page of docs: that of the settings of a struct.
type Listed struct {
	// Name is what the page calls the table.
	Name string
	// Defaults is the struct.
	Defaults any
	// Common is another whose settings, where they are the same, stand in a table of their own; nil for none.
	Common any
}

// HoldTables holds tables in a page of docs against the structs that are read, or writes them. Root is the repository.
func HoldTables(t *testing.T, root, page string, update bool, tables ...Listed) {
	t.Helper()
	settings := func(defaults any) []Setting {
		t.Helper()
		list, err := Settings(root, "github.com/gorl-dev/gorl", defaults)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, x := range tables {
		list := settings(x.Defaults)
		if x.Common != nil {
			list = Differing(list, settings(x.Common))
		}
		if err := Hold(filepath.Join(root, "docs", page), x.Name, Table(list), update); err != nil {
			t.Error(err)
		}
	}
}
