// Package panics turns panics of user code into errors that say where the code panicked.
package panics

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

// Error is a panic of user code. Packages envs and pbt export it as PanicError.
type Error struct {
	// What is the name of the code that panicked, such as "environment 3 (*main.arena)". It is "" if the error that
	// wraps this one names the code.
	What string
	// Env is the environment's index in a batch of single environments, otherwise -1.
	Env int
	// Value is the argument of panic.
	Value any
	// Stack is the goroutine's stack at the panic, as debug.Stack formats it.
	Stack []byte

	at string // the frames that the text shows
}

// Error says what panicked, with which value and in which functions. The text has no addresses, because journals must
// be reproducible.
func (e *Error) Error() string {
	text := fmt.Sprintf("panic: %v", e.Value)
	if e.What != "" {
		text = fmt.Sprintf("%s panicked: %v", e.What, e.Value)
	}
	if e.at != "" {
		text += " at " + e.at
	}
	return text
}

// Unwrap returns the value if it is an error, otherwise nil.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Catch calls f and returns its panic, or nil if f returns. Catch allocates nothing unless f panics.
func Catch(f func()) (p *Error) {
	defer func() {
		if v := recover(); v != nil {
			p = &Error{Env: -1, Value: v, Stack: debug.Stack(), at: frames()}
		}
	}()
	f()
	return nil
}

// Guard calls f and returns its error, or its panic as an [*Error] with the name what.
func Guard(what string, f func() error) (err error) {
	if p := Catch(func() { err = f() }); p != nil {
		p.What = what
		return p
	}
	return err
}

const (
	module = "github.com/gorl-dev/gorl/"
	shown  = 3 // frames in the text
)

var closure = regexp.MustCompile(`\.func\d.*`)

// frames lists the origin of the panic that is being recovered, innermost first: the function that panicked, and its
// first callers in user code. It leaves out frames of the runtime, and those of gorl that called user code.
func frames() string {
	pcs := make([]uintptr, 64)
	pcs = pcs[:runtime.Callers(0, pcs)]
	var all []runtime.Frame
	panicking := false
	for from := runtime.CallersFrames(pcs); ; {
		f, more := from.Next()
		switch {
		case f.Function == module+"internal/panics.Catch":
			more = false
		case f.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(f.Function, "runtime."):
			all = append(all, f)
		}
		if !more {
			break
		}
	}
	var texts []string
	user := all // without gorl's frames at the end, which called the user's code
	for len(user) > 0 && own(user[len(user)-1]) {
		user = user[:len(user)-1]
	}
	if len(user) == 0 {
		user = all
	}
	for i, f := range user {
		if len(texts) < shown && (i == 0 || !own(f) || own(user[len(user)-1])) {
			// Name a closure by the function around it, because the compiler numbers inlined closures differently.
			name := closure.ReplaceAllString(path.Base(f.Function), "")
			texts = append(texts, fmt.Sprintf("%s (%s:%d)", name, filepath.Base(f.File), f.Line))
		}
	}
	return strings.Join(texts, ", ")
}

// own reports whether a frame belongs to gorl and not to gorl's tests.
func own(f runtime.Frame) bool {
	return strings.HasPrefix(f.Function, module) && !strings.HasSuffix(f.File, "_test.go")
}
