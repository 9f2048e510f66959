// The guard that turns MuJoCo's fatal errors into return values.

#include "guard.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

// MuJoCo reports fatal errors to one process-wide handler, and exits if the handler returns. This handler jumps back to
// the guard of the calling thread. A thread without a guard is not in a call of this package: its error goes to the
// handler that was installed before.
__thread jmp_buf gm_back;
__thread int gm_guarded = 0;
static __thread char gm_message[GM_MESSAGE];
static int gm_count = 0;
static void (*gm_previous)(const char*) = NULL;

static void on_error(const char* text) {
  if (gm_guarded) {
    snprintf(gm_message, GM_MESSAGE, "%s", text);
    longjmp(gm_back, 1);
  }
  if (gm_previous) {
    gm_previous(text);
    return;
  }
  fprintf(stderr, "mujoco: %s\n", text);
  abort();
}

// Warnings are counted in every mjData; without a handler MuJoCo would also write a log file into the working folder.
static void on_warning(const char* text) { (void)text; }

static void install(void) {
  gm_previous = mju_user_error;
  mju_user_error = on_error;
  if (!mju_user_warning) mju_user_warning = on_warning;
}

void gm_install(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
}

void gm_take_message(char* message) { snprintf(message, GM_MESSAGE, "%s", gm_message); }

// gm_live is the number of models and simulations that have been made and not freed.
int gm_live(void) { return __atomic_load_n(&gm_count, __ATOMIC_SEQ_CST); }
void gm_counted(int by) { __atomic_add_fetch(&gm_count, by, __ATOMIC_SEQ_CST); }
