package pbt

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
)

// Holder is implemented by trainees that consist of objects of their own, such as an agent and an environment.
type Holder interface {
	// Holds returns the objects that no other member may hold, by what they are: "agent", "environment".
	Holds() map[string][]any
}

// apart wraps Options.New. It is an error if New returns a trainee that another member has, or that the member has
// already, and if the trainee holds an object of another member ([Holder]). Such a trainee is not closed, because Close
// would close what the other member uses.
func apart(build func(m Member) (Trainee, error)) func(m Member) (Trainee, error) {
	var lock sync.Mutex
	members := map[int]map[string][]any{}
	return func(m Member) (Trainee, error) {
		t, err := build(m)
		if err != nil || t == nil {
			return t, err
		}
		own := map[string][]any{}
		if h, ok := t.(Holder); ok {
			maps.Copy(own, h.Holds())
		}
		own["trainee"] = []any{t}
		lock.Lock()
		defer lock.Unlock()
		for _, other := range slices.Sorted(maps.Keys(members)) {
			for _, what := range slices.Sorted(maps.Keys(own)) {
				x := shared(own[what], members[other][what])
				switch {
				case x == nil || other == m.ID && what != "trainee":
				case other == m.ID:
					return nil, fmt.Errorf("Options.New returned the trainee (%T) that member %d has already; New must build a new one", x, m.ID)
				default:
					return nil, fmt.Errorf("members %d and %d have the same %s (%T); Options.New must build a new one for each member",
						other, m.ID, what, x)
				}
			}
		}
		members[m.ID] = own
		return t, nil
	}
}

// shared returns the first object of both lists, nil for none.
func shared(a, b []any) any {
	for _, x := range a {
		for _, y := range b {
			if sameObject(x, y) {
				return x
			}
		}
	}
	return nil
}

// sameObject reports whether x and y are one object. Values that are no pointers are copies, and pointers to types without
// size may be equal by chance.
func sameObject(x, y any) bool {
	v, w := reflect.ValueOf(x), reflect.ValueOf(y)
	if v.Kind() != reflect.Pointer || w.Kind() != reflect.Pointer || v.Type() != w.Type() {
		return false
	}
	return v.Type().Elem().Size() > 0 && v.Pointer() == w.Pointer()
}
