// Models and batches of simulations.

#include "guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mjVFS* gm_new_files(void) {
  mjVFS* files = malloc(sizeof *files);
  if (files) mj_defaultVFS(files);
  return files;
}

void gm_free_files(mjVFS* files) {
  if (!files) return;
  mj_deleteVFS(files);
  free(files);
}

int gm_add_file(mjVFS* files, const char* name, const void* data, int length) {
  return gm_add_buffer(files, name, data, length);
}

// share_weights gives a massless body without joints the constraint weights of the body that it is fixed to. LoadBody
// makes such bodies of feet. Their contacts are then as soft as in the file's own model. MuJoCo's own weights of a
// massless body depend on its version: at the end of a leg 1.4 times those of the leg in 2.2.2, and 3.7 times in 3.11.
static void share_weights(mjModel* m) {
  for (int i = 1; i < m->nbody; i++) {
    if (m->body_dofnum[i] == 0 && m->body_mass[i] == 0 && m->body_parentid[i] > 0) {
      memcpy(m->body_invweight0 + 2 * i, m->body_invweight0 + 2 * m->body_parentid[i], 2 * sizeof(mjtNum));
    }
  }
}

gm_model* gm_load(const char* path, const mjVFS* files, char* message) {
  gm_install();
  message[0] = 0;
  gm_model* volatile g = calloc(1, sizeof *g);
  if (!g) goto memory;
  if (GUARD()) {
    UNGUARD();
    gm_take_message(message);
    goto fail;
  }
  g->m = mj_loadXML(path, files, message, GM_MESSAGE);
  UNGUARD();
  if (!g->m) goto fail;
  share_weights(g->m);
  if (gm_plan_make(g)) goto memory;
  g->fast = gm_implicit_applies(g->m);
  gm_counted(1);
  return g;
memory:
  snprintf(message, GM_MESSAGE, "out of memory");
fail:
  if (g) {
    if (g->m) mj_deleteModel(g->m);
    free(g->plan.count);
    free(g->plan.list);
    free((void*)g);
  }
  return NULL;
}

void gm_free_model(gm_model* g) {
  if (!g) return;
  mj_deleteModel(g->m);
  free(g->plan.count);
  free(g->plan.list);
  free(g);
  gm_counted(-1);
}

// gm_model_bytes writes the compiled model in MuJoCo's binary form, or returns its size when out is null.
int gm_model_bytes(const gm_model* g, void* out, int size) {
  if (!out) return mj_sizeModel(g->m);
  mj_saveModel(g->m, NULL, out, size);
  return size;
}

void gm_free_batch(gm_batch* b) {
  if (!b) return;
  for (int i = 0; b->d && i < b->n; i++)
    if (b->d[i]) {
      mj_deleteData(b->d[i]);
      gm_counted(-1);
    }
  free(b->d);
  free(b->qpos);
  free(b->qvel);
  free(b->ctrl);
  free(b->status);
  free(b->touch);
  free(b->work);
  gm_free_variants(b->variants);
  free(b);
}

static double* doubles(size_t n) { return calloc(n ? n : 1, sizeof(double)); }

gm_batch* gm_make_batch(const gm_model* g, int n, char* message) {
  const mjModel* m = g->m;
  gm_batch* volatile b = calloc(1, sizeof *b);
  if (!b) goto memory;
  b->model = g;
  b->n = n;
  b->nwork = (gm_implicit_work(m) + 15) & ~7;
  b->d = calloc(n, sizeof *b->d);
  b->qpos = doubles((size_t)n * m->nq);
  b->qvel = doubles((size_t)n * m->nv);
  b->ctrl = doubles((size_t)n * m->nu);
  b->status = calloc(n, 1);
  b->touch = calloc((size_t)n * m->nbody, 1);
  b->work = doubles((size_t)n * b->nwork);
  if (!b->d || !b->qpos || !b->qvel || !b->ctrl || !b->status || !b->touch || !b->work) goto memory;
  if (GUARD()) {
    UNGUARD();
    gm_take_message(message);
    goto fail;
  }
  for (int i = 0; i < n; i++) {
    b->d[i] = mj_makeData(m);
    if (!b->d[i]) {
      UNGUARD();
      goto memory;
    }
    gm_counted(1);
    memcpy(b->qpos + (size_t)i * m->nq, b->d[i]->qpos, sizeof(double) * m->nq);
  }
  UNGUARD();
  return b;
memory:
  snprintf(message, GM_MESSAGE, "out of memory");
fail:
  gm_free_batch((gm_batch*)b);
  return NULL;
}

double gm_data_bytes(const gm_batch* b) { return (double)b->d[0]->nbuffer; }

// bad reports whether one of n numbers is NaN or beyond mjMAXVAL.
static inline int bad(const double* x, int n) {
  for (int i = 0; i < n; i++)
    if (!(x[i] <= mjMAXVAL && x[i] >= -mjMAXVAL)) return 1;
  return 0;
}

// position_velocity computes everything that depends on qpos and qvel only. Called after the integration, it makes body
// positions, contacts and sensors match the new state. After mj_step alone they match the state before.
static inline void position_velocity(const gm_model* g, mjData* d) {
  const mjModel* m = g->m;
  if (m->nsensor || (m->opt.enableflags & mjENBL_ENERGY) || !g->fast) {
    mj_step1(m, d);
    return;
  }
  mj_fwdPosition(m, d);
  mj_fwdVelocity(m, d);
}

