// SPDX-License-Identifier: Apache-2.0
// bt [SIZE]: after NPB's BT (RNR-94-007, section 4.7): an implicit solver that splits by direction (ADI),
// with a block tridiagonal system of 5 x 5 blocks for each line of points.  Written from the published
// description.
//
//   u_t + g(u) F (u_x + u_y + u_z) = nu (u_xx + u_yy + u_zz) - R u + f,     g(u) = 1 + u_0 / 10
//   (I + dt Lx) (I + dt Ly) (I + dt Lz) du = dt (f - N(u)),                 L = g F d - nu dd
//
// Ranks have slabs of planes along k.  Lines along x and y are their own; for lines along z all values change
// over to slabs along j and back (MPI_Alltoallv).
#include <stdlib.h>
#include <string.h>

#include "block5.h"
#include "slab.h"

static const int kPoints[size_count] = {12, 24, 36, 48, 48};
static const double kTime = 1.5;  // of all steps together
static double dt;                 // of one

// to = N(u) at own inner points.
static void apply_operator(const struct Slab* s, double* u, double* to) {
  const double first = 1 / (2 * s->h), second = kViscosity / (s->h * s->h);
  for (int k = s->begin > 1 ? s->begin : 1; k < (s->end < s->n - 1 ? s->end : s->n - 1); ++k)
    for (int j = 1; j < s->n - 1; ++j)
      for (int i = 1; i < s->n - 1; ++i) {
        const double *here = at(s, u, i, j, k), *w = at(s, u, i - 1, j, k), *e = at(s, u, i + 1, j, k),
                     *so = at(s, u, i, j - 1, k), *no = at(s, u, i, j + 1, k), *lo = at(s, u, i, j, k - 1),
                     *hi = at(s, u, i, j, k + 1);
        const double g = flow_at(here);
        double slope[quantities];
        for (int m = 0; m < quantities; ++m)
          slope[m] = (e[m] - w[m] + no[m] - so[m] + hi[m] - lo[m]) * first * g;
        double* out = at(s, to, i, j, k);
        for (int m = 0; m < quantities; ++m) {
          double sum = -second * (e[m] + w[m] + no[m] + so[m] + hi[m] + lo[m] - 6 * here[m]);
          for (int l = 0; l < quantities; ++l) sum += kFlow[m][l] * slope[l] + kReaction[m][l] * here[l];
          out[m] = sum;
        }
      }
}

// Solves (I + dt L) x = right for one line.  right: the first point's values, `stride` values from one point
// to the next; x replaces it.  flow: g at the points, stride of its own.  above: room for n blocks.
static void solve_line(int n, double h, double* right, size_t stride, const double* flow, size_t flow_stride,
                       double (*above)[block5][block5]) {
  const double first = dt / (2 * h), second = dt * kViscosity / (h * h);
  memset(above[0], 0, sizeof above[0]);
  for (int i = 1; i < n - 1; ++i) {
    double below[block5][block5], diagonal[block5][block5];
    const double g = flow[(size_t)i * flow_stride] * first;
    for (int a = 0; a < block5; ++a)
      for (int b = 0; b < block5; ++b) {
        below[a][b] = -g * kFlow[a][b] - (a == b ? second : 0);
        above[i][a][b] = g * kFlow[a][b] - (a == b ? second : 0);
        diagonal[a][b] = a == b ? 1 + 2 * second : 0;
      }
    double* x = right + (size_t)i * stride;
    // (The first inner point has a face below it: nothing to subtract.)
    if (i > 1) {
      subtract_product(x, below, x - stride);
      subtract_block_product(diagonal, below, above[i - 1]);
    }
    solve_block(diagonal, x, above[i]);
  }
  for (int i = n - 3; i >= 1; --i)
    subtract_product(right + (size_t)i * stride, above[i], right + (size_t)(i + 1) * stride);
}

// Lines along z: what changes over, by rank, and the values in the order (j, i, k) of the lines.
struct Turned {
  int begin, end;  // own j
  int send[8], send_at[8], receive[8], receive_at[8];
  double *out, *in, *lines;
};
enum { kCarried = quantities + 1 };  // and g

static void make_turned(const struct Corpus* c, const struct Slab* s, struct Turned* t) {
  memset(t, 0, sizeof *t);
  t->begin = part_begin(s->n, c->ranks, c->rank);
  t->end = part_begin(s->n, c->ranks, c->rank + 1);
  for (int r = 0, out = 0, in = 0; r < c->ranks; ++r) {
    const int theirs = part_begin(s->n, c->ranks, r + 1) - part_begin(s->n, c->ranks, r);
    t->send[r] = (s->end - s->begin) * theirs * s->n * kCarried;
    t->receive[r] = theirs * (t->end - t->begin) * s->n * kCarried;
    t->send_at[r] = out;
    t->receive_at[r] = in;
    out += t->send[r];
    in += t->receive[r];
  }
  t->out =
      corpus_memory(c, (size_t)(s->end - s->begin) * (size_t)s->n * (size_t)s->n * kCarried, sizeof(double));
  t->in =
      corpus_memory(c, (size_t)(t->end - t->begin) * (size_t)s->n * (size_t)s->n * kCarried, sizeof(double));
  t->lines =
      corpus_memory(c, (size_t)(t->end - t->begin) * (size_t)s->n * (size_t)s->n * kCarried, sizeof(double));
}

