// SPDX-License-Identifier: Apache-2.0
// Field: what the three solvers of the corpus (lu, bt, sp) have in common: five quantities on the n x n x n
// points of a cube, an exact solution, the start beside it, and the digest of what was computed.
//
// The problem is a made one: a right-hand side is computed from the exact solution by the very differences
// that the solver uses, so that the exact solution is where the solver must go, and the values at the faces
// are its own.  NPB's pseudo-applications do likewise (RNR-94-007, section 3).  Only sums, products and
// quotients are used, in an order that does not hang on the number of ranks: the result is the same bit for
// bit with any.
#pragma once
#include <math.h>

#include "corpus.h"

enum { quantities = 5 };

// The coupling of the quantities by flow, and by reaction (rows add up to more than 0: it calms down).
static const double kFlow[quantities][quantities] = {{0.60, 0.20, -0.10, 0.05, 0.10},
                                                     {0.15, 0.80, 0.10, -0.05, 0.05},
                                                     {-0.10, 0.05, 0.70, 0.20, 0.00},
                                                     {0.05, -0.10, 0.15, 0.90, 0.10},
                                                     {0.10, 0.00, 0.05, -0.15, 0.50}};
static const double kReaction[quantities][quantities] = {{0.90, -0.20, 0.10, 0.00, -0.10},
                                                         {-0.10, 1.00, -0.20, 0.10, 0.00},
                                                         {0.05, -0.15, 0.80, -0.10, 0.10},
                                                         {0.00, 0.10, -0.10, 1.10, -0.20},
                                                         {-0.10, 0.05, 0.00, -0.20, 0.95}};
static const double kViscosity = 0.1;

// The exact solution: a polynomial of second degree, another for each quantity.
static inline double exact(int m, double x, double y, double z) {
  return 1 + 0.1 * m + (0.5 - 0.1 * m) * x * (1 - 0.3 * y) + (0.2 + 0.05 * m) * y * z +
         0.3 * z * (x - 0.5 * z) - 0.1 * (m + 1) * y * y;
}
// What the start has more than the exact solution: nothing at the faces, one at most.
static inline double bump(int m, double x, double y, double z) {
  return 64 * x * (1 - x) * y * (1 - y) * z * (1 - z) * (0.6 + 0.1 * m);
}

// A part of the digest of value `u` of quantity m at point (i, j, k), to 2^-32.
static inline uint64_t digest_of(double u, int m, int i, int j, int k) {
  const double scaled = u * 0x1p32;
  const int64_t whole = scaled > -9e18 && scaled < 9e18 ? (int64_t)floor(scaled + 0.5) : INT64_MIN;
  return mixed((uint64_t)m + 8 * ((uint64_t)i + 1024 * ((uint64_t)j + 1024 * (uint64_t)k))) * (uint64_t)whole;
}

// The largest difference of all ranks' own.
static inline double largest(double own) {
  MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return own;
}
// Whether a solver has come nearer to the exact solution by this factor, in the words of corpus_end().
static inline const char* not_nearer(double at_start, double at_end, double factor) {
  return at_end * factor < at_start ? NULL : "the solver has not come near the exact solution";
}
