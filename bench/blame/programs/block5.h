// SPDX-License-Identifier: Apache-2.0
// Block5: 5 x 5 matrices and vectors, as the blocks of lu and bt are.
#pragma once

enum { block5 = 5 };

// to -= matrix * from
static inline void subtract_product(double to[block5], double matrix[block5][block5],
                                    const double from[block5]) {
  for (int i = 0; i < block5; ++i) {
    double sum = 0;
    for (int j = 0; j < block5; ++j) sum += matrix[i][j] * from[j];
    to[i] -= sum;
  }
}

// to -= a * b
static inline void subtract_block_product(double to[block5][block5], double a[block5][block5],
                                          double b[block5][block5]) {
  for (int i = 0; i < block5; ++i)
    for (int j = 0; j < block5; ++j) {
      double sum = 0;
      for (int k = 0; k < block5; ++k) sum += a[i][k] * b[k][j];
      to[i][j] -= sum;
    }
}

// x = matrix^-1 x; and right = matrix^-1 right, where there is one.  By Gauss without a choice of pivots: the
// diagonals are the largest by far.  The matrix is used up.
static inline void solve_block(double matrix[block5][block5], double x[block5], double (*right)[block5]) {
  for (int p = 0; p < block5; ++p) {
    const double inverse = 1 / matrix[p][p];
    for (int j = p + 1; j < block5; ++j) matrix[p][j] *= inverse;
    if (right)
      for (int j = 0; j < block5; ++j) right[p][j] *= inverse;
    x[p] *= inverse;
    for (int i = 0; i < block5; ++i) {
      if (i == p) continue;
      const double factor = matrix[i][p];
      for (int j = p + 1; j < block5; ++j) matrix[i][j] -= factor * matrix[p][j];
      if (right)
        for (int j = 0; j < block5; ++j) right[i][j] -= factor * right[p][j];
      x[i] -= factor * x[p];
    }
  }
}
