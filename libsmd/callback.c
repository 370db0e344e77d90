/* SPDX-License-Identifier: Apache-2.0
 * smd_register4nodevent and smd_wait4nodevent: the service connects to a port of ours and sends 8 bytes, a
 * length in network order and the event's bits.
 *
 * The bits come in the byte order of the service's host (the plugin), which is not known; as they are below
 * 256, the byte that is not 0 tells.  Nothing is authenticated: what a stranger sends can wake the program
 * and no more, and a connection that says nothing is given up after a second.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

#define PATIENCE 1000 /* milliseconds for the 8 bytes */

struct registration {
  struct registration* next;
  uint32_t job_id;
  int fd;
  uint16_t port;
  unsigned waiting; /* events that came together with one that was given out */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registration* first;

static struct registration* find(uint32_t job_id) {
  struct registration* one = first;
  while (one != NULL && one->job_id != job_id) one = one->next;
  return one;
}

/* A listening socket on any port, for both kinds of addresses where the host has both. */
static int listen_anywhere(uint16_t* port) {
  for (int family = AF_INET6;; family = AF_INET) {
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) {
      union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
      } at;
      memset(&at, 0, sizeof at);
      at.any.sa_family = (sa_family_t)family;
      socklen_t size = family == AF_INET ? sizeof at.four : sizeof at.six;
      const int off = 0;
      if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
      if (bind(fd, &at.any, size) == 0 && listen(fd, 16) == 0 && getsockname(fd, &at.any, &size) == 0) {
        *port = ntohs(family == AF_INET ? at.four.sin_port : at.six.sin6_port);
        return fd;
      }
      close(fd);
    }
    if (family == AF_INET) return -1;
  }
}

int smd_register4nodevent(uint32_t job_id) {
  smd_say_nothing();
  if (job_id == 0) return smd_result(smd_say(ENSTOP_ARGS, "the job id is 0"));
  struct smd_conf conf;
  struct smd_answer answer;
  uint16_t port = 0;
  int fd = -1;
  pthread_mutex_lock(&lock);
  const struct registration* known = find(job_id);
  if (known != NULL) port = known->port;
  pthread_mutex_unlock(&lock);
  if (known == NULL && (fd = listen_anywhere(&port)) < 0)
    return smd_result(smd_say(ENSTOP_PORT, "there is no port to be called back at"));

  int code = smd_conf_read(&conf);
  memset(&answer, 0, sizeof answer);
  char* command = code == 0 ? smd_command("CALLBACK:JOBID:%u:PORT:%u", job_id, port) : NULL;
  if (code == 0 && command == NULL) code = ENOMEM;
  if (code == 0) code = smd_exchange(&conf, command, SMD_ASK, 0, &answer, NULL);
  if (code == 0) code = answer.code;
  free(command);
  smd_answer_free(&answer);
  smd_conf_free(&conf);

  if (code == 0 && fd >= 0) {
    struct registration* made = calloc(1, sizeof *made);
    pthread_mutex_lock(&lock);
    if (made == NULL) {
      code = ENOMEM;
    } else if (find(job_id) != NULL) {
      /* Another thread was faster; the service calls the port that came last. */
      struct registration* old = find(job_id);
      const int before = old->fd;
      old->fd = fd, old->port = port;
      fd = before;
      free(made);
    } else {
      *made = (struct registration){.next = first, .job_id = job_id, .fd = fd, .port = port};
      first = made;
      fd = -1;
    }
    pthread_mutex_unlock(&lock);
  }
  if (fd >= 0) close(fd);
  return smd_result(code);
}

/* Takes one of the waiting events; 0: none. */
static int take_waiting(struct registration* of) {
  static const unsigned bits[] = {SMD_EVENT_NODE_FAILED, SMD_EVENT_NODE_FAILING, SMD_EVENT_NODE_REPLACE};
  for (size_t i = 0; i < sizeof bits / sizeof bits[0]; ++i) {
    if ((of->waiting & bits[i]) == 0) continue;
    of->waiting &= ~bits[i];
    return (int)bits[i];
  }
  return 0;
}

/* The bits of one call back; 0: it was none. */
static unsigned read_call(int fd) {
  unsigned char bytes[8];
  if (smd_read_all(fd, (char*)bytes, sizeof bytes, smd_deadline(PATIENCE)) != 0) return 0;
  if (bytes[0] != 0 || bytes[1] != 0 || bytes[2] != 0 || bytes[3] != 4) return 0;
  if (bytes[5] != 0 || bytes[6] != 0 || (bytes[4] != 0 && bytes[7] != 0)) return 0;
  return (unsigned)(bytes[4] | bytes[7]) &
         (SMD_EVENT_NODE_FAILED | SMD_EVENT_NODE_FAILING | SMD_EVENT_NODE_REPLACE);
}

int smd_wait4nodevent(uint32_t job_id, struct node_event* event, int timeout_ms) {
  smd_say_nothing();
  if (job_id == 0 || event == NULL)
    return smd_result(smd_say(ENSTOP_ARGS, "the job id is 0, or the event is NULL"));
  memset(event, 0, sizeof *event);
  const int64_t deadline = smd_deadline(timeout_ms);
  for (;;) {
    pthread_mutex_lock(&lock);
    struct registration* registered = find(job_id);
    const int fd = registered == NULL ? -1 : registered->fd;
    const int type = registered == NULL ? 0 : take_waiting(registered);
    pthread_mutex_unlock(&lock);
    if (fd < 0) return smd_result(smd_say(ENSTOP_PORT, "job %u: call smd_register4nodevent first", job_id));
    if (type != 0) {
      event->event_type = type;
      return 1;
    }
    struct pollfd one = {.fd = fd, .events = POLLIN};
    const int n = poll(&one, 1, smd_left(deadline));
    if (n == 0 && smd_left(deadline) == 0) return 0;
    if (n < 0 && errno != EINTR && errno != EAGAIN) return -1;
    if (n <= 0) continue;
    const int from = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (from < 0) continue; /* another thread took it, or it is gone */
    const unsigned bits = read_call(from);
    close(from);
    pthread_mutex_lock(&lock);
    if ((registered = find(job_id)) != NULL) registered->waiting |= bits;
    pthread_mutex_unlock(&lock);
  }
}

void smd_nonstop_fini(void) {
  pthread_mutex_lock(&lock);
  struct registration* one = first;
  first = NULL;
  pthread_mutex_unlock(&lock);
  while (one != NULL) {
    struct registration* next = one->next;
    close(one->fd);
    free(one);
    one = next;
  }
  smd_say_nothing();
}
