package mujoco

/*
#include "engine.h"

// gm_push changes the velocities of simulation i by an impulse (3, N·s, in the world) at the centre of mass of a body:
// by M⁻¹ Jᵀ p. work has room for nv numbers. It returns -1, or i where MuJoCo raised an error.
int gm_push(gm_batch* b, int i, int body, const double* impulse, double* work, char* message);
*/
import "C"

import (
	"cmp"
	"fmt"
)

// Push applies an impulse in N·s, along the world's x, y and z, to the centre of mass of a body of environment i. The
// root of a character is body 1.
//
// The velocities of the whole model change at once by M⁻¹Jᵀp, the limit of a short force. Contacts react in the next
// step. No force remains after the push. The current observation does not show the push: the policy sees the effect
// after the next step. If the impulse is not finite or the body does not exist, Push returns an error and changes
// nothing. The random pushes of [PushConfig] are made in signals.go.
func (e *Env) Push(i, body int, impulse [3]float64) error {
	if err := cmp.Or(e.has(i), e.ready()); err != nil {
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
	work := make([]C.double, e.model.NV())
	p := [3]C.double{C.double(impulse[0]), C.double(impulse[1]), C.double(impulse[2])}
	failed := C.gm_push(e.batch.c, C.int(i), C.int(body), &p[0], &work[0], e.batch.message[0])
	if err := e.batch.failure("push", 0, int(failed)); err != nil {
		return err
	}
	return e.batch.forward(0, i, i+1)
}
