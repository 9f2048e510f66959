// MuJoCo's implicit integrator, with the derivative of the bias force written for what it is.
//
// The integrator solves (M - h D) a = M qacc, where D = d(passive + actuator - bias)/d(qvel). MuJoCo 2.2 finds the bias
// part by propagating dense (body, 6, nv) Jacobians through the recursive Newton-Euler algorithm, which is a third of the
// whole step for a nine-dof character. In a tree of hinges and slides it has a closed form: with S the motion axes, Sdot
// their time derivatives, and Ic, P, h sums over the subtree that hangs from the deeper of the dofs k and m,
//
//   d(bias_k)/d(qvel_m) = S_k . (2 Ic Sdot_m) + S_k.rot . (P a) - 2 S_k.lin . (h x a),   a = S_m.rot
//   P = sum of  w x (2 J - trace(J)) - 2 c x (u x)      (J, c, mass: the spatial inertia; w, u: angular, linear velocity)
//   h = sum of  mass u - c x w
//
// which follows from df/dv of f = I a + v x* I v by the Jacobi identity: the part that acts on the linear velocity cancels.
// The result equals MuJoCo's to rounding; engine_test.go holds it to that.

#include <stdlib.h>
#include <string.h>

#include "engine.h"

int gm_implicit_applies(const mjModel* m) {
  if (m->opt.integrator != mjINT_IMPLICIT || m->na || m->ntendon || m->nv == 0 || m->nv > 200) return 0;
  if (m->opt.density > 0 || m->opt.viscosity > 0) return 0;
  if (m->opt.disableflags & GM_DISABLES_DAMPING || gm_has_newer_features(m)) return 0;
  for (int j = 0; j < m->njnt; j++)
    if (m->jnt_type[j] != mjJNT_HINGE && m->jnt_type[j] != mjJNT_SLIDE) return 0;
  for (int i = 0; i < m->nu; i++) {
    if (m->actuator_gaintype[i] != mjGAIN_FIXED) return 0;
    if (m->actuator_biastype[i] != mjBIAS_NONE && m->actuator_biastype[i] != mjBIAS_AFFINE) return 0;
    if (m->actuator_biastype[i] == mjBIAS_AFFINE && m->actuator_biasprm[i * mjNBIAS + 2] != 0) return 0;
  }
  return 1;
}

int gm_plan_make(gm_model* g) {
  const mjModel* m = g->m;
  int nv = m->nv;
  g->plan.count = calloc(nv, sizeof(int));
  g->plan.list = calloc((size_t)nv * nv, sizeof(int));
  if (!g->plan.count || !g->plan.list) return -1;
  for (int i = 0; i < nv; i++)
    for (int j = m->dof_parentid[i]; j >= 0; j = m->dof_parentid[j])
      g->plan.list[i * nv + g->plan.count[i]++] = j;
  return 0;
}

int gm_implicit_work(const mjModel* m) { return m->nv * m->nv + 12 * m->nbody + 2 * m->nv; }

static inline void cross(double* r, const double* a, const double* b) {
  r[0] = a[1] * b[2] - a[2] * b[1];
  r[1] = a[2] * b[0] - a[0] * b[2];
  r[2] = a[0] * b[1] - a[1] * b[0];
}

