// The C side of package mujoco: models, batches of simulations, and a step that never ends the process.
#ifndef GORL_MUJOCO_ENGINE_H_
#define GORL_MUJOCO_ENGINE_H_

#include "version.h"

#define GM_MESSAGE 1024

// What happened to one simulation during a call.
enum {
  GM_OK = 0,
  GM_DIVERGED = 1,       // a position, velocity or acceleration was not a number, or beyond mjMAXVAL
  GM_CONTACTS_FULL = 2,  // more contacts than nconmax or the memory allow: some were dropped
  GM_ROWS_FULL = 4       // more constraint rows than njmax (MuJoCo 3: the memory) allows: some were dropped
};

// gm_plan is what the fast implicit integrator precomputes from the kinematic tree.
typedef struct {
  int* count;   // (nv) number of ancestor dofs of each dof
  int* list;    // (nv, nv) their indices, nearest first
} gm_plan;

typedef struct {
  mjModel* m;
  gm_plan plan;
  int fast;     // the fast implicit integrator applies
} gm_model;

// gm_variants are the numbers in which the models of a batch's simulations differ. A worker has a copy of the model. It
// writes a simulation's numbers into the copy before it uses the simulation.
typedef struct {
  int workers, count, width;
  gm_model* own;     // (workers) copies of the model; plan is that of the batch's model
  mjData** scratch;  // (workers) for gm_derive
  double** at;       // (workers, count): where the arrays of numbers are in the copies
  int* lengths;      // (count) their lengths, in sum width
  double* table;     // (n, width): the numbers of every simulation
} gm_variants;

// gm_batch is n simulations of one model and the contiguous arrays that Go reads and writes.
typedef struct {
  const gm_model* model;
  int n;
  mjData** d;
  double *qpos, *qvel;          // (n, nq), (n, nv): written by gm_step, read by gm_reset and gm_forward
  double *ctrl;                 // (n, nu): written to the simulations before every step
  unsigned char* status;        // (n): GM_* of the last step
  unsigned char* touch;         // (n, nbody): 2 if the body touches the world, 1 if only another one
  double* work;                 // scratch of the fast integrator, one piece a simulation
  int nwork;
  gm_variants* variants;        // null if the models do not differ
} gm_batch;

// gm_install installs this package's handlers of MuJoCo's errors and warnings, once per process.
void gm_install(void);
// gm_live is the number of models and simulations that have been made and not freed.
int gm_live(void);

// gm_new_files makes an empty set of files in memory, or returns null. gm_add_file copies a file into it, and returns 0
// on success.
mjVFS* gm_new_files(void);
int gm_add_file(mjVFS* files, const char* name, const void* data, int length);
void gm_free_files(mjVFS* files);

// gm_load compiles the file at path, which may be one of files. It returns null on an error, with the reason in message
// (GM_MESSAGE bytes).
gm_model* gm_load(const char* path, const mjVFS* files, char* message);
void gm_free_model(gm_model* g);
int gm_model_bytes(const gm_model* g, void* out, int size);

// gm_data_bytes is the size of the buffers of one simulation.
double gm_data_bytes(const gm_batch* b);
gm_batch* gm_make_batch(const gm_model* g, int n, char* message);
void gm_free_batch(gm_batch* b);

// Each returns -1, or the index of the simulation in which MuJoCo raised an error (its words in message).
int gm_step(gm_batch* b, int worker, int first, int last, int substeps, int reference, char* message);
int gm_reset(gm_batch* b, int worker, const int* which, int count, char* message);
int gm_forward(gm_batch* b, int worker, int first, int last, char* message);

// The variants of randomize.c. gm_make_variants makes those of a batch, of count arrays in its model. reach is how far
// the centre of mass of body 1 moves at most, in metres. It returns 0, or -1 with the reason in message.
int gm_make_variants(gm_batch* b, int workers, double* const* arrays, const int* lengths, int count, double reach,
                     char* message);
void gm_free_variants(gm_variants* v);
// gm_variant writes the numbers of simulation i into the worker's model, and returns it.
const gm_model* gm_variant(const gm_variants* v, int worker, int i);
// gm_derive computes the numbers of simulation i that follow from others, such as inverse weights from masses.
int gm_derive(gm_batch* b, int worker, int i, char* message);

// gm_model_of returns the model of simulation i.
static inline const gm_model* gm_model_of(const gm_batch* b, int worker, int i) {
  return b->variants ? gm_variant(b->variants, worker, i) : b->model;
}

// The implicit integrator of implicit.c.
int gm_plan_make(gm_model* g);
int gm_implicit_applies(const mjModel* m);
int gm_implicit_work(const mjModel* m);
void gm_velocity_derivative(const gm_model* g, const mjData* d, double* D, double* work);
void gm_implicit(const gm_model* g, mjData* d, double* work);

#endif
