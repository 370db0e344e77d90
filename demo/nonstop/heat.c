/* SPDX-License-Identifier: Apache-2.0
 * heat: an MPI program that outlives its nodes.
 *
 *     heat FOLDER [STEPS=2000] [SIZE=256] [EVERY=100]
 *
 * Heat spreads over a square of SIZE x SIZE points, cut into bands of rows, one for each rank.  Every EVERY
 * steps rank 0 saves the whole square in FOLDER/checkpoint, and a new start goes on from there, with as many
 * ranks as it has: how a point is computed does not depend on how the square is cut, so FOLDER/result is the
 * same to the bit whatever happened on the way.
 *
 * In a job of Slurm rank 0 subscribes to the job's events (libsmd).  Wherever it waits for others it looks at
 * them, for when a node dies the others wait for ever: failed   it gets another node, or drops the lost one,
 * writes FOLDER/nodes.sh and ends the step (exit code 75); failing  all save what they have, end in good
 * order (75), and then the same. The job's script (job.sh) sources FOLDER/nodes.sh and starts the next step.
 * Without Slurm, and where the service is away, it just computes.
 *
 * For trials without a cluster: HEAT_DIE=STEP:RANK:SIGNAL raises the signal in that rank, once; 19 (SIGSTOP)
 * is what a dead node looks like to the others. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <smd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GO_ON_LATER 75    /* exit code: this step is over, the work is not */
#define WAIT_FOR_NODE 300 /* seconds for a replacement; then the node is dropped */
#define LOOK_EVERY 0.05   /* seconds between two looks at the events */
#define HEAR_FIRST 200    /* milliseconds for the first event of a stream */

static int rank, ranks;
static const char* folder;
static long steps = 2000, size = 256, every = 100;

/* ---- rank 0 and the job's nodes ---- */

static uint32_t job;         /* 0: not in a job, or no service */
static smd_events_t* events; /* NULL: not open at present */
static uint64_t last_event;
static double look_at, open_at;
static int nodes_failing; /* leave at the next checkpoint */

static void path_of(char* path, size_t room, const char* name) {
  snprintf(path, room, "%s/%s", folder, name);
}

static void say(const char* what) {
  fprintf(stderr, "heat: %s: %s %s\n", what, smd_nonstop_errstr(errno), smd_nonstop_why());
}

/* The job's new nodes, for the next step.  Names of nodes have no quotes in them. */
static void write_nodes(const struct new_node_set* set) {
  if (set->new_nodelist == NULL || strchr(set->new_nodelist, '\'') != NULL) return;
  char made[4096], path[4096];
  path_of(path, sizeof path, "nodes.sh");
  path_of(made, sizeof made, "nodes.sh.new");
  FILE* file = fopen(made, "w");
  if (file == NULL) return;
  fprintf(file, "export SLURM_NODELIST='%s'\nexport SLURM_JOB_NODELIST='%s'\n", set->new_nodelist,
          set->new_nodelist);
  fprintf(file, "export SLURM_NNODES=%d\nexport SLURM_JOB_NUM_NODES=%d\n", set->new_node_cnt,
          set->new_node_cnt);
  if (set->new_cpus_per_node != NULL)
    fprintf(file, "export SLURM_JOB_CPUS_PER_NODE='%s'\n", set->new_cpus_per_node);
  fprintf(file, "unset SLURM_TASKS_PER_NODE\n");
  if (fclose(file) == 0) rename(made, path);
}

/* Another node for this one, or on without it. */
static void replace_or_drop(const char* node) {
  char name[256];
  snprintf(name, sizeof name, "%s", node);
  const time_t until = time(NULL) + WAIT_FOR_NODE;
  struct replace_node_request ask = {job, name};
  struct replace_node_reply reply;
  while (time(NULL) < until) {
    memset(&reply, 0, sizeof reply);
    if (smd_replace_job_node(&ask, &reply) != 0) {
      say("no replacement");
      break;
    }
    if (reply.replacement_node != NULL) {
      printf("heat: node %s replaced by %s\n", node, reply.replacement_node);
      write_nodes(&reply.new_set);
      smd_free_replace_job_node_reply(&reply);
      return;
    }
    smd_free_replace_job_node_reply(&reply); /* later: ask again */
    const struct timespec second = {1, 0};
    nanosleep(&second, NULL);
  }
  struct drop_node_request drop = {job, name};
  struct drop_node_reply dropped;
  memset(&dropped, 0, sizeof dropped);
  if (smd_drop_job_node(&drop, &dropped) != 0) {
    say("the node cannot be dropped");
    return; /* nonstop.sh tries once more when the step has ended */
  }
  printf("heat: node %s dropped\n", node);
  write_nodes(&dropped.new_set);
  smd_free_drop_job_node_reply(&dropped);
}

