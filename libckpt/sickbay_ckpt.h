/* SPDX-License-Identifier: Apache-2.0
 * libsickbay-ckpt: a program of a job says what its state is, saves it, and goes on from it in the next
 * start.
 *
 *     sickbay_ckpt *ckpt;
 *     sickbay_ckpt_open(&ckpt, NULL);
 *     sickbay_ckpt_memory(ckpt, "grid", grid, bytes);
 *     sickbay_ckpt_memory(ckpt, "step", &step, sizeof step);
 *     sickbay_ckpt_restore(ckpt, &number, NULL, 0);      (0: from the beginning)
 *     for (; step < steps; ++step) {
 *       int due = sickbay_ckpt_due(ckpt);
 *       MPI_Bcast(&due, 1, MPI_INT, 0, MPI_COMM_WORLD);
 *       if (due) sickbay_ckpt_save(ckpt, NULL);
 *       ...
 *     }
 *
 * Processes take part together: those of one session (a step of Slurm's).  They agree by files on the storage
 * that the checkpoints are kept on, so no MPI is needed and none is called.  sickbay_ckpt_restore and
 * sickbay_ckpt_save are collective: all processes call them, in the same order.
 *
 * What holds for all of it:
 *  - A call returns SICKBAY_CKPT_OK or another number of sickbay_ckpt_code; sickbay_ckpt_error has the text.
 *  - Not thread-safe: one thread at a time for all calls.  While sickbay_ckpt_save runs, no other thread (and
 *    no transfer of MPI under way) may change the state.
 *  - A checkpoint is that of all processes or none.  After an error the one before is the newest, and the
 *    program may compute on and try again later.  An error of one is one of all, but for processes that die
 * or are cut off: those that wait for them get SICKBAY_CKPT_TIMED_OUT, after 30 minutes without a sign.
 *  - No exception, no signal handler, no exit, no MPI.  Threads run only within a call, at most 8 and no more
 *    than there are processors for this process; they take no signals.  No file is left open over an exec.
 *    Output are notes alone, of rank 0, on the standard error: "sickbay-ckpt: note: ...".
 *  - After a save or a restore rank 0 starts the command `sickbay` (by posix_spawn, through a shell that ends
 * at once; it is not waited for), which tells sickbayd for the job's history. SICKBAY_PROGRAM names another
 *    one; set but empty: nothing is started.
 *  - A text is UTF-8 that ends with a NUL.
 *
 * Environment: SICKBAY_CHECKPOINTS, the folder of all checkpoints, which all processes see (else
 * sickbay-checkpoints in SLURM_SUBMIT_DIR); SICKBAY_SESSION (below); SICKBAY_CHECKPOINT_EVERY and
 * SICKBAY_CHECKPOINT_MTTF ("10m", "5d"), which go before what the program says; SICKBAY_CHECKPOINT_TIMEOUT,
 * in place of the 30 minutes; SICKBAY_CHECKPOINT_FAST, a folder of each node that is saved to first;
 * SICKBAY_CHECKPOINT_JOB, whose checkpoints where it is not SLURM_JOB_ID's; SICKBAY_LEAVING_FILE, by which
 * the node's agent tells that the node is drained, where it is not /run/sickbay-agent/leaving.
 *
 * The command sickbay-ckpt lists and verifies what is saved.  The last three checkpoints are kept.
 * Page: sickbay_ckpt(3), doc/design/checkpoint.md.  Fortran: sickbay_ckpt.f90.  Programs: demo/checkpoint.
 */
#ifndef SICKBAY_CKPT_H
#define SICKBAY_CKPT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

typedef enum {
  SICKBAY_CKPT_OK = 0,
  SICKBAY_CKPT_USAGE = 1,     /* an argument or a variable of the environment cannot be */
  SICKBAY_CKPT_NOT_FOUND = 2, /* what is named is not there: a checkpoint, a file */
  SICKBAY_CKPT_DAMAGED = 3,   /* no checkpoint is whole */
  SICKBAY_CKPT_CONFLICT = 4,  /* the processes do not agree, or the program is not as when it was saved */
  SICKBAY_CKPT_BUSY = 5,      /* another program works on these checkpoints */
  SICKBAY_CKPT_TIMED_OUT = 6, /* others did not come */
  SICKBAY_CKPT_FULL = 7,      /* no space left */
  SICKBAY_CKPT_STORAGE = 8,   /* the storage cannot be read or written, or this user may not */
  SICKBAY_CKPT_TOO_NEW = 9,   /* a newer release has saved it */
  SICKBAY_CKPT_SYSTEM = 10,   /* the system has no memory left, or refused something else */
  SICKBAY_CKPT_TORN = 11, /* restoring ended half-way: the state is of no use, end the program (all of it) */
  SICKBAY_CKPT_INTERNAL = 12 /* a fault of the library */
} sickbay_ckpt_code;

