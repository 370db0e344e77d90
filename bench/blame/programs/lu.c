// SPDX-License-Identifier: Apache-2.0
// lu [SIZE]: after NPB's LU (RNR-94-007, section 4.5): symmetric successive over-relaxation (SSOR) of a
// system with 5 x 5 blocks, one sweep up and one down through all points in their order.  Written from the
// published description.
//
//   (D + L + U) u = f      D: blocks 6 nu / h^2 I + R (1 + x y / 5);  L, U: the neighbours before and behind
//   (D + w L) v = f - (D + L + U) u;   (D + w U) d = D v;   u += w (2 - w) d
//
// Ranks stand in a grid over i and j.  A point needs its neighbours before it, so a sweep is a wavefront:
// each plane k is computed when the ranks to the west and south have sent their edge of it, and goes on to
// the east and north.  Many small messages, and ranks that wait for each other: that is what this one is for.
#include <stdlib.h>
#include <string.h>

#include "block5.h"
#include "field.h"

static const int kPoints[size_count] = {12, 24, 36, 48, 48};
static const double kRelaxation = 1.2;

// The part of this rank: points i_begin .. i_end - 1, with one more on each side, and all k.
struct Part {
  int n, i_begin, i_end, j_begin, j_end;
  int west, east, south, north;  // neighbours
  double h;
  double* edge[2];  // room for an edge of a plane, or of all planes
};

static struct Part make_part(const struct Corpus* c, int n) {
  int across = 1;
  for (int p = 2; p * p <= c->ranks; ++p)
    if (c->ranks % p == 0) across = p;
  const int along = c->ranks / across, x = c->rank % along, y = c->rank / along;
  struct Part p = {n,
                   part_begin(n, along, x),
                   part_begin(n, along, x + 1),
                   part_begin(n, across, y),
                   part_begin(n, across, y + 1),
                   x > 0 ? c->rank - 1 : MPI_PROC_NULL,
                   x + 1 < along ? c->rank + 1 : MPI_PROC_NULL,
                   y > 0 ? c->rank - along : MPI_PROC_NULL,
                   y + 1 < across ? c->rank + along : MPI_PROC_NULL,
                   1.0 / (n - 1),
                   {NULL, NULL}};
  for (int e = 0; e < 2; ++e)
    p.edge[e] = corpus_memory(c, (size_t)n * (size_t)n * quantities, sizeof(double));
  return p;
}
static double* part_field(const struct Corpus* c, const struct Part* p) {
  const size_t wide = (size_t)(p->i_end - p->i_begin + 2), deep = (size_t)(p->j_end - p->j_begin + 2);
  return corpus_memory(c, wide * deep * (size_t)p->n * quantities, sizeof(double));
}
static double* at(const struct Part* p, double* field, int i, int j, int k) {
  const size_t wide = (size_t)(p->i_end - p->i_begin + 2), deep = (size_t)(p->j_end - p->j_begin + 2);
  return field + (((size_t)k * deep + (size_t)(j - p->j_begin + 1)) * wide + (size_t)(i - p->i_begin + 1)) *
                     quantities;
}

// Copies an edge (i fixed where i >= 0, else j) of planes k_begin .. k_end - 1 to or from `line`; gives its
// values.
static int copy_edge(const struct Part* p, double* field, double* line, int i, int j, int k_begin, int k_end,
                     int back) {
  const int begin = i >= -1 ? p->j_begin : p->i_begin, end = i >= -1 ? p->j_end : p->i_end;
  int v = 0;
  for (int k = k_begin; k < k_end; ++k)
    for (int other = begin; other < end; ++other, v += quantities) {
      double* x = i >= -1 ? at(p, field, i, other, k) : at(p, field, other, j, k);
      memcpy(back ? x : line + v, back ? line + v : x, quantities * sizeof *x);
    }
  return v;
}
enum { kNone = -9 };  // as i of copy_edge(): the edge has a fixed j

