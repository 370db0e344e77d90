/* SPDX-License-Identifier: Apache-2.0
 * wave: an MPI program that goes on after a fault from the state of its memory (libsickbay-ckpt).
 *
 *     wave [STEPS=2000 [SIZE=512 [MILLISECONDS=0]]]
 *
 * Saves every minute of work, or as SICKBAY_CHECKPOINT_EVERY and _MTTF say, and whenever somebody asks;
 * begins with the newest checkpoint of its job.  What is computed: plate.h. */
#include <sickbay_ckpt.h>
#include <time.h>

#include "plate.h"

static sickbay_ckpt* ckpt;

static void must(int code) {
  if (code != SICKBAY_CKPT_OK) stop(sickbay_ckpt_error(ckpt));
}

/* A name for this start, the same on all ranks, that comes never again. */
static void open_checkpoints(void) {
  char session[60];
  if (rank == 0) snprintf(session, sizeof session, "%lld-%ld", (long long)time(NULL), (long)getpid());
  MPI_Bcast(session, sizeof session, MPI_CHAR, 0, MPI_COMM_WORLD);
  must(sickbay_ckpt_open_as(&ckpt, NULL, rank, ranks, session));
  must(sickbay_ckpt_every(ckpt, 60));
}

/* The three bands change places with each step, so it is said anew where the two are that are state. */
static void name_state(void) {
  must(sickbay_ckpt_memory(ckpt, "now", now, band_bytes()));
  must(sickbay_ckpt_memory(ckpt, "before", before, band_bytes()));
  must(sickbay_ckpt_memory(ckpt, "step", &step, sizeof step));
}

int main(int argc, char** argv) {
  begin(argc, argv);
  open_checkpoints();
  name_state();
  long long from = 0;
  must(sickbay_ckpt_restore(ckpt, &from, NULL, 0)); /* 0: there is none yet */
  if (rank == 0)
    printf("wave: %d ranks, from step %lld of %ld, checkpoint %lld\n", ranks, (long long)step, steps, from);
  fflush(stdout);

  while (step < steps) {
    compute_step();
    int due = sickbay_ckpt_due(ckpt); /* rank 0 decides for all */
    MPI_Bcast(&due, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!due) continue;
    char label[40];
    snprintf(label, sizeof label, "step %lld", (long long)step);
    name_state();
    /* One that failed is no reason to end: the one before is there, and the next is tried in its time. */
    if (sickbay_ckpt_save(ckpt, label) != SICKBAY_CKPT_OK && rank == 0)
      fprintf(stderr, "%s\n", sickbay_ckpt_error(ckpt));
  }
  sickbay_ckpt_close(ckpt);
  return end();
}
