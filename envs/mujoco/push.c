// An impulse on a body.

#include "guard.h"

#include <string.h>

int gm_push(gm_batch* b, int i, int body, const double* impulse, double* work, char* message) {
  const mjModel* m = gm_model_of(b, 0, i)->m;
  mjData* d = b->d[i];
  double torque[3] = {0, 0, 0};
  if (GUARD()) {
    UNGUARD();
    gm_take_message(message);
    return i;
  }
  memset(work, 0, sizeof(double) * m->nv);
  mj_applyFT(m, d, impulse, torque, d->xipos + 3 * body, body, work);
  mj_solveM(m, d, work, work, 1);
  double* qvel = b->qvel + (size_t)i * m->nv;
  for (int k = 0; k < m->nv; k++) qvel[k] += work[k];
  UNGUARD();
  return -1;
}
