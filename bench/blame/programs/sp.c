// SPDX-License-Identifier: Apache-2.0
// sp [SIZE]: after NPB's SP (RNR-94-007, section 4.6): an implicit solver that splits by direction (ADI),
// with scalar pentadiagonal systems along each line, for differences of fourth order that damp.  Written from
// the published description.
//
//   u_t + c g(u) (u_x + u_y + u_z) = nu lap u - eps h^3 (u_xxxx + u_yyyy + u_zzzz) - R u + f
//   (I + dt Lx) (I + dt Ly) (I + dt Lz) du = dt (f - N(u)),     g(u) = 1 + u_0 / 10
//   c: the diagonal of the flow, another for each quantity
//
// Ranks have slabs of planes along k.  Lines along z run through all ranks: elimination goes up from rank to
// rank, rows of lines in a pipeline, and substitution comes down again.
#include <stdlib.h>

#include "slab.h"

static const int kPoints[size_count] = {16, 28, 40, 56, 56};
static const double kDamping = 0.02, kTime = 1.5;  // kTime: of all steps together
static double dt;                                  // of one

// Whether the difference of fourth order has all its points.
static int damped(int i, int n) { return i >= 2 && i < n - 2; }

static double fourth(const double* here, const double* l1, const double* l2, const double* h1,
                     const double* h2, int m) {
  return l2[m] - 4 * l1[m] + 6 * here[m] - 4 * h1[m] + h2[m];
}

// to = N(u) at own inner points.
static void apply_operator(const struct Slab* s, double* u, double* to) {
  const double first = 1 / (2 * s->h), second = kViscosity / (s->h * s->h), damping = kDamping / s->h;
  for (int k = s->begin > 1 ? s->begin : 1; k < (s->end < s->n - 1 ? s->end : s->n - 1); ++k)
    for (int j = 1; j < s->n - 1; ++j)
      for (int i = 1; i < s->n - 1; ++i) {
        const double *here = at(s, u, i, j, k), *w = at(s, u, i - 1, j, k), *e = at(s, u, i + 1, j, k),
                     *so = at(s, u, i, j - 1, k), *no = at(s, u, i, j + 1, k), *lo = at(s, u, i, j, k - 1),
                     *hi = at(s, u, i, j, k + 1);
        const double g = flow_at(here);
        double* out = at(s, to, i, j, k);
        for (int m = 0; m < quantities; ++m) {
          double sum = g * kFlow[m][m] * first * (e[m] - w[m] + no[m] - so[m] + hi[m] - lo[m]);
          sum -= second * (e[m] + w[m] + no[m] + so[m] + hi[m] + lo[m] - 6 * here[m]);
          for (int l = 0; l < quantities; ++l) sum += kReaction[m][l] * here[l];
          if (damped(i, s->n))
            sum += damping * fourth(here, w, at(s, u, i - 2, j, k), e, at(s, u, i + 2, j, k), m);
          if (damped(j, s->n))
            sum += damping * fourth(here, so, at(s, u, i, j - 2, k), no, at(s, u, i, j + 2, k), m);
          if (damped(k, s->n))
            sum += damping * fourth(here, lo, at(s, u, i, j, k - 2), hi, at(s, u, i, j, k + 2), m);
          out[m] = sum;
        }
      }
}

// What elimination leaves of a row: x = z - alpha * (next x) - beta * (the x after it).
struct Row {
  double alpha, beta, z;
};
// Eliminates row i of quantity m: the two rows before it, its right side, g there.
static struct Row eliminate(int i, int n, int m, double h, double g, double right, struct Row before,
                            struct Row second_before) {
  const double first = dt * g * kFlow[m][m] / (2 * h), second = dt * kViscosity / (h * h);
  const double damping = damped(i, n) ? dt * kDamping / h : 0;
  const double far = damping, low = -first - second - 4 * damping, high = first - second - 4 * damping;
  const double diagonal = 1 + 2 * second + 6 * damping;
  const double gamma = low - second_before.alpha * far;
  const double pivot = diagonal - second_before.beta * far - before.alpha * gamma;
  return (struct Row){(high - before.beta * gamma) / pivot, far / pivot,
                      (right - second_before.z * far - before.z * gamma) / pivot};
}

// A line within this rank: `stride` values from one point to the next; x replaces the right side.
static void solve_line(int n, double h, double* right, size_t stride, const double* flow, size_t flow_stride,
                       struct Row* rows) {
  for (int m = 0; m < quantities; ++m) {
    const struct Row face = {0, 0, 0};
    rows[0] = rows[n - 1] = face;
    for (int i = 1; i < n - 1; ++i)
      rows[i] = eliminate(i, n, m, h, flow[(size_t)i * flow_stride], right[(size_t)i * stride + (size_t)m],
                          rows[i - 1], i > 1 ? rows[i - 2] : face);
    double next = 0, after = 0;
    for (int i = n - 2; i >= 1; --i) {
      const double x = rows[i].z - rows[i].alpha * next - rows[i].beta * after;
      right[(size_t)i * stride + (size_t)m] = x;
      after = next;
      next = x;
    }
  }
}

