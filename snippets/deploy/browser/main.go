//go:build js

// Command browser is a policy in a web page: it gives JavaScript the function gorlPolicy(bytes), which reads a policy's
// file and returns a function from observations to actions.
//
//	GOOS=js GOARCH=wasm go build -o policy.wasm ./snippets/deploy/browser
//
// Serve it beside index.html, policy.safetensors and Go's lib/wasm/wasm_exec.js.
package main

import (
	"syscall/js"

	"github.com/gorl-dev/gorl/infer"
)

func main() {
	js.Global().Set("gorlPolicy", js.FuncOf(func(_ js.Value, args []js.Value) any {
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

// function returns act(observation), which returns an array, or an Error.
func function(policy *infer.Policy) js.Func {
	sp := policy.Spaces()
	observation, action := make([]float32, sp.Observation.Width()), make([]float32, sp.Action.Width())
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		for i := range observation {
			observation[i] = float32(args[0].Index(i).Float())
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
}

func failed(err error) js.Value { return js.Global().Get("Error").New(err.Error()) }
