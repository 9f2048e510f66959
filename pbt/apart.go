package pbt

import (
	"errors"
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
// already, and if the trainee holds an object of another member ([Holder]). If the member is built again, such a trainee
// is not closed, because Close would close what the other member uses.
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
		if err := distinct(m.ID, own, members); err != nil {
			if _, rebuilt := members[m.ID]; !rebuilt { // the population does not begin to train
				err = errors.Join(err, guarded(t.Close))
			}
			return nil, err
		}
		members[m.ID] = own
		return t, nil
	}
}

// distinct compares what member id is to hold with what the members hold.
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

// sameObject reports whether x and y are one object. Values that are no pointers are copies, and pointers to types
// without size may be equal by chance.
func sameObject(x, y any) bool {
	v, w := reflect.ValueOf(x), reflect.ValueOf(y)
	if v.Kind() != reflect.Pointer || w.Kind() != reflect.Pointer || v.Type() != w.Type() {
		return false
	}
	return v.Type().Elem().Size() > 0 && v.Pointer() == w.Pointer()
}