// Lines along z, in groups of rows j: a group goes on to the next rank while this one eliminates the next
// group.
enum { kGroups = 4 };
static void solve_along_k(const struct Corpus* c, const struct Slab* s, double* right, const double* flow,
                          struct Row* rows, struct Row* edge) {
  const size_t n = (size_t)s->n, width = n * quantities;
  const int below = c->rank > 0 ? c->rank - 1 : MPI_PROC_NULL;
  const int above = c->rank + 1 < c->ranks ? c->rank + 1 : MPI_PROC_NULL;
  for (int group = 0; group < kGroups; ++group) {
    const int j_begin = part_begin(s->n, kGroups, group), j_end = part_begin(s->n, kGroups, group + 1);
    const size_t lines = (size_t)(j_end - j_begin) * width;
    // The last two rows of the rank below, of each line: zeros where there is none.
    for (size_t l = 0; l < 2 * lines; ++l) edge[l] = (struct Row){0, 0, 0};
    MPI_Recv(edge, (int)lines * 6, MPI_DOUBLE, below, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int k = s->begin; k < s->end; ++k)
      for (int j = j_begin; j < j_end; ++j)
        for (size_t i = 0; i < n; ++i)
          for (int m = 0; m < quantities; ++m) {
            const size_t line = (size_t)(j - j_begin) * width + i * quantities + (size_t)m;
            const size_t place =
                (size_t)(k - s->begin) * s->plane + (size_t)j * s->row + i * quantities + (size_t)m;
            const struct Row before = k > s->begin ? rows[place - s->plane] : edge[lines + line];
            const struct Row second_before = k > s->begin + 1    ? rows[place - 2 * s->plane]
                                             : k == s->begin + 1 ? edge[lines + line]
                                                                 : edge[line];
            const double g = flow[((size_t)(k - s->begin) * n + (size_t)j) * n + i];
            rows[place] = k == 0 || k == s->n - 1
                              ? (struct Row){0, 0, 0}
                              : eliminate(k, s->n, m, s->h, g, at(s, right, 0, 0, s->begin)[place], before,
                                          second_before);
          }
    // (Every rank has two planes at least: make_slab() with a halo of two says so.)
    const size_t top = (size_t)(s->end - 1 - s->begin) * s->plane + (size_t)j_begin * s->row;
    for (size_t l = 0; l < lines; ++l) {
      edge[l] = rows[top - s->plane + l];
      edge[lines + l] = rows[top + l];
    }
    MPI_Send(edge, (int)lines * 6, MPI_DOUBLE, above, 3, MPI_COMM_WORLD);
  }
  double* x_edge = (double*)edge;
  for (int group = 0; group < kGroups; ++group) {
    const int j_begin = part_begin(s->n, kGroups, group), j_end = part_begin(s->n, kGroups, group + 1);
    const size_t lines = (size_t)(j_end - j_begin) * width;
    // The first two planes of the rank above.
    for (size_t l = 0; l < 2 * lines; ++l) x_edge[l] = 0;
    MPI_Recv(x_edge, (int)lines * 2, MPI_DOUBLE, above, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int k = s->end - 1; k >= s->begin; --k)
      for (size_t l = 0; l < lines; ++l) {
        const size_t place = (size_t)(k - s->begin) * s->plane + (size_t)j_begin * s->row + l;
        double* x = at(s, right, 0, 0, s->begin) + place;
        const double next = k + 1 < s->end ? x[s->plane] : x_edge[l];
        const double after = k + 2 < s->end    ? x[2 * s->plane]
                             : k + 2 == s->end ? x_edge[l]
                                               : x_edge[lines + l];
        *x = rows[place].z - rows[place].alpha * next - rows[place].beta * after;
      }
    const double* bottom = at(s, right, 0, j_begin, s->begin);
    for (size_t l = 0; l < lines; ++l) {
      x_edge[l] = bottom[l];
      x_edge[lines + l] = bottom[s->plane + l];
    }
    MPI_Send(x_edge, (int)lines * 2, MPI_DOUBLE, below, 4, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  static const int steps[size_count] = {12, 80, 240, 500, 880};
  struct Corpus c;
  corpus_begin(&c, "sp", &argc, &argv, steps);
  const struct Slab s = make_slab(&c, kPoints[c.size], 2);
  double *u = slab_field(&c, &s), *solution = slab_field(&c, &s), *force = slab_field(&c, &s),
         *right = slab_field(&c, &s);
  const size_t n = (size_t)s.n, points = (size_t)(s.end - s.begin) * n * n;
  double* flow = corpus_memory(&c, points, sizeof *flow);
  struct Row *line = corpus_memory(&c, n, sizeof *line),
             *rows = corpus_memory(&c, points * quantities, sizeof *rows),
             *edge = corpus_memory(&c, 2 * (n / kGroups + 1) * n * quantities, sizeof *edge);
  dt = kTime / c.steps;
  fill_slab(&s, solution, u);
  apply_operator(&s, solution, force);
  const double at_start = slab_error(&s, u, solution);
  for (int step = 1; step <= c.steps; ++step) {
    corpus_step(&c, step, slab_values(&s, u));
    exchange_planes(&c, &s, u);
    apply_operator(&s, u, right);
    make_right_side(&s, dt, u, force, right, flow);
    for (int k = s.begin; k < s.end; ++k) {
      if (k == 0 || k == s.n - 1) continue;
      const double* g = flow + (size_t)(k - s.begin) * n * n;
      for (int j = 1; j < s.n - 1; ++j)
        solve_line(s.n, s.h, at(&s, right, 0, j, k), quantities, g + (size_t)j * n, 1, line);
      for (int i = 1; i < s.n - 1; ++i) solve_line(s.n, s.h, at(&s, right, i, 0, k), s.row, g + i, n, line);
    }
    solve_along_k(&c, &s, right, flow, rows, edge);
    add_to(&s, u, right);
  }
  const double at_end = slab_error(&s, u, solution);
  return corpus_end(&c, slab_digest(&s, u), not_nearer(at_start, at_end, 4));
}