// advance computes everything that depends on the controls, and integrates. It returns 1 if the simulation diverged. It
// is not for Runge-Kutta, which mj_step2 does not support.
static inline int advance(const gm_model* g, mjData* d, double* work) {
  const mjModel* m = g->m;
  if (!g->fast || (m->opt.enableflags & mjENBL_FWDINV)) {
    mj_step2(m, d);
    return d->warning[mjWARN_BADQACC].number > 0;
  }
  mj_fwdActuation(m, d);
  mj_fwdAcceleration(m, d);
  mj_fwdConstraint(m, d);
  if (m->nsensor) mj_sensorAcc(m, d);
  if (bad(d->qacc, m->nv)) return 1;
  gm_implicit(g, d, work);
  return 0;
}

// one steps simulation i of model g and returns its GM_* status. With reference it uses mj_step alone, which tests
// compare with.
static int one(gm_batch* b, const gm_model* g, int i, int substeps, int reference) {
  const mjModel* m = g->m;
  mjData* d = b->d[i];
  double* work = b->work + (size_t)i * b->nwork;
  for (int w = 0; w < mjNWARNING; w++) d->warning[w].number = 0;
  memcpy(d->ctrl, b->ctrl + (size_t)i * m->nu, sizeof(double) * m->nu);
  int plain = reference || m->opt.integrator == mjINT_RK4;
  for (int k = 0; k < substeps; k++) {
    int diverged;
    if (plain) {
      mj_step(m, d);
      diverged = d->warning[mjWARN_BADQPOS].number || d->warning[mjWARN_BADQVEL].number || d->warning[mjWARN_BADQACC].number;
    } else {
      diverged = advance(g, d, work);
    }
    if (diverged || bad(d->qpos, m->nq) || bad(d->qvel, m->nv)) return GM_DIVERGED;
    // The row takes the positions before position_velocity normalises quaternions. A simulation that is restored from
    // the row normalises them once, like this one. Normalising twice could change the last bit.
    if (k == substeps - 1) memcpy(b->qpos + (size_t)i * m->nq, d->qpos, sizeof(double) * m->nq);
    if (!plain || (!reference && k == substeps - 1)) position_velocity(g, d);
  }
  int status = GM_OK;
  if (d->warning[mjWARN_CONTACTFULL].number) status |= GM_CONTACTS_FULL;
  if (d->warning[mjWARN_CNSTRFULL].number) status |= GM_ROWS_FULL;
  return status;
}

// put copies the batch's rows of positions and velocities into simulation i.
static void put(gm_batch* b, int i) {
  const mjModel* m = b->model->m;
  mjData* d = b->d[i];
  memcpy(d->qpos, b->qpos + (size_t)i * m->nq, sizeof(double) * m->nq);
  memcpy(d->qvel, b->qvel + (size_t)i * m->nv, sizeof(double) * m->nv);
}

// touches writes the batch's row of bodies of simulation i: 2 for those that touch the world, 1 for others that touch
// another body.
static void touches(gm_batch* b, int i) {
  const mjModel* m = b->model->m;
  const mjData* d = b->d[i];
  unsigned char* touch = b->touch + (size_t)i * m->nbody;
  memset(touch, 0, m->nbody);
  for (int c = 0; c < d->ncon; c++) {
    // The index is -1 for a contact of a deformable object, which has no geom.
    int geoms[2] = {d->contact[c].geom1, d->contact[c].geom2};
    for (int k = 0; k < 2; k++) {
      if (geoms[k] < 0) continue;
      int other = geoms[1 - k], body = m->geom_bodyid[geoms[k]];
      unsigned char what = other >= 0 && m->body_weldid[m->geom_bodyid[other]] == 0 ? 2 : 1;
      if (touch[body] < what) touch[body] = what;
    }
  }
}

int gm_step(gm_batch* b, int worker, int first, int last, int substeps, int reference, char* message) {
  const mjModel* m = b->model->m;
  volatile int i = first;
  if (GUARD()) {
    UNGUARD();
    gm_take_message(message);
    mj_resetData(m, b->d[i]);
    return i;
  }
  for (; i < last; i++) {
    const gm_model* g = gm_model_of(b, worker, i);
    int status = one(b, g, i, substeps, reference);
    b->status[i] = status;
    if (status & GM_DIVERGED) {
      // Restore the state before this step, which the rows still hold, so that the caller never sees a NaN.
      mj_resetData(m, b->d[i]);
      put(b, i);
      mj_step1(g->m, b->d[i]);
      touches(b, i);
      continue;
    }
    touches(b, i);
    memcpy(b->qvel + (size_t)i * m->nv, b->d[i]->qvel, sizeof(double) * m->nv);
  }
  UNGUARD();
  return -1;
}

// gm_reset restarts the listed simulations from their rows of qpos and qvel. All other state is cleared.
int gm_reset(gm_batch* b, int worker, const int* which, int count, char* message) {
  volatile int k = 0;
  if (GUARD()) {
    UNGUARD();
    gm_take_message(message);
    return which[k];
  }
  for (; k < count; k++) {
    int i = which[k];
    mj_resetData(b->model->m, b->d[i]);
    put(b, i);
    b->status[i] = GM_OK;
    mj_forward(gm_model_of(b, worker, i)->m, b->d[i]);
    touches(b, i);
  }
  UNGUARD();
  return -1;
}

// gm_forward takes positions and velocities from the rows and recomputes what depends on them. Other state stays.
int gm_forward(gm_batch* b, int worker, int first, int last, char* message) {
  volatile int i = first;
  if (GUARD()) {
    UNGUARD();
    gm_take_message(message);
    return i;
  }
  for (; i < last; i++) {
    put(b, i);
    position_velocity(gm_model_of(b, worker, i), b->d[i]);
    touches(b, i);
  }
  UNGUARD();
  return -1;
}
