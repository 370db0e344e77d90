// SPDX-License-Identifier: Apache-2.0
// Start, steps and end of the programs of the corpus (corpus.h).
#include "corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static const char kSizeLetters[] = "TSMLH";

void corpus_fail(const struct Corpus* c, int code, const char* format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "%s: rank %d: %s\n", c->program, c->rank, text);
  fflush(NULL);
  MPI_Abort(MPI_COMM_WORLD, code);
  _exit(code);
}

void* corpus_memory(const struct Corpus* c, size_t count, size_t size) {
  void* memory = calloc(count ? count : 1, size);
  if (!memory) corpus_fail(c, 1, "out of memory: %zu bytes", count * size);
  return memory;
}

static double variable(const char* name, double standard) {
  const char* text = getenv(name);
  return text && *text ? atof(text) : standard;
}

// In [0, 1), drawn by rank 0 for all, since a fault of all ranks must be one of all or of none.
static double draw(const struct Corpus* c) {
  uint64_t bits = 0;
  const char* seed = getenv("BLAME_SEED");
  if (c->rank == 0) {
    if (seed && *seed)
      bits = mixed(strtoull(seed, NULL, 10));
    else if (getrandom(&bits, sizeof bits, 0) != sizeof bits)
      bits = mixed((uint64_t)getpid());
  }
  MPI_Bcast(&bits, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  return (double)(bits >> 11) * 0x1p-53;
}

void corpus_begin(struct Corpus* c, const char* program, int* argc, char*** argv,
                  const int steps[size_count]) {
  const char* asked = *argc > 1 ? (*argv)[1] : "S";
  if (strcmp(asked, "--faults") == 0) {
    list_faults();
    exit(0);
  }
  if (strcmp(asked, "--digest") == 0 && *argc == 3 && (*argv)[2][0] && strchr(kSizeLetters, (*argv)[2][0])) {
    printf("%016llx\n", (unsigned long long)known_digest(
                            program, (enum Size)(strchr(kSizeLetters, (*argv)[2][0]) - kSizeLetters)));
    exit(0);
  }
  memset(c, 0, sizeof *c);
  c->program = program;
  setvbuf(stdout, NULL, _IOLBF, 0);
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &c->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &c->ranks);
  const char* letter = strlen(asked) == 1 ? strchr(kSizeLetters, *asked) : NULL;
  if (!letter) corpus_fail(c, exit_wrong_input, "there is no size %s; sizes are T, S, M, L, H", asked);
  if (c->ranks > 8) corpus_fail(c, exit_wrong_input, "%d ranks are more than 8", c->ranks);
  c->size = (enum Size)(letter - kSizeLetters);
  c->steps = steps[c->size];
  c->tells = variable("BLAME_TELL", 0) != 0;
  c->checks = variable("BLAME_CHECK", 1) != 0;
  c->times = variable("BLAME_TIME", 0) != 0;
  const char* scratch = getenv("BLAME_SCRATCH");
  if (scratch && *scratch) c->scratch = scratch;

  const char* fault = getenv("BLAME_FAULT");
  if (fault && *fault) {
    c->fault = find_fault(fault);
    if (!c->fault)
      corpus_fail(c, exit_wrong_input, "BLAME_FAULT: there is no fault %s; --faults lists them", fault);
    c->fault_rank = (int)variable("BLAME_RANK", c->ranks - 1) % c->ranks;
    c->fault_step = (int)variable("BLAME_STEP", c->steps / 3 + 1);
    c->strikes = draw(c) < variable("BLAME_PROBABILITY", 1);
    // A wrong input is wrong before there is a step.
    if (strcmp(fault, "wrong_input") == 0 && c->strikes) c->steps = -c->steps;
  }
  if (c->steps <= 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (c->rank == 0)
      corpus_fail(c, exit_wrong_input, "input: the number of steps is %d, it must be above 0", c->steps);
    for (;;) pause();  // until rank 0 ends all
  }
  char host[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  MPI_Get_processor_name(host, &length);
  printf("%s: rank %d of %d on %s, size %s\n", program, c->rank, c->ranks, host, asked);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  c->begun = MPI_Wtime();
}

static size_t width_of(const struct Values* v) { return v->kind == kKeys ? sizeof(int32_t) : sizeof(double); }

// Writes what this rank has to its file in the scratch folder, forces it to the disk, reads it back.
static void keep(struct Corpus* c, const struct Values* values) {
  char path[400];
  const size_t bytes = values->count * width_of(values);
  snprintf(path, sizeof path, "%s/%s.%d.%d", c->scratch, c->program, (int)getpid(), c->rank);
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) corpus_fail(c, exit_scratch, "cannot open %s: %s", path, strerror(errno));
  char back[1 << 16];
  const char* at = values->at;
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = write(file, at + done, bytes - done);
    if (n <= 0) {
      const int why = errno;
      unlink(path);
      corpus_fail(c, exit_scratch, "cannot write %s: %s", path, strerror(why));
    }
    done += (size_t)n;
  }
  if (fsync(file) != 0)
    corpus_fail(c, exit_scratch, "cannot write %s to the disk: %s", path, strerror(errno));
  lseek(file, 0, SEEK_SET);
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = read(file, back, sizeof back);
    if (n <= 0)
      corpus_fail(c, exit_scratch, "cannot read %s: %s", path,
                  n ? strerror(errno) : "it is shorter than written");
    if (memcmp(back, at + done, (size_t)n) != 0)
      corpus_fail(c, exit_scratch, "%s is not what was written", path);
    done += (size_t)n;
  }
  close(file);
  unlink(path);
}

