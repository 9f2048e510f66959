package pbt

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
)

// Holder is implemented by trainees that are made of several objects, such as an agent and an environment.
type Holder interface {
	// Holds returns the objects that no other member may hold, by their kind: "agent", "environment".
	Holds() map[string][]any
}

// requireDistinct wraps Options.New. It returns an error if New returns a trainee that any member already has, or a
// trainee that holds an object of another member ([Holder]). Such a trainee is closed, unless a running population
// builds the member again: Close would then close an object that the other member uses.
func requireDistinct(build func(m Member) (Trainee, error)) func(m Member) (Trainee, error) {
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
		if err := distinct(m.ID, own, members); err != nil {
			if _, rebuilt := members[m.ID]; !rebuilt { // the population is being built and does not train
				err = errors.Join(err, guarded(t.Close))
			}
			return nil, err
		}
		members[m.ID] = own
		return t, nil
	}
}

// distinct returns an error if own, the new objects of member id, has an object that a member already holds.
func distinct(id int, own map[string][]any, members map[int]map[string][]any) error {
	for _, other := range slices.Sorted(maps.Keys(members)) {
		for _, what := range slices.Sorted(maps.Keys(own)) {
			x := shared(own[what], members[other][what])
			switch {
			case x == nil || other == id && what != "trainee":
			case other == id:
				return fmt.Errorf("Options.New returned the trainee (%T) that member %d has already; New must build a new one",
					x, id)
			default:
				return fmt.Errorf("members %d and %d have the same %s (%T); Options.New must build a new one for each member",
					other, id, what, x)
			}
		}
	}
	return nil
}

// shared returns the first object that is in both lists, or nil.
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

// sameObject reports whether x and y are one object. It is false for values that are not pointers, which are copies,
// and for pointers to types of size 0, which may be equal by chance.
func sameObject(x, y any) bool {
	v, w := reflect.ValueOf(x), reflect.ValueOf(y)
	if v.Kind() != reflect.Pointer || w.Kind() != reflect.Pointer || v.Type() != w.Type() {
		return false
	}
	return v.Type().Elem().Size() > 0 && v.Pointer() == w.Pointer()
}