// Sends the edge at (i_out or j_out) to `to` and receives the one at (i_in or j_in) from `from`; either may
// be nobody.
static void send_edge(struct Part* p, double* field, int i, int j, int k_begin, int k_end, int to, int tag) {
  if (to == MPI_PROC_NULL) return;
  const int count = copy_edge(p, field, p->edge[0], i, j, k_begin, k_end, 0);
  MPI_Send(p->edge[0], count, MPI_DOUBLE, to, tag, MPI_COMM_WORLD);
}
static void receive_edge(struct Part* p, double* field, int i, int j, int k_begin, int k_end, int from,
                         int tag) {
  if (from == MPI_PROC_NULL) return;
  const int along = i >= -1 ? p->j_end - p->j_begin : p->i_end - p->i_begin;
  MPI_Recv(p->edge[1], along * (k_end - k_begin) * quantities, MPI_DOUBLE, from, tag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  copy_edge(p, field, p->edge[1], i, j, k_begin, k_end, 1);
}
// All four edges of all planes come to the neighbours.  (Received while it is sent: edges of all planes are
// too large to be sent before anybody receives.)
static void swap_edges(struct Part* p, double* field, int i_out, int j_out, int to, int i_in, int j_in,
                       int from, int tag) {
  const int count = copy_edge(p, field, p->edge[0], i_out, j_out, 0, p->n, 0);
  MPI_Sendrecv(p->edge[0], count, MPI_DOUBLE, to, tag, p->edge[1], count, MPI_DOUBLE, from, tag,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (from != MPI_PROC_NULL) copy_edge(p, field, p->edge[1], i_in, j_in, 0, p->n, 1);
}
static void exchange_edges(struct Part* p, double* field) {
  swap_edges(p, field, p->i_end - 1, kNone, p->east, p->i_begin - 1, kNone, p->west, 1);
  swap_edges(p, field, p->i_begin, kNone, p->west, p->i_end, kNone, p->east, 2);
  swap_edges(p, field, kNone, p->j_end - 1, p->north, kNone, p->j_begin - 1, p->south, 3);
  swap_edges(p, field, kNone, p->j_begin, p->south, kNone, p->j_end, p->north, 4);
}

static int inner(int i, int n) { return i > 0 && i < n - 1; }

static void diagonal_block(const struct Part* p, int i, int j, double block[block5][block5]) {
  const double reaction = 1 + 0.2 * (i * p->h) * (j * p->h), second = 6 * kViscosity / (p->h * p->h);
  for (int a = 0; a < block5; ++a)
    for (int b = 0; b < block5; ++b) block[a][b] = reaction * kReaction[a][b] + (a == b ? second : 0);
}
// The block of the neighbours before a point (side -1) or behind it (+1), the same in all three directions.
static void neighbour_block(const struct Part* p, int side, double factor, double block[block5][block5]) {
  const double first = 1 / (2 * p->h), second = kViscosity / (p->h * p->h);
  for (int a = 0; a < block5; ++a)
    for (int b = 0; b < block5; ++b)
      block[a][b] = factor * (side * first * kFlow[a][b] - (a == b ? second : 0));
}

// to = from - (D + L + U) u at own inner points.  from: null for nothing.
static void residual(const struct Part* p, double* u, double* from, double* to) {
  double low[block5][block5], high[block5][block5], diagonal[block5][block5];
  neighbour_block(p, -1, 1, low);
  neighbour_block(p, 1, 1, high);
  for (int k = 1; k < p->n - 1; ++k)
    for (int j = p->j_begin; j < p->j_end; ++j)
      for (int i = p->i_begin; i < p->i_end; ++i) {
        if (!inner(i, p->n) || !inner(j, p->n)) continue;
        diagonal_block(p, i, j, diagonal);
        double out[quantities] = {0}, before[quantities], behind[quantities];
        const double *w = at(p, u, i - 1, j, k), *e = at(p, u, i + 1, j, k), *so = at(p, u, i, j - 1, k),
                     *no = at(p, u, i, j + 1, k), *lo = at(p, u, i, j, k - 1), *hi = at(p, u, i, j, k + 1);
        for (int m = 0; m < quantities; ++m) {
          before[m] = w[m] + so[m] + lo[m];
          behind[m] = e[m] + no[m] + hi[m];
          if (from) out[m] = at(p, from, i, j, k)[m];
        }
        subtract_product(out, diagonal, at(p, u, i, j, k));
        subtract_product(out, low, before);
        subtract_product(out, high, behind);
        memcpy(at(p, to, i, j, k), out, sizeof out);
      }
}

// One plane of a sweep: v = D^-1 (v - side * v of the neighbours); up: those before it, down: those behind.
static void sweep_plane(const struct Part* p, double* v, int k, int up, double side[block5][block5]) {
  for (int jj = p->j_begin; jj < p->j_end; ++jj)
    for (int ii = p->i_begin; ii < p->i_end; ++ii) {
      const int j = up ? jj : p->j_end - 1 - (jj - p->j_begin),
                i = up ? ii : p->i_end - 1 - (ii - p->i_begin);
      if (!inner(i, p->n) || !inner(j, p->n)) continue;
      const int d = up ? -1 : 1;
      double* x = at(p, v, i, j, k);
      const double *a = at(p, v, i + d, j, k), *b = at(p, v, i, j + d, k), *c = at(p, v, i, j, k + d);
      double around[quantities], diagonal[block5][block5];
      for (int m = 0; m < quantities; ++m) around[m] = a[m] + b[m] + c[m];
      diagonal_block(p, i, j, diagonal);
      subtract_product(x, side, around);
      solve_block(diagonal, x, NULL);
    }
}
static void sweep_up(struct Part* p, double* v) {
  double side[block5][block5];
  neighbour_block(p, -1, kRelaxation, side);
  for (int k = 1; k < p->n - 1; ++k) {
    receive_edge(p, v, p->i_begin - 1, kNone, k, k + 1, p->west, 5);
    receive_edge(p, v, kNone, p->j_begin - 1, k, k + 1, p->south, 6);
    sweep_plane(p, v, k, 1, side);
    send_edge(p, v, p->i_end - 1, kNone, k, k + 1, p->east, 5);
    send_edge(p, v, kNone, p->j_end - 1, k, k + 1, p->north, 6);
  }
}
static void sweep_down(struct Part* p, double* v) {
  double side[block5][block5];
  neighbour_block(p, 1, kRelaxation, side);
  for (int k = p->n - 2; k > 0; --k) {
    receive_edge(p, v, p->i_end, kNone, k, k + 1, p->east, 7);
    receive_edge(p, v, kNone, p->j_end, k, k + 1, p->north, 8);
    sweep_plane(p, v, k, 0, side);
    send_edge(p, v, p->i_begin, kNone, k, k + 1, p->west, 7);
    send_edge(p, v, kNone, p->j_begin, k, k + 1, p->south, 8);
  }
}

// v = D v at own inner points, between the sweeps.
static void times_diagonal(const struct Part* p, double* v) {
  double diagonal[block5][block5];
  for (int k = 1; k < p->n - 1; ++k)
    for (int j = p->j_begin; j < p->j_end; ++j)
      for (int i = p->i_begin; i < p->i_end; ++i) {
        if (!inner(i, p->n) || !inner(j, p->n)) continue;
        diagonal_block(p, i, j, diagonal);
        double sum[quantities] = {0}, *x = at(p, v, i, j, k);
        subtract_product(sum, diagonal, x);
        for (int m = 0; m < quantities; ++m) x[m] = -sum[m];
      }
}

static double error_of(const struct Part* p, double* u) {
  double most = 0;
  for (int k = 0; k < p->n; ++k)
    for (int j = p->j_begin; j < p->j_end; ++j)
      for (int i = p->i_begin; i < p->i_end; ++i)
        for (int m = 0; m < quantities; ++m) {
          const double d = fabs(at(p, u, i, j, k)[m] - exact(m, i * p->h, j * p->h, k * p->h));
          if (!(d <= most)) most = d;  // also what is no number
        }
  return largest(most);
}

int main(int argc, char** argv) {
  static const int steps[size_count] = {12, 60, 150, 800, 2200};
  struct Corpus c;
  corpus_begin(&c, "lu", &argc, &argv, steps);
  struct Part p = make_part(&c, kPoints[c.size]);
  double *u = part_field(&c, &p), *force = part_field(&c, &p), *v = part_field(&c, &p);
  // Values beyond the own points are set, too, as far as there are points.
  for (int k = 0; k < p.n; ++k)
    for (int j = p.j_begin - 1; j <= p.j_end; ++j)
      for (int i = p.i_begin - 1; i <= p.i_end; ++i)
        for (int m = 0; i >= 0 && j >= 0 && i < p.n && j < p.n && m < quantities; ++m)
          at(&p, u, i, j, k)[m] = exact(m, i * p.h, j * p.h, k * p.h);
  residual(&p, u, NULL, force);  // with the sign turned
  const size_t all =
      (size_t)(p.i_end - p.i_begin + 2) * (size_t)(p.j_end - p.j_begin + 2) * (size_t)p.n * quantities;
  for (size_t x = 0; x < all; ++x) force[x] = -force[x];
  for (int k = 0; k < p.n; ++k)
    for (int j = p.j_begin; j < p.j_end; ++j)
      for (int i = p.i_begin; i < p.i_end; ++i)
        for (int m = 0; m < quantities; ++m) at(&p, u, i, j, k)[m] += bump(m, i * p.h, j * p.h, k * p.h);
  const size_t probe =
      (size_t)(at(&p, u, (p.i_begin + p.i_end - 1) / 2, (p.j_begin + p.j_end - 1) / 2, p.n / 2) - u);
  const double at_start = error_of(&p, u);
  for (int step = 1; step <= c.steps; ++step) {
    corpus_step(&c, step, (struct Values){u, all, kReals, probe});
    exchange_edges(&p, u);
    residual(&p, u, force, v);
    sweep_up(&p, v);
    times_diagonal(&p, v);
    sweep_down(&p, v);
    for (int k = 1; k < p.n - 1; ++k)
      for (int j = p.j_begin; j < p.j_end; ++j)
        for (int i = p.i_begin; i < p.i_end; ++i)
          for (int m = 0; m < quantities; ++m)
            at(&p, u, i, j, k)[m] += kRelaxation * (2 - kRelaxation) * at(&p, v, i, j, k)[m];
  }
  uint64_t part = 0;
  for (int k = 0; k < p.n; ++k)
    for (int j = p.j_begin; j < p.j_end; ++j)
      for (int i = p.i_begin; i < p.i_end; ++i)
        for (int m = 0; m < quantities; ++m) part += digest_of(at(&p, u, i, j, k)[m], m, i, j, k);
  return corpus_end(&c, whole_digest(part), not_nearer(at_start, error_of(&p, u), 4));
}
