/* SPDX-License-Identifier: Apache-2.0
 * A program in plain C99 that uses sickbay_ckpt.h: for sickbay_ckpt_test.cc, which runs it.
 *
 *     ckpt_c_program save|restore|due|cost
 *
 * One process; prints what it did. */
#include <sickbay_ckpt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double grid[1000];
static long step;

static int failed(sickbay_ckpt* ckpt, int code) {
  fprintf(stderr, "%d\n%s", code, sickbay_ckpt_error(ckpt));
  sickbay_ckpt_close(ckpt);
  return code;
}

/* Nanoseconds of one sickbay_ckpt_due, while nothing is due. */
static void cost_of_due(sickbay_ckpt* ckpt) {
  struct timespec from, to;
  long i, some = 0;
  const long calls = 20000000;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (i = 0; i < calls; ++i) some += sickbay_ckpt_due(ckpt);
  clock_gettime(CLOCK_MONOTONIC, &to);
  printf("due %ld times, %.1f ns each\n", some,
         ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / (double)calls);
}

int main(int argc, char** argv) {
  sickbay_ckpt* ckpt = NULL;
  long long number = -1;
  char label[8];
  int code, i;
  const char* what = argc > 1 ? argv[1] : "";
  if ((code = sickbay_ckpt_open(&ckpt, NULL)) != SICKBAY_CKPT_OK) return failed(NULL, code);
  if ((code = sickbay_ckpt_memory(ckpt, "grid", grid, sizeof grid)) != SICKBAY_CKPT_OK ||
      (code = sickbay_ckpt_memory(ckpt, "step", &step, sizeof step)) != SICKBAY_CKPT_OK ||
      (code = sickbay_ckpt_every(ckpt, 3600)) != SICKBAY_CKPT_OK)
    return failed(ckpt, code);
  if (strcmp(what, "save") == 0) {
    for (i = 0; i < 1000; ++i) grid[i] = i / 7.0;
    step = 12;
    if ((code = sickbay_ckpt_save(ckpt, "step 12")) != SICKBAY_CKPT_OK) return failed(ckpt, code);
  } else if (strcmp(what, "restore") == 0) {
    if ((code = sickbay_ckpt_restore(ckpt, &number, label, sizeof label)) != SICKBAY_CKPT_OK)
      return failed(ckpt, code);
    printf("%lld %s %ld %.17g\n", number, label, step, grid[999]);
  } else if (strcmp(what, "due") == 0) {
    printf("%d\n", sickbay_ckpt_due(ckpt));
  } else {
    cost_of_due(ckpt);
  }
  sickbay_ckpt_close(ckpt);
  return 0;
}