/* Cares for the job's faulty nodes of these states; how many there were. */
static int care_for(int states) {
  struct faulty_node_request ask = {job, (uint16_t)states};
  struct faulty_node_reply reply;
  memset(&reply, 0, sizeof reply);
  if (smd_get_job_faulty_nodes(&ask, &reply) != 0) return 0;
  const int found = reply.num;
  for (int i = 0; i < found; ++i) replace_or_drop(reply.nodes[i].node_name);
  smd_free_job_faulty_nodes_reply(&reply);
  return found;
}

static int any_faulty(int state) {
  struct faulty_node_request ask = {job, (uint16_t)state};
  struct faulty_node_reply reply;
  memset(&reply, 0, sizeof reply);
  if (smd_get_job_faulty_nodes(&ask, &reply) != 0) return 0;
  const int found = reply.num;
  smd_free_job_faulty_nodes_reply(&reply);
  return found;
}

/* Looks at the events; does not return where a node has failed.  An event says only that there is something
 * to ask for: it may be of a node that has been replaced since. */
static void look_at_events(void) {
  const double now = MPI_Wtime();
  if (job == 0 || now < look_at) return;
  look_at = now + LOOK_EVERY;
  int patience = 0;
  if (events == NULL) {
    if (now < open_at) return;
    open_at = now + 1;
    events = smd_open_events(job, last_event);
    if (events == NULL) return;
    patience =
        HEAR_FIRST; /* what has happened so far comes at once, and should be known before the work begins */
  }
  smd_event_t event;
  int got, failed = 0, failing = 0;
  while ((got = smd_next_event(events, &event, patience)) > 0) {
    patience = 0;
    last_event = event.number;
    failed |= event.event_type == SMD_EVENT_NODE_FAILED;
    failing |= event.event_type == SMD_EVENT_NODE_FAILING;
    smd_free_event(&event);
  }
  if (got < 0) { /* the service went away: again from the last number on, in a second */
    smd_close_events(events);
    events = NULL;
  }
  if (failing && any_faulty(FAILING_NODES) > 0) nodes_failing = 1;
  if (failed && care_for(FAILED_NODES) > 0) {
    printf("heat: a node has failed; the next step goes on from the checkpoint\n");
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, GO_ON_LATER); /* the other ranks wait for one that is gone */
    exit(GO_ON_LATER);
  }
}

/* MPI_Waitall that sees events. */
static void wait_all(int count, MPI_Request* requests) { /* at most four */
  MPI_Status ended[4];
  if (rank != 0 || job == 0) {
    MPI_Waitall(count, requests, ended);
    return;
  }
  for (int done = 0;;) {
    MPI_Testall(count, requests, &done, ended);
    if (done) return;
    look_at_events();
  }
}

/* ---- the work ---- */

static long first_row(int of) { return size / ranks * of + (of < size % ranks ? of : size % ranks); }
static long rows_of(int of) { return first_row(of + 1) - first_row(of); }

/* One step on a band with a row of the neighbours above and below; the rim of the square stays as it is. */
static void spread(const double* from, double* to, long first, long rows) {
  for (long r = 1; r <= rows; ++r) {
    const long row = first + r - 1;
    const double* here = from + r * size;
    for (long c = 0; c < size; ++c) {
      if (row == 0 || row == size - 1 || c == 0 || c == size - 1) {
        to[r * size + c] = here[c];
      } else {
        const double around = ((here[c - size] + here[c + size]) + here[c - 1]) + here[c + 1];
        to[r * size + c] = here[c] + 0.2 * (around - 4.0 * here[c]);
      }
    }
  }
}

static void exchange(double* band, long rows) {
  MPI_Request requests[4];
  int count = 0;
  const int row = (int)size;
  if (rank > 0) {
    MPI_Irecv(band, row, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, &requests[count++]);
    MPI_Isend(band + size, row, MPI_DOUBLE, rank - 1, 1, MPI_COMM_WORLD, &requests[count++]);
  }
  if (rank < ranks - 1) {
    MPI_Irecv(band + (rows + 1) * size, row, MPI_DOUBLE, rank + 1, 1, MPI_COMM_WORLD, &requests[count++]);
    MPI_Isend(band + rows * size, row, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD, &requests[count++]);
  }
  wait_all(count, requests);
}

/* ---- checkpoint: two numbers (step, size), the square, the step again ---- */

