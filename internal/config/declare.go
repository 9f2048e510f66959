package config

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"strings"
	"sync"
)

// Declaration is what [Declare] was called with.
type Declaration struct {
	// Defaults is a struct with the default settings.
	Defaults any
	// Others are further keys that files may have, such as older names.
	Others []string
}

// declared holds all declarations by kind and name.
var (
	declaring sync.RWMutex
	declared  = map[string]map[string]Declaration{}
)

// Declare makes the settings of something that files call by name known to `gorl list` and `gorl schema`. kind is what
// is called so, for example "environments". A later call for the same name replaces the earlier one.
func Declare(kind, name string, defaults any, others ...string) {
	declaring.Lock()
	defer declaring.Unlock()
	if declared[kind] == nil {
		declared[kind] = map[string]Declaration{}
	}
	declared[kind][name] = Declaration{defaults, others}
}

// Declared returns the declarations of a kind by name.
func Declared(kind string) map[string]Declaration {
	declaring.RLock()
	defer declaring.RUnlock()
	return maps.Clone(declared[kind])
}

// meanings.json has the comments of all configuration structs in gorl's source, by package, type and key:
// "trainers.Config.timesteps". `go test ./internal/docgen -update` writes it.
//
//go:embed meanings.json
var meaningsText []byte

var meanings = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	if err := json.Unmarshal(meaningsText, &all); err != nil {
		panic(fmt.Sprintf("config: meanings.json: %v", err)) // a test reads the file
	}
	return all
})

// module begins the paths of gorl's packages.
var module = strings.TrimSuffix(reflect.TypeFor[Error]().PkgPath(), "internal/config")

// meaning returns the comment of the field of a struct type that index leads to. It is empty for structs of programs
// that use gorl.
func meaning(t reflect.Type, index []int, key string) string {
	for _, i := range index[:len(index)-1] {
		t = t.Field(i).Type
	}
	name, _, _ := strings.Cut(t.Name(), "[") // a generic type
	return meanings()[path.Join(strings.TrimPrefix(t.PkgPath(), module), ".")+"."+name+"."+key]
}
