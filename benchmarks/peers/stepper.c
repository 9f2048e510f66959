/* Steps N copies of one MuJoCo model on some threads, for the Python side of the characters'
   benchmarks: what a user of skrl would write to step MuJoCo fast, without leaving C between
   the control and the new state. The threads live as long as the library's state. */
#include <mujoco/mujoco.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static mjModel *model;
static mjData **data;
static int count, threads, substeps;

static pthread_barrier_t begin, end;
static const double *controls;
static double *positions, *velocities;
static double *bodies;         /* [n, nbody, 3], or NULL */
static unsigned char *touches; /* [n, nbody] */

/* Writes where the bodies of copy i are, and which of them touch another one. */
static void report(int i) {
  const mjData *d = data[i];
  unsigned char *touch = touches + (size_t)i * model->nbody;
  memcpy(bodies + (size_t)i * model->nbody * 3, d->xpos, 3 * model->nbody * sizeof(double));
  memset(touch, 0, model->nbody);
  for (int c = 0; c < d->ncon; c++)
    touch[model->geom_bodyid[d->contact[c].geom1]] = touch[model->geom_bodyid[d->contact[c].geom2]] = 1;
}

static void step_range(int from, int to) {
  for (int i = from; i < to; i++) {
    mjData *d = data[i];
    memcpy(d->ctrl, controls + (size_t)i * model->nu, model->nu * sizeof(double));
    if (bodies) { /* the work of mj_step in another order: bodies and contacts are those of the new state */
      for (int k = 0; k < substeps; k++) {
        mj_step2(model, d);
        mj_step1(model, d);
      }
      report(i);
    } else {
      for (int k = 0; k < substeps; k++) mj_step(model, d);
    }
    memcpy(positions + (size_t)i * model->nq, d->qpos, model->nq * sizeof(double));
    memcpy(velocities + (size_t)i * model->nv, d->qvel, model->nv * sizeof(double));
  }
}

static void *worker(void *argument) {
  int k = (int)(size_t)argument;
  for (;;) {
    pthread_barrier_wait(&begin);
    step_range(count * k / threads, count * (k + 1) / threads);
    pthread_barrier_wait(&end);
  }
  return NULL;
}

/* Loads the model and makes the copies. Returns 0, or 1 with the reason in message. */
int stepper_open(const char *path, int n, int with_threads, int with_substeps, char *message, int size) {
  model = mj_loadXML(path, NULL, message, size);
  if (!model) return 1;
  count = n;
  threads = with_threads < 1 ? 1 : with_threads;
  substeps = with_substeps;
  data = malloc(n * sizeof *data);
  for (int i = 0; i < n; i++) data[i] = mj_makeData(model);
  pthread_barrier_init(&begin, NULL, threads);
  pthread_barrier_init(&end, NULL, threads);
  for (int k = 1; k < threads; k++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, (void *)(size_t)k)) {
      strncpy(message, "pthread_create failed", size);
      return 1;
    }
  }
  return 0;
}

/* Has every step and set after it also write where the bodies are, place [n, nbody, 3], and which of them touch
   another one, touch [n, nbody]. NULL ends that. */
void stepper_observe(double *place, unsigned char *touch) {
  bodies = place;
  touches = touch;
}

/* Steps every copy: control [n, nu] in, position [n, nq] and velocity [n, nv] out. */
void stepper_step(const double *control, double *position, double *velocity) {
  controls = control;
  positions = position;
  velocities = velocity;
  if (threads > 1) pthread_barrier_wait(&begin);
  step_range(0, count / threads);
  if (threads > 1) pthread_barrier_wait(&end);
}

/* Puts one copy into a state. */
void stepper_set(int i, const double *position, const double *velocity) {
  mj_resetData(model, data[i]);
  memcpy(data[i]->qpos, position, model->nq * sizeof(double));
  memcpy(data[i]->qvel, velocity, model->nv * sizeof(double));
  mj_forward(model, data[i]);
  if (bodies) report(i);
}
