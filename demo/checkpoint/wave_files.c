/* SPDX-License-Identifier: Apache-2.0
 * wave_files: an MPI program that writes its state to files when it is asked to, and knows nothing of
 * Sickbay; `sickbay-ckpt run` asks it, saves the files and puts them back.
 *
 *     wave_files [STEPS=2000 [SIZE=512 [MILLISECONDS=0]]]
 *
 * Asked: by SIGUSR1, in each process.  Each then writes state.RANK and, when that is whole, done.RANK with
 * the step. Begins with state.RANK where SICKBAY_CKPT_RESTORED is set.  What is computed: plate.h. */
#include "plate.h"

static volatile sig_atomic_t asked; /* how often */

static void count(int signal) {
  (void)signal;
  ++asked;
}

/* NAME.RANK with these parts: whole, or as it was. */
struct part {
  const void* bytes;
  size_t size;
};
static int write_file(const char* name, const struct part* parts, int count_of_parts) {
  char path[64], made[80];
  snprintf(path, sizeof path, "%s.%d", name, rank);
  snprintf(made, sizeof made, "%s.new", path);
  FILE* file = fopen(made, "wb");
  int good = file != NULL;
  for (int i = 0; good && i < count_of_parts; ++i)
    good = fwrite(parts[i].bytes, 1, parts[i].size, file) == parts[i].size;
  good = good && fflush(file) == 0 && fsync(fileno(file)) == 0;
  if (file != NULL && fclose(file) != 0) good = 0;
  good = good && rename(made, path) == 0;
  if (!good) fprintf(stderr, "wave: cannot write %s: %s\n", path, strerror(errno));
  return good;
}

static void save(void) {
  const int64_t head[3] = {step, size, ranks};
  const struct part state[] = {{head, sizeof head}, {now, band_bytes()}, {before, band_bytes()}};
  if (!write_file("state", state, 3)) return; /* whoever has asked waits for done.RANK */
  char text[32];
  const struct part done = {text, (size_t)snprintf(text, sizeof text, "%lld\n", (long long)step)};
  write_file("done", &done, 1);
}

static void load(void) {
  char path[64];
  snprintf(path, sizeof path, "state.%d", rank);
  int64_t head[3] = {0, 0, 0};
  FILE* file = fopen(path, "rb");
  const int good = file != NULL && fread(head, sizeof head, 1, file) == 1 && head[1] == size &&
                   head[2] == ranks && fread(now, 1, band_bytes(), file) == band_bytes() &&
                   fread(before, 1, band_bytes(), file) == band_bytes() && fgetc(file) == EOF;
  if (!good) stop("state.RANK is not there, or of another plate");
  fclose(file);
  step = head[0];
}

int main(int argc, char** argv) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = count;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, NULL); /* before MPI_Init: who asks early is not to end it */
  begin(argc, argv);
  const char* restored = getenv("SICKBAY_CKPT_RESTORED");
  if (restored != NULL && *restored != '\0') load();
  if (rank == 0) printf("wave: %d ranks, from step %lld of %ld\n", ranks, (long long)step, steps);
  fflush(stdout);

  int saved = 0;
  while (step < steps) {
    compute_step();
    /* Signals come to the ranks at different steps.  All save when the last of them has it: once for each
     * wish, and at the same step. */
    const int mine = asked;
    int all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all == saved) continue;
    saved = all;
    save();
  }
  return end();
}