typedef struct sickbay_ckpt sickbay_ckpt;

/* Opens the checkpoints of this job.  `name` tells apart several programs of one job; NULL: there is one.
 * Which process this is Slurm's environment says (a step: srun), or PMI_RANK and PMI_SIZE with
 * SICKBAY_SESSION. Under mpiexec inside a job, where it starts the processes by a step of its own, Slurm's
 * numbers are not MPI's: use sickbay_ckpt_open_as.  On error *out is NULL, and sickbay_ckpt_error(NULL) has
 * the text. */
int sickbay_ckpt_open(sickbay_ckpt** out, const char* name);

/* The same as `rank` of `ranks` (from 0), as MPI has them.  `session` is the same for all of them and another
 * one for every start: up to 60 letters, digits, '.', '-' and '_', of which rank 0 thinks and which it
 * spreads.  NULL: Slurm's step, or SICKBAY_SESSION. */
int sickbay_ckpt_open_as(sickbay_ckpt** out, const char* name, long rank, long ranks, const char* session);

/* Nothing is saved by it.  Where SICKBAY_CHECKPOINT_FAST names a fast place it waits until what was saved
 * last has come from there to the shared storage.  NULL is let be. */
void sickbay_ckpt_close(sickbay_ckpt* ckpt);

/* `size` bytes at `bytes` are state, under a name without '/', which begins with no '.'.  They must stay
 * there until they are named again: the same name moves the part (two buffers that change places: name it
 * before each save), and NULL takes it out.  Restoring fills them in place. */
int sickbay_ckpt_memory(sickbay_ckpt* ckpt, const char* name, void* bytes, size_t size);

/* Files below the folder that was the current one at opening are state, too: a pattern of glob(7), in which
 * %t is the rank, %n the number of the node, %N its name and %j the job.  A pattern without the first three
 * names files that all processes see; each is saved by one of them.  At saving at least one file must fit. */
int sickbay_ckpt_file(sickbay_ckpt* ckpt, const char* pattern);

/* Collective.  Goes back to the newest checkpoint that is whole for all processes; all parts of memory must
 * be named, each of the size that it had, and there must be as many processes as there were.  `*number` is
 * that of the checkpoint, 0 where there is none yet, which is no error; the text that it was saved with goes
 * to `label`, which has room for `size` bytes (cut short where it is longer).  Both may be NULL. All is read
 * and compared with its digests by all processes before anything is changed by any: after an error the memory
 * is as it was, but after SICKBAY_CKPT_TORN, when the storage failed between the two readings. */
int sickbay_ckpt_restore(sickbay_ckpt* ckpt, long long* number, char* label, size_t size);

/* Is a checkpoint due?  1 or 0, on rank 0; elsewhere 0.  Rank 0 alone decides since clocks differ, and a
 * process that saves while another computes on waits for it in vain: the program spreads the answer where it
 * has all processes together anyway, as by MPI_Bcast.  Cheap enough for every step: mostly one look at a
 * clock (60 ns), and at most once a second at three files, by which somebody may have asked.  It stays 1
 * until a save.  Elsewhere it looks at the file of that process's own node alone: one is due when that node
 * is drained, so call it in all processes. */
int sickbay_ckpt_due(sickbay_ckpt* ckpt);

/* Collective.  Saves the state; `label` says what it is ("step 1200"; NULL: ""), at most 200 bytes, the same
 * on all processes: one that saves another state fails the checkpoint. */
int sickbay_ckpt_save(sickbay_ckpt* ckpt, const char* label);

/* How much time lies between two checkpoints that are due: so many seconds; or, by Daly's formula, what fits
 * a mean time of so many seconds between failures of the job, and what the last checkpoints cost.  0: not by
 * this.  The first goes before the second; without both one is due when somebody asks, and before the job's
 * time limit. */
int sickbay_ckpt_every(sickbay_ckpt* ckpt, double seconds);
int sickbay_ckpt_mttf(sickbay_ckpt* ckpt, double seconds);

/* What the last call that failed was told, in lines: the error, its cause and its remedy.  "" where none
 * failed. It lasts until the next call.  NULL: of the last open that failed, of any thread. */
const char* sickbay_ckpt_error(const sickbay_ckpt* ckpt);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
