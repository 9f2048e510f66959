// The guard that turns MuJoCo's fatal errors into return values, and the count of models and simulations in memory.
#ifndef GORL_MUJOCO_GUARD_H_
#define GORL_MUJOCO_GUARD_H_

#include "engine.h"

#include <setjmp.h>

extern __thread jmp_buf gm_back;
extern __thread int gm_guarded;

// setjmp must be called by the function that is to be returned to, hence macros.
#define GUARD() (gm_guarded = 1, setjmp(gm_back))
#define UNGUARD() (gm_guarded = 0)

// gm_take_message copies the words of the calling thread's last error.
void gm_take_message(char* message);

// gm_counted adds to the number of models and simulations that gm_live returns.
void gm_counted(int by);

#endif
