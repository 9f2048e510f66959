// The differences between the versions of MuJoCo that this package compiles against, from 2.2.2 to 4.0. All other
// files use what the versions have in common, and this file's functions.
#ifndef GORL_MUJOCO_VERSION_H_
#define GORL_MUJOCO_VERSION_H_

#include <mujoco/mujoco.h>

#include <string.h>

// GM_VERSION is the version of the headers as major * 1000000 + minor * 1000 + patch. MuJoCo writes its version so
// since 3.5. Before that, one decimal digit stands for each part.
#if mjVERSION_HEADER >= 1000000
#define GM_VERSION mjVERSION_HEADER
#else
#define GM_VERSION (mjVERSION_HEADER / 100 * 1000000 + mjVERSION_HEADER / 10 % 10 * 1000 + mjVERSION_HEADER % 10)
#endif

#if GM_VERSION < 2002002
#error "gorl needs MuJoCo 2.2.2 or later, and these headers are older. See docs/building.md."
#endif

// gm_add_buffer copies a file's bytes into a virtual file system. Returns 0 on success.
static inline int gm_add_buffer(mjVFS* vfs, const char* name, const void* data, int length) {
#if GM_VERSION >= 3001003
  return mj_addBufferVFS(vfs, name, data, length);
#else
  if (mj_makeEmptyFileVFS(vfs, name, length)) return 1;
  memcpy(vfs->filedata[mj_findFileVFS(vfs, name)], data, length);
  return 0;
#endif
}

// GM_DISABLES_DAMPING are the flags of mjOption.disableflags that switch joint damping off.
#if GM_VERSION >= 3003006
#define GM_DISABLES_DAMPING mjDSBL_DAMPER
#else
#define GM_DISABLES_DAMPING mjDSBL_PASSIVE
#endif

// gm_actuators is the number of actuators. Since 3.11, an actuator can have several controls or force outputs.
static inline int gm_actuators(const mjModel* m) {
#if GM_VERSION >= 3011000
  return m->nactuator;
#else
  return m->nu;
#endif
}

// gm_forces is the length of mjData.actuator_force.
static inline int gm_forces(const mjModel* m) {
#if GM_VERSION >= 3011000
  return m->nout;
#else
  return m->nu;
#endif
}

// gm_has_newer_features reports whether the model uses a feature that is younger than MuJoCo 2.2.2 and changes how a
// state is integrated. The integrator of implicit.c knows none of them.
static inline int gm_has_newer_features(const mjModel* m) {
#if GM_VERSION >= 2003000
  if (m->nplugin) return 1;
#endif
#if GM_VERSION >= 3000000
  if (m->nflex) return 1;
#endif
#if GM_VERSION >= 3004000
  if (m->opt.enableflags & mjENBL_SLEEP) return 1;
#endif
#if GM_VERSION >= 3005000
  if (m->nhistory) return 1;
#endif
#if GM_VERSION >= 3007000
  for (int i = 0; i < m->nv * mjNPOLY; i++)
    if (m->dof_dampingpoly[i] != 0) return 1;
  for (int i = 0; i < gm_actuators(m); i++) {
    if (m->actuator_damping[i] != 0) return 1;
    for (int k = 0; k < mjNPOLY; k++)
      if (m->actuator_dampingpoly[i * mjNPOLY + k] != 0) return 1;
  }
#endif
#if GM_VERSION >= 4000000
  if (m->nplastic) return 1;
#endif
  return gm_actuators(m) != m->nu || gm_forces(m) != m->nu;
}

// gm_newer_state returns the k-th array of state that versions after 2.2.2 added to mjData, and its length. The length
// is 0 if this version or the model has none. There are GM_NEWER_STATES.
#define GM_NEWER_STATES 3
static inline mjtNum* gm_newer_state(const mjModel* m, const mjData* d, int k, int* length) {
  *length = 0;
#if GM_VERSION >= 2003000
  if (k == 0) return *length = m->npluginstate, d->plugin_state;
#endif
#if GM_VERSION >= 3005000
  if (k == 1) return *length = m->nhistory, d->history;
#endif
#if GM_VERSION >= 4000000
  if (k == 2) return *length = m->nplastic, d->plastic;
#endif
  (void)m, (void)d, (void)k;
  return NULL;
}

// gm_grow_boxes makes the bounding boxes of a body, which MuJoCo 3 has in the body's inertial frame, larger by reach in
// every direction.
static inline void gm_grow_boxes(mjModel* m, int body, double reach) {
#if GM_VERSION >= 3000000
  for (int k = 0; k < m->body_bvhnum[body]; k++)
    for (int j = 3; j < 6; j++) m->bvh_aabb[6 * (m->body_bvhadr[body] + k) + j] += reach;
#else
  (void)m, (void)body, (void)reach;
#endif
}

// gm_add_inertia turns row and column i of the dense matrix A (nv, nv) from a derivative D into M + h D. M is the
// inertia of mjData. up lists the count ancestor dofs of i, nearest first.
static inline void gm_add_inertia(const mjModel* m, const mjData* d, double h, int i, const int* up, int count,
                                  double* A) {
  int nv = m->nv;
#if GM_VERSION >= 3011000
  // Rows are compressed: columns in ascending order, and pairs of dofs that are always 0 may be left out.
  A[i * nv + i] *= h;
  for (int a = 0; a < count; a++) {
    A[i * nv + up[a]] *= h;
    A[up[a] * nv + i] *= h;
  }
  const double* M = d->M + m->M_rowadr[i];
  const int* column = m->M_colind + m->M_rowadr[i];
  for (int k = 0; k < m->M_rownnz[i]; k++) {
    int j = column[k];
    A[i * nv + j] += M[k];
    if (j != i) A[j * nv + i] += M[k];
  }
#else
  // A row begins with the diagonal, and goes on with the ancestors, nearest first.
  const double* M = d->qM + m->dof_Madr[i];
  A[i * nv + i] = M[0] + h * A[i * nv + i];
  for (int a = 0; a < count; a++) {
    A[i * nv + up[a]] = M[1 + a] + h * A[i * nv + up[a]];
    A[up[a] * nv + i] = M[1 + a] + h * A[up[a] * nv + i];
  }
#endif
}

// gm_set_arena sets how many bytes a simulation has for contacts, constraints and scratch, and returns how many it
// had. Tests use it to run a simulation out of memory.
static inline size_t gm_set_arena(mjData* d, size_t bytes) {
#if GM_VERSION >= 3000000
  size_t before = d->narena;
  d->narena = bytes;
#else
  size_t before = d->nstack * sizeof(mjtNum);
  d->nstack = bytes / sizeof(mjtNum);
#endif
  return before;
}

#endif
