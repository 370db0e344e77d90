/* SPDX-License-Identifier: Apache-2.0
 * The stream of a job's events: EVENTS:JOBID:j:AFTER:n is asked like any command, and the connection stays.
 * Behind the answer come frames, one event in each; a frame without "event" is a sign of life. */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

#define HEADER 9
#define MAX_BODY (1024u * 1024)

struct smd_events {
  int fd;
  char* bytes; /* what has come and is not given out */
  size_t size, room;
  size_t used; /* of bytes: given out already */
  int broken;  /* an ENSTOP_* for every further call */
};

smd_events_t* smd_open_events(uint32_t job_id, uint64_t after) {
  smd_say_nothing();
  if (job_id == 0) {
    errno = smd_say(ENSTOP_ARGS, "the job id is 0");
    return NULL;
  }
  smd_events_t* events = calloc(1, sizeof *events);
  if (events == NULL) return NULL;
  events->fd = -1;
  struct smd_conf conf;
  struct smd_answer answer;
  memset(&answer, 0, sizeof answer);
  int code = smd_conf_read(&conf);
  char* command =
      code == 0 ? smd_command("EVENTS:JOBID:%u:AFTER:%llu", job_id, (unsigned long long)after) : NULL;
  if (code == 0 && command == NULL) code = ENOMEM;
  if (code == 0) code = smd_exchange(&conf, command, SMD_KEEP_OPEN, 0, &answer, &events->fd);
  if (code == 0) code = answer.code;
  free(command);
  smd_answer_free(&answer);
  smd_conf_free(&conf);
  if (code != 0) {
    smd_close_events(events);
    errno = code;
    return NULL;
  }
  /* A service whose host died says nothing, not even that. */
  const int on = 1, idle = 30, pause = 10, times = 3;
  setsockopt(events->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(events->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(events->fd, IPPROTO_TCP, TCP_KEEPINTVL, &pause, sizeof pause);
  setsockopt(events->fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
  return events;
}

/* 1: *event is filled; 0: no whole frame has come; -1: broken. */
static int next_in_bytes(smd_events_t* events, smd_event_t* event) {
  for (;;) {
    const char* from = events->bytes + events->used;
    const size_t left = events->size - events->used;
    if (left < HEADER) return 0;
    const size_t length = smd_frame_length(from);
    if (length == 0 || length > MAX_BODY) {
      events->broken = smd_say(ENSTOP_DECODEHEADER, "an event begins with '%.9s'", from);
      return -1;
    }
    if (left < HEADER + length) return 0;
    char* body = malloc(length + 1);
    if (body == NULL) {
      errno = ENOMEM; /* the event stays where it is */
      return -1;
    }
    memcpy(body, from + HEADER, length);
    body[length] = '\0';
    const int code = smd_json_event(body, event);
    if (code == ENSTOP_PROTOCOL) events->broken = smd_say(code, "an event reads '%.200s'", body);
    free(body);
    if (code != 0) {
      errno = code;
      return -1;
    }
    events->used += HEADER + length;
    if (event->name != NULL) return 1;
    smd_free_event(event);
  }
}

/* Reads what has come: > 0 bytes, 0 none yet, -1 broken. */
static int more_bytes(smd_events_t* events) {
  if (events->used > 0) {
    memmove(events->bytes, events->bytes + events->used, events->size - events->used);
    events->size -= events->used;
    events->used = 0;
  }
  if (events->room - events->size < 4096) {
    char* more = realloc(events->bytes, events->room + 16384);
    if (more == NULL) {
      errno = ENOMEM;
      return -1;
    }
    events->bytes = more;
    events->room += 16384;
  }
  const ssize_t got = recv(events->fd, events->bytes + events->size, events->room - events->size, 0);
  if (got > 0) {
    events->size += (size_t)got;
    return 1;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  events->broken =
      smd_say(ENSTOP_NETIO, "the service closed the stream; open it again after the last number");
  return -1;
}

int smd_next_event(smd_events_t* events, smd_event_t* event, int timeout_ms) {
  smd_say_nothing();
  if (events == NULL || event == NULL)
    return smd_result(smd_say(ENSTOP_ARGS, "the stream or the event is NULL"));
  memset(event, 0, sizeof *event);
  const int64_t deadline = smd_deadline(timeout_ms);
  for (;;) {
    const int found = events->broken != 0 ? -1 : next_in_bytes(events, event);
    if (found < 0) return events->broken != 0 ? smd_result(events->broken) : -1;
    if (found > 0) return 1;
    const int read = more_bytes(events);
    if (read < 0) return events->broken != 0 ? smd_result(events->broken) : -1;
    if (read > 0) continue;
    struct pollfd one = {.fd = events->fd, .events = POLLIN};
    const int n = poll(&one, 1, smd_left(deadline));
    if (n == 0 && smd_left(deadline) == 0) return 0;
    if (n < 0 && errno != EINTR && errno != EAGAIN) return -1;
  }
}

static void free_names(char** names, int count) {
  for (int i = 0; i < count; ++i) free(names[i]);
  free(names);
}

void smd_free_event(smd_event_t* event) {
  if (event == NULL) return;
  free(event->name);
  free_names(event->nodes, event->node_cnt);
  free_names(event->by, event->by_cnt);
  memset(event, 0, sizeof *event);
}

int smd_events_fd(const smd_events_t* events) { return events == NULL ? -1 : events->fd; }

void smd_close_events(smd_events_t* events) {
  if (events == NULL) return;
  if (events->fd >= 0) close(events->fd);
  free(events->bytes);
  free(events);
}
