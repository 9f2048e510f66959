//go:build js

// Command browser is a policy in a web page: it gives JavaScript the function gorlPolicy(bytes), which reads a policy's
// file and returns a function from observations to actions.
//
//	GOOS=js GOARCH=wasm go build -o policy.wasm ./snippets/deploy/browser
//
// Serve it beside index.html, policy.safetensors and Go's lib/wasm/wasm_exec.js.
package main

import (
	"errors"
	"fmt"
	"syscall/js"

	"github.com/gorl-dev/gorl/infer"
)

func main() {
	js.Global().Set("gorlPolicy", js.FuncOf(func(_ js.Value, args []js.Value) any {
		if len(args) != 1 || !args[0].InstanceOf(js.Global().Get("Uint8Array")) {
			return failed(errors.New("gorlPolicy takes the bytes of a policy's file, a Uint8Array"))
		}
		data := make([]byte, args[0].Length())
		js.CopyBytesToGo(data, args[0])
		policy, err := infer.Decode(data)
		if err != nil {
			return failed(err)
		}
		return function(policy)
	}))
	select {} // the page calls from now on
}

// function returns act(observation), which returns an array, or an Error. act.reset() begins an episode anew, for
// policies with memory.
func function(policy *infer.Policy) js.Func {
	sp := policy.Spaces()
	observation, action := make([]float32, sp.Observation.Width()), make([]float32, sp.Action.Width())
	act := js.FuncOf(func(_ js.Value, args []js.Value) any {
		if len(args) != 1 || args[0].Type() != js.TypeObject || args[0].Get("length").Type() != js.TypeNumber ||
			args[0].Length() != len(observation) {
			return failed(fmt.Errorf("an observation is an array of %d numbers", len(observation)))
		}
		for i := range observation {
			x := args[0].Index(i)
			if x.Type() != js.TypeNumber { // which would end the program
				return failed(fmt.Errorf("number %d of the observation is %s", i, x.Type()))
			}
			observation[i] = float32(x.Float())
		}
		if err := policy.Act(observation, action); err != nil {
			return failed(err)
		}
		result := make([]any, len(action))
		for i, x := range action {
			result[i] = x
		}
		return result
	})
	act.Set("reset", js.FuncOf(func(js.Value, []js.Value) any {
		if err := policy.Reset(); err != nil {
			return failed(err)
		}
		return nil
	}))
	return act
}

func failed(err error) js.Value { return js.Global().Get("Error").New(err.Error()) }