// Values to and from the slabs along j.  Both directions walk the same order (rank, k, j, i).
static void turn(const struct Corpus* c, const struct Slab* s, struct Turned* t, double* field,
                 const double* flow, int back) {
  size_t v = 0;
  for (int r = 0; r < c->ranks; ++r)
    for (int k = s->begin; k < s->end; ++k)
      for (int j = part_begin(s->n, c->ranks, r); j < part_begin(s->n, c->ranks, r + 1); ++j)
        for (int i = 0; i < s->n; ++i, v += kCarried) {
          double* x = at(s, field, i, j, k);
          if (back) {
            memcpy(x, t->out + v, quantities * sizeof *x);
          } else {
            memcpy(t->out + v, x, quantities * sizeof *x);
            t->out[v + quantities] =
                flow[((size_t)(k - s->begin) * (size_t)s->n + (size_t)j) * (size_t)s->n + (size_t)i];
          }
        }
}
static void line_up(const struct Corpus* c, const struct Slab* s, struct Turned* t, int back) {
  size_t v = 0;
  for (int r = 0; r < c->ranks; ++r)
    for (int k = part_begin(s->n, c->ranks, r); k < part_begin(s->n, c->ranks, r + 1); ++k)
      for (int j = t->begin; j < t->end; ++j)
        for (int i = 0; i < s->n; ++i, v += kCarried) {
          double* x =
              t->lines +
              (((size_t)(j - t->begin) * (size_t)s->n + (size_t)i) * (size_t)s->n + (size_t)k) * kCarried;
          memcpy(back ? t->in + v : x, back ? x : t->in + v, kCarried * sizeof *x);
        }
}

// One step in time: right has dt (f - N(u)) and becomes du.
static void solve(const struct Corpus* c, const struct Slab* s, struct Turned* t, double* right,
                  const double* flow, double (*above)[block5][block5]) {
  const size_t n = (size_t)s->n;
  for (int k = s->begin; k < s->end; ++k) {
    if (k == 0 || k == s->n - 1) continue;
    const double* g = flow + (size_t)(k - s->begin) * n * n;
    for (int j = 1; j < s->n - 1; ++j)
      solve_line(s->n, s->h, at(s, right, 0, j, k), quantities, g + (size_t)j * n, 1, above);
    for (int i = 1; i < s->n - 1; ++i) solve_line(s->n, s->h, at(s, right, i, 0, k), s->row, g + i, n, above);
  }
  turn(c, s, t, right, flow, 0);
  MPI_Alltoallv(t->out, t->send, t->send_at, MPI_DOUBLE, t->in, t->receive, t->receive_at, MPI_DOUBLE,
                MPI_COMM_WORLD);
  line_up(c, s, t, 0);
  for (int j = t->begin; j < t->end; ++j)
    for (int i = 1; j > 0 && j < s->n - 1 && i < s->n - 1; ++i) {
      double* line = t->lines + ((size_t)(j - t->begin) * n + (size_t)i) * n * kCarried;
      solve_line(s->n, s->h, line, kCarried, line + quantities, kCarried, above);
    }
  line_up(c, s, t, 1);
  MPI_Alltoallv(t->in, t->receive, t->receive_at, MPI_DOUBLE, t->out, t->send, t->send_at, MPI_DOUBLE,
                MPI_COMM_WORLD);
  turn(c, s, t, right, flow, 1);
}

int main(int argc, char** argv) {
  static const int steps[size_count] = {12, 60, 200, 500, 800};
  struct Corpus c;
  corpus_begin(&c, "bt", &argc, &argv, steps);
  const struct Slab s = make_slab(&c, kPoints[c.size], 1);
  double *u = slab_field(&c, &s), *solution = slab_field(&c, &s), *force = slab_field(&c, &s),
         *right = slab_field(&c, &s);
  const size_t n = (size_t)s.n, points = (size_t)(s.end - s.begin) * n * n;
  double* flow = corpus_memory(&c, points, sizeof *flow);
  double(*above)[block5][block5] = corpus_memory(&c, n, sizeof *above);
  struct Turned t;
  dt = kTime / c.steps;
  make_turned(&c, &s, &t);
  fill_slab(&s, solution, u);
  apply_operator(&s, solution, force);
  const double at_start = slab_error(&s, u, solution);
  for (int step = 1; step <= c.steps; ++step) {
    corpus_step(&c, step, slab_values(&s, u));
    exchange_planes(&c, &s, u);
    apply_operator(&s, u, right);
    make_right_side(&s, dt, u, force, right, flow);
    solve(&c, &s, &t, right, flow, above);
    add_to(&s, u, right);
  }
  const double at_end = slab_error(&s, u, solution);
  return corpus_end(&c, slab_digest(&s, u), not_nearer(at_start, at_end, 4));
}