static inline double dot3(const double* a, const double* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// body_terms adds one body's P (row-major, 9) and h (3) to out.
static inline void body_terms(double* out, const double* in, const double* vel) {
  const double *w = vel, *u = vel + 3, *c = in + 6;
  double mass = in[9], t = in[0] + in[1] + in[2];
  double J[9] = {2 * in[0] - t, 2 * in[3], 2 * in[4], 2 * in[3], 2 * in[1] - t, 2 * in[5], 2 * in[4], 2 * in[5], 2 * in[2] - t};
  double cu = dot3(c, u);
  for (int j = 0; j < 3; j++) {
    // Column j: w x J_j - 2 (u (c.e_j) - e_j (c.u)), since c x (u x e) = u (c.e) - e (c.u).
    double col[3] = {J[j], J[3 + j], J[6 + j]}, x[3];
    cross(x, w, col);
    out[j] += x[0] - 2 * u[0] * c[j];
    out[3 + j] += x[1] - 2 * u[1] * c[j];
    out[6 + j] += x[2] - 2 * u[2] * c[j];
    out[4 * j] += 2 * cu;
  }
  double cw[3];
  cross(cw, c, w);
  for (int j = 0; j < 3; j++) out[9 + j] += mass * u[j] - cw[j];
}

static inline void inertia_times(double* r, const double* i, const double* v) {
  r[0] = i[0] * v[0] + i[3] * v[1] + i[4] * v[2] - i[8] * v[4] + i[7] * v[5];
  r[1] = i[3] * v[0] + i[1] * v[1] + i[5] * v[2] + i[8] * v[3] - i[6] * v[5];
  r[2] = i[4] * v[0] + i[5] * v[1] + i[2] * v[2] - i[7] * v[3] + i[6] * v[4];
  r[3] = i[8] * v[1] - i[7] * v[2] + i[9] * v[3];
  r[4] = i[6] * v[2] - i[8] * v[0] + i[9] * v[4];
  r[5] = i[7] * v[0] - i[6] * v[1] + i[9] * v[5];
}

static inline double dot6(const double* a, const double* b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
}

// gm_velocity_derivative writes d(bias - passive)/d(qvel), dense (nv, nv); pairs of dofs on different branches are left alone.
void gm_velocity_derivative(const gm_model* g, const mjData* d, double* D, double* work) {
  const mjModel* m = g->m;
  int nv = m->nv, nb = m->nbody;
  double* terms = work;  // (nbody, 12)
  memset(terms, 0, sizeof(double) * 12 * nb);
  for (int b = nb - 1; b > 0; b--) {
    body_terms(terms + 12 * b, d->cinert + 10 * b, d->cvel + 6 * b);
    int p = m->body_parentid[b];
    if (p > 0)
      for (int k = 0; k < 12; k++) terms[12 * p + k] += terms[12 * b + k];
  }
  for (int k = 0; k < nv; k++) {
    const double *I = d->crb + 10 * m->dof_bodyid[k], *P = terms + 12 * m->dof_bodyid[k], *h = P + 9;
    const double *S = d->cdof + 6 * k, *Sdot = d->cdof_dot + 6 * k;
    // Row k against its ancestors m: left = 2 Ic S_k on Sdot_m, and turn = P' S_k.rot - 2 S_k.lin x h on S_m.rot.
    double left[6], right[6], turn[3], lh[3], ha[3];
    inertia_times(left, I, S);
    inertia_times(right, I, Sdot);
    cross(lh, S + 3, h);
    cross(ha, h, S);
    for (int j = 0; j < 3; j++) turn[j] = P[j] * S[0] + P[3 + j] * S[1] + P[6 + j] * S[2] - 2 * lh[j];
    // Column k against its ancestors: right = 2 Ic Sdot_k + (P S_k.rot, -2 h x S_k.rot).
    for (int j = 0; j < 3; j++) {
      right[j] = 2 * right[j] + dot3(P + 3 * j, S);
      right[3 + j] = 2 * right[3 + j] - 2 * ha[j];
    }
    D[k * nv + k] = dot6(S, right) + m->dof_damping[k];
    const int* up = g->plan.list + k * nv;
    for (int a = 0; a < g->plan.count[k]; a++) {
      int i = up[a];
      D[k * nv + i] = 2 * dot6(left, d->cdof_dot + 6 * i) + dot3(turn, d->cdof + 6 * i);
      D[i * nv + k] = dot6(d->cdof + 6 * i, right);
    }
  }
}

// gm_implicit advances the state by one time step, as MuJoCo's mj_implicit does.
void gm_implicit(const gm_model* g, mjData* d, double* work) {
  const mjModel* m = g->m;
  int nv = m->nv;
  double h = m->opt.timestep, *A = work, *x = work + nv * nv, *scratch = x + 2 * nv;
  gm_velocity_derivative(g, d, A, scratch);
  // A = M + h d(bias - passive)/d(qvel), on the tree's own pattern of zeros.
  for (int i = 0; i < nv; i++) {
    gm_add_inertia(m, d, h, i, g->plan.list + i * nv, g->plan.count[i], A);
    x[i] = d->qfrc_smooth[i] + d->qfrc_constraint[i];
  }
  // Leaf-first elimination: no fill-in. The right-hand side goes along.
  for (int i = nv - 1; i >= 0; i--) {
    const int* up = g->plan.list + i * nv;
    int n = g->plan.count[i];
    double inv = 1 / A[i * nv + i], *row = A + i * nv;
    for (int a = 0; a < n; a++) {
      double *target = A + up[a] * nv, s = target[i] * inv;
      for (int b = 0; b < n; b++) target[up[b]] -= s * row[up[b]];
      x[up[a]] -= s * x[i];
    }
  }
  for (int i = 0; i < nv; i++) {
    const int* up = g->plan.list + i * nv;
    double s = x[i];
    for (int a = 0; a < g->plan.count[i]; a++) s -= A[i * nv + up[a]] * x[up[a]];
    x[i] = s / A[i * nv + i];
  }
  // Hinges and slides have one position for one velocity, in the same order.
  for (int i = 0; i < nv; i++) {
    d->qvel[i] += h * x[i];
    d->qpos[i] += h * d->qvel[i];
  }
  memcpy(d->qacc_warmstart, d->qacc, sizeof(double) * nv);
  d->time += h;
}
