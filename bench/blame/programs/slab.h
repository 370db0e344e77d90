// SPDX-License-Identifier: Apache-2.0
// Slab: a cube of n x n x n points cut into slabs of whole planes along k, as bt and sp have it, with the
// halo of planes that neighbours own.
#pragma once
#include "field.h"

struct Slab {
  int n;              // points in each direction, the faces included
  int begin, end;     // own planes k
  int halo;           // planes of each neighbour that are held, too
  size_t row, plane;  // values in a row, in a plane
  double h;           // between two points
};

static inline struct Slab make_slab(const struct Corpus* c, int n, int halo) {
  const struct Slab s = {n,
                         part_begin(n, c->ranks, c->rank),
                         part_begin(n, c->ranks, c->rank + 1),
                         halo,
                         (size_t)n * quantities,
                         (size_t)n * (size_t)n * quantities,
                         1.0 / (n - 1)};
  if (s.end - s.begin < halo)
    corpus_fail(c, exit_wrong_input, "%d planes are too few for %d ranks", n, c->ranks);
  return s;
}
// Values of a field with its halo.
static inline double* slab_field(const struct Corpus* c, const struct Slab* s) {
  return corpus_memory(c, s->plane * (size_t)(s->end - s->begin + 2 * s->halo), sizeof(double));
}
// The five values at a point; k may lie in the halo.
static inline double* at(const struct Slab* s, double* field, int i, int j, int k) {
  return field + (size_t)(k - s->begin + s->halo) * s->plane + (size_t)j * s->row + (size_t)i * quantities;
}

// Everybody's outer planes come to the neighbours' halos.
static inline void exchange_planes(const struct Corpus* c, const struct Slab* s, double* field) {
  const int below = c->rank > 0 ? c->rank - 1 : MPI_PROC_NULL;
  const int above = c->rank + 1 < c->ranks ? c->rank + 1 : MPI_PROC_NULL;
  const int count = (int)s->plane * s->halo;
  MPI_Sendrecv(at(s, field, 0, 0, s->end - s->halo), count, MPI_DOUBLE, above, 1,
               at(s, field, 0, 0, s->begin - s->halo), count, MPI_DOUBLE, below, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(at(s, field, 0, 0, s->begin), count, MPI_DOUBLE, below, 2, at(s, field, 0, 0, s->end), count,
               MPI_DOUBLE, above, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// The exact solution and the start, in own planes and in the halo as far as there are points.
static inline void fill_slab(const struct Slab* s, double* solution, double* start) {
  for (int k = s->begin - s->halo; k < s->end + s->halo; ++k)
    for (int j = 0; k >= 0 && k < s->n && j < s->n; ++j)
      for (int i = 0; i < s->n; ++i)
        for (int m = 0; m < quantities; ++m) {
          const double x = i * s->h, y = j * s->h, z = k * s->h;
          at(s, solution, i, j, k)[m] = exact(m, x, y, z);
          at(s, start, i, j, k)[m] = exact(m, x, y, z) + bump(m, x, y, z);
        }
}

// g: how fast the values at a point carry themselves along.
static inline double flow_at(const double u[quantities]) { return 1 + 0.1 * u[0]; }

// The right side of a step in time: `right` has N(u) and becomes dt (force - N(u)); `flow` gets g at own
// points.
static inline void make_right_side(const struct Slab* s, double dt, double* u, double* force, double* right,
                                   double* flow) {
  const size_t values = (size_t)(s->end - s->begin) * s->plane;
  const double *x = at(s, u, 0, 0, s->begin), *f = at(s, force, 0, 0, s->begin);
  double* r = at(s, right, 0, 0, s->begin);
  for (size_t p = 0; p < values / quantities; ++p) flow[p] = flow_at(x + p * quantities);
  for (size_t v = 0; v < values; ++v) r[v] = dt * (f[v] - r[v]);
}
// And its end: u += change, at own points.
static inline void add_to(const struct Slab* s, double* u, double* change) {
  double *x = at(s, u, 0, 0, s->begin), *d = at(s, change, 0, 0, s->begin);
  for (size_t v = 0; v < (size_t)(s->end - s->begin) * s->plane; ++v) x[v] += d[v];
}

// Own values, for corpus_step(): what it may change is a point in the middle.
static inline struct Values slab_values(const struct Slab* s, double* field) {
  const int k = (s->end - s->begin - 1) / 2;
  return (struct Values){
      at(s, field, 0, 0, s->begin), (size_t)(s->end - s->begin) * s->plane, kReals,
      (size_t)k * s->plane + (size_t)(s->n / 2) * s->row + (size_t)(s->n / 2) * quantities};
}

// How far a field is from the solution, at most; and its digest.
static inline double slab_error(const struct Slab* s, double* field, double* solution) {
  double most = 0;
  for (int k = s->begin; k < s->end; ++k)
    for (size_t v = 0; v < s->plane; ++v) {
      const double d = fabs(at(s, field, 0, 0, k)[v] - at(s, solution, 0, 0, k)[v]);
      if (!(d <= most)) most = d;  // also what is no number
    }
  return largest(most);
}
static inline uint64_t slab_digest(const struct Slab* s, double* field) {
  uint64_t part = 0;
  for (int k = s->begin; k < s->end; ++k)
    for (int j = 0; j < s->n; ++j)
      for (int i = 0; i < s->n; ++i)
        for (int m = 0; m < quantities; ++m) part += digest_of(at(s, field, i, j, k)[m], m, i, j, k);
  return whole_digest(part);
}