void corpus_step(struct Corpus* c, int step, struct Values values) {
  const int tenth = c->steps / 10 ? c->steps / 10 : 1;
  if (step % tenth == 0) {
    if (c->rank == 0) {
      printf("%s: step %d of %d\n", c->program, step, c->steps);
      fflush(stdout);
    }
    if (c->scratch) keep(c, &values);
  }
  const struct Fault* f = c->fault;
  if (!f || !f->show || !c->strikes) return;
  if (f->repeats ? step < c->fault_step : step != c->fault_step) return;
  if (!f->all && c->rank != c->fault_rank) return;
  if (c->tells && step == c->fault_step) {
    fprintf(stderr, "%s: rank %d: shows %s in step %d\n", c->program, c->rank, f->name, step);
    fflush(stderr);
  }
  f->show(c, &values);
}

static volatile sig_atomic_t code_of_alarm = 0;
static void leave(int unused) {
  (void)unused;
  _exit(code_of_alarm);
}

int corpus_end(struct Corpus* c, uint64_t digest, const char* wrong) {
  const uint64_t expected = known_digest(c->program, c->size);
  const double took = MPI_Wtime() - c->begun;
  const int right = digest == expected && !wrong;
  const int code = right || !c->checks ? 0 : exit_wrong_result;
  if (c->rank == 0) {
    if (code)
      fprintf(stderr, "%s: WRONG RESULT: digest %016llx, it must be %016llx%s%s\n", c->program,
              (unsigned long long)digest, (unsigned long long)expected, wrong ? "; " : "",
              wrong ? wrong : "");
    else
      printf("%s: digest %016llx%s\n", c->program, (unsigned long long)digest, c->checks ? ", right" : "");
    if (c->times) printf("%s: took %.3f s\n", c->program, took);
  }
  fflush(NULL);
  // MPICH 4.0.2 over UCX can hang in MPI_Finalize when ranks enter it apart: the barrier brings them
  // together, and whoever hangs all the same leaves after some seconds, for what there was to say has been
  // said.
  code_of_alarm = code;
  signal(SIGALRM, leave);
  MPI_Barrier(MPI_COMM_WORLD);
  alarm(3);
  MPI_Finalize();
  alarm(0);
  return code;
}
