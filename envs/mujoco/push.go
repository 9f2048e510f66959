package mujoco

/*
#include "engine.h"

// gm_push changes the velocities of simulation i by an impulse (3, N·s, in the world) at the centre of mass of a body:
// by M⁻¹ Jᵀ p. work has room for nv numbers. It returns -1, or i where MuJoCo raised an error.
int gm_push(gm_batch* b, int i, int body, const double* impulse, double* work, char* message);
*/
import "C"

import (
	"errors"
	"fmt"
)

// Push gives a body of environment i an impulse in N·s, x, y and z in the world, at its centre of mass: the velocities
// of the whole model change at once as the masses and joints that hang on it demand (by M⁻¹Jᵀp, the limit of a short
// force), and contacts answer in the next step. Nothing of it stays on. What the policy sees next is from before the
// push. The root of a character is body 1. Numbers that are not finite and bodies that do not exist are errors, and
// nothing happens.
func (e *Env) Push(i, body int, impulse [3]float64) error {
	if err := e.has(i); err != nil {
		return err
	}
	if body < 1 || body >= e.model.NumBodies() {
		return fmt.Errorf("mujoco: a push of body %d; the model has the bodies 1 to %d", body, e.model.NumBodies()-1)
	}
	for _, v := range impulse {
		if v-v != 0 {
			return fmt.Errorf("mujoco: a push of %g N·s; it must be finite", impulse)
		}
	}
	if !e.started {
		return errors.New("mujoco: Reset before a push")
	}
	work := make([]C.double, e.model.NV())
	p := [3]C.double{C.double(impulse[0]), C.double(impulse[1]), C.double(impulse[2])}
	failed := C.gm_push(e.batch.c, C.int(i), C.int(body), &p[0], &work[0], e.batch.message[0])
	if err := e.batch.failure("push", 0, int(failed)); err != nil {
		return err
	}
	return e.batch.forward(i, i+1)
}
