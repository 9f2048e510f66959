// Command act FOLDER N has policies act in N environments, as a program for a machine without libtorch does: FOLDER's
// file seen has what each policy sees, and actions is what they do, both by encoding/gob. TestAgreesElsewhere builds
// and runs it.
package main

import (
	"encoding/gob"
	"log"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gorl-dev/gorl/infer"
)

// seen is what one policy sees: rows of observations and action masks, N a step, and a 1 for every row after which the
// episode ends.
type seen struct {
	Policy              []byte
	Observations, Masks []float32
	Ended               []byte
}

func main() {
	n, err := strconv.Atoi(os.Args[2])
	check(err)
	in, err := os.Open(filepath.Join(os.Args[1], "seen"))
	check(err)
	var all []seen
	check(gob.NewDecoder(in).Decode(&all))
	actions := make([][]float32, len(all))
	for i, c := range all {
		actions[i], err = act(c, n)
		check(err)
	}
	out, err := os.Create(filepath.Join(os.Args[1], "actions"))
	check(err)
	check(gob.NewEncoder(out).Encode(actions))
	check(out.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func act(c seen, n int) ([]float32, error) {
	policy, err := infer.Decode(c.Policy)
	if err != nil {
		return nil, err
	}
	sp := policy.Spaces()
	w, a, k := sp.Observation.Width(), sp.Action.Width(), sp.ActionMask.Width()
	actions := make([]float32, len(c.Ended)*a)
	for at := 0; at < len(c.Ended); at += n {
		err := policy.ActMasked(c.Observations[at*w:(at+n)*w], c.Masks[at*k:(at+n)*k], nil, actions[at*a:(at+n)*a])
		if err != nil {
			return nil, err
		}
		for i, end := range c.Ended[at : at+n] {
			if end == 1 {
				if err := policy.Reset(i); err != nil {
					return nil, err
				}
			}
		}
	}
	return actions, nil
}