static void stop(const char* what) {
  fprintf(stderr, "heat: %s: %s\n", what, strerror(errno));
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static void save(const char* name, int64_t step, const double* square) {
  char made[4096], path[4096], part[256];
  snprintf(part, sizeof part, "%s.new", name);
  path_of(path, sizeof path, name);
  path_of(made, sizeof made, part);
  const int64_t head[2] = {step, size};
  FILE* file = fopen(made, "wb");
  if (file == NULL || fwrite(head, sizeof head, 1, file) != 1 ||
      fwrite(square, sizeof *square, (size_t)(size * size), file) != (size_t)(size * size) ||
      fwrite(&step, sizeof step, 1, file) != 1 || fflush(file) != 0 || fsync(fileno(file)) != 0 ||
      fclose(file) != 0 || rename(made, path) != 0) /* whole, or as it was */
    stop(made);
}

/* The step of the checkpoint, or 0 with the square as it is at first. */
static int64_t load(double* square) {
  char path[4096];
  path_of(path, sizeof path, "checkpoint");
  FILE* file = fopen(path, "rb");
  if (file != NULL) {
    int64_t head[2] = {0, 0}, tail = -1;
    const int good = fread(head, sizeof head, 1, file) == 1 && head[1] == size &&
                     fread(square, sizeof *square, (size_t)(size * size), file) == (size_t)(size * size) &&
                     fread(&tail, sizeof tail, 1, file) == 1 && tail == head[0];
    fclose(file);
    if (good) return head[0];
    fprintf(stderr, "heat: %s is of another size or broken: from the start\n", path);
  }
  for (long i = 0; i < size * size; ++i) square[i] = 0;
  for (long i = 0; i < size; ++i) square[i] = 100.0; /* the hot side */
  return 0;
}

/* The whole square to rank 0. */
static void gather(const double* band, double* square, const int* counts, const int* places) {
  MPI_Request request;
  MPI_Igatherv(band + size, counts[rank], MPI_DOUBLE, square, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD,
               &request);
  wait_all(1, &request);
}

static void die_for_the_trial(int64_t step) {
  const char* when = getenv("HEAT_DIE");
  long at;
  int who, signal;
  if (when == NULL || sscanf(when, "%ld:%d:%d", &at, &who, &signal) != 3 || step != at || rank != who) return;
  char path[4096];
  path_of(path, sizeof path, "died");
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* once only */
  if (fd < 0) return;
  close(fd);
  raise(signal);
}

static int exit_code;
static void leave_at_once(int signal) {
  (void)signal;
  _exit(exit_code);
}

/* Ends this rank.  MPICH 4.0.2 over UCX can hang in MPI_Finalize when ranks enter it apart: the barrier
 * brings them together, and whoever hangs all the same leaves after two seconds, for all has been saved. */
static int end(int code) {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  wait_all(1, &request);
  exit_code = code;
  signal(SIGALRM, leave_at_once);
  alarm(2);
  if (events != NULL) smd_close_events(events);
  MPI_Finalize();
  alarm(0);
  return code;
}

static long number(int argc, char** argv, int at, long fallback) {
  if (at >= argc) return fallback;
  char* end;
  const long value = strtol(argv[at], &end, 10);
  return *end == '\0' && value > 0 && value <= 1000000 ? value : -1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  folder = argc > 1 ? argv[1] : NULL;
  steps = number(argc, argv, 2, steps);
  size = number(argc, argv, 3, size);
  every = number(argc, argv, 4, every);
  if (folder == NULL || steps < 0 || size < 4 || size > 20000 || every < 0 || ranks > size) {
    if (rank == 0) fprintf(stderr, "usage: heat FOLDER [STEPS] [SIZE] [EVERY]   (at most SIZE ranks)\n");
    MPI_Finalize();
    return 64;
  }
  const char* id = getenv("SLURM_JOB_ID");
  if (rank == 0 && id != NULL) job = (uint32_t)strtoul(id, NULL, 10);

  const long first = first_row(rank), rows = rows_of(rank);
  double* band = calloc((size_t)((rows + 2) * size), sizeof *band);
  double* next = calloc((size_t)((rows + 2) * size), sizeof *next);
  double* square = rank == 0 ? malloc((size_t)(size * size) * sizeof *square) : NULL;
  int* counts = malloc((size_t)ranks * sizeof *counts);
  int* places = malloc((size_t)ranks * sizeof *places);
  if (band == NULL || next == NULL || counts == NULL || places == NULL || (rank == 0 && square == NULL))
    stop("memory");
  for (int r = 0; r < ranks; ++r) {
    counts[r] = (int)(rows_of(r) * size);
    places[r] = (int)(first_row(r) * size);
  }
  int64_t step = rank == 0 ? load(square) : 0;
  MPI_Bcast(&step, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  MPI_Scatterv(square, counts, places, MPI_DOUBLE, band + size, counts[rank], MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("heat: %d ranks, from step %lld of %ld\n", ranks, (long long)step, steps);

  int leave = 0;
  while (step < steps && !leave) {
    if (rank == 0) look_at_events();
    exchange(band, rows);
    spread(band, next, first, rows);
    double* const swap = band;
    band = next;
    next = swap;
    ++step;
    die_for_the_trial(step);
    if (step % every != 0 && step != steps) continue;
    gather(band, square, counts, places);
    if (rank == 0) save(step == steps ? "result" : "checkpoint", step, square);
    leave = rank == 0 && nodes_failing && step < steps;
    MPI_Request request;
    MPI_Ibcast(&leave, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    wait_all(1, &request);
  }

  if (rank == 0 && leave) care_for(FAILING_NODES);
  if (rank == 0) printf("heat: %s at step %lld\n", leave ? "leaves" : "done", (long long)step);
  fflush(stdout);
  free(band), free(next), free(square), free(counts), free(places);
  return end(leave ? GO_ON_LATER : 0);
}
