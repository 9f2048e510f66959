// Models of one's own: the simulations of a batch share a model, but may differ in some of its numbers.

#include "guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gm_free_variants(gm_variants* v) {
  if (!v) return;
  for (int w = 0; w < v->workers; w++) {
    if (v->own && v->own[w].m) {
      mj_deleteModel(v->own[w].m);
      gm_counted(-1);
    }
    if (v->scratch && v->scratch[w]) {
      mj_deleteData(v->scratch[w]);
      gm_counted(-1);
    }
  }
  free(v->own);
  free(v->scratch);
  free(v->at);
  free(v->lengths);
  free(v->table);
  free(v);
}

// moved returns where p, which points into the model `from` or its buffer, lies in its copy `to`.
static double* moved(double* p, const mjModel* from, const mjModel* to) {
  char *byte = (char*)p, *buffer = from->buffer;
  if (byte >= buffer && byte < buffer + from->nbuffer) return (double*)((char*)to->buffer + (byte - buffer));
  return (double*)((char*)to + (byte - (char*)from));
}

// free_center prepares a model for another centre of mass of a body, at most reach metres away: MuJoCo's shortcuts for
// frames that coincide with the inertial frame no longer apply to it.
static void free_center(mjModel* m, int body, double reach) {
  m->body_sameframe[body] = 0;
  for (int g = 0; g < m->ngeom; g++)
    if (m->geom_bodyid[g] == body) m->geom_sameframe[g] = 0;
  for (int s = 0; s < m->nsite; s++)
    if (m->site_bodyid[s] == body) m->site_sameframe[s] = 0;
  gm_grow_boxes(m, body, reach);
}

int gm_make_variants(gm_batch* b, int workers, double* const* arrays, const int* lengths, int count, double reach,
                     char* message) {
  const mjModel* m = b->model->m;
  gm_variants* volatile v = calloc(1, sizeof *v);
  if (!v) goto memory;
  v->workers = workers;
  v->count = count;
  v->own = calloc(workers, sizeof *v->own);
  v->scratch = calloc(workers, sizeof *v->scratch);
  v->at = calloc((size_t)workers * count, sizeof *v->at);
  v->lengths = calloc(count, sizeof *v->lengths);
  if (!v->own || !v->scratch || !v->at || !v->lengths) goto memory;
  memcpy(v->lengths, lengths, count * sizeof *lengths);
  for (int k = 0; k < count; k++) v->width += lengths[k];
  v->table = calloc((size_t)b->n * v->width, sizeof(double));
  if (!v->table) goto memory;
  if (GUARD()) {
    UNGUARD();
    gm_take_message(message);
    gm_free_variants((gm_variants*)v);
    return -1;
  }
  for (int w = 0; w < workers; w++) {
    v->own[w] = *b->model;
    v->own[w].m = mj_copyModel(NULL, m);
    if (v->own[w].m) gm_counted(1);
    v->scratch[w] = mj_makeData(m);
    if (v->scratch[w]) gm_counted(1);
    if (!v->own[w].m || !v->scratch[w]) {
      UNGUARD();
      goto memory;
    }
    if (reach > 0) free_center(v->own[w].m, 1, reach);
    for (int k = 0; k < count; k++) v->at[w * count + k] = moved(arrays[k], m, v->own[w].m);
  }
  UNGUARD();
  for (int i = 0; i < b->n; i++) {
    double* row = v->table + (size_t)i * v->width;
    for (int k = 0; k < count; k++) {
      memcpy(row, arrays[k], lengths[k] * sizeof(double));
      row += lengths[k];
    }
  }
  b->variants = (gm_variants*)v;
  return 0;
memory:
  snprintf(message, GM_MESSAGE, "out of memory");
  gm_free_variants((gm_variants*)v);
  return -1;
}

const gm_model* gm_variant(const gm_variants* v, int worker, int i) {
  const double* row = v->table + (size_t)i * v->width;
  for (int k = 0; k < v->count; k++) {
    memcpy(v->at[worker * v->count + k], row, v->lengths[k] * sizeof(double));
    row += v->lengths[k];
  }
  return &v->own[worker];
}

int gm_derive(gm_batch* b, int worker, int i, char* message) {
  gm_variants* v = b->variants;
  if (GUARD()) {
    UNGUARD();
    gm_take_message(message);
    return i;
  }
  mj_setConst(gm_variant(v, worker, i)->m, v->scratch[worker]);
  UNGUARD();
  double* row = v->table + (size_t)i * v->width;
  for (int k = 0; k < v->count; k++) {
    memcpy(row, v->at[worker * v->count + k], v->lengths[k] * sizeof(double));
    row += v->lengths[k];
  }
  return -1;
}
