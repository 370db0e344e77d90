/* SPDX-License-Identifier: Apache-2.0
 * Bytes with deadlines.  All sockets are non-blocking and closed on exec; nothing here can raise SIGPIPE. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

int64_t smd_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t smd_deadline(int timeout_ms) { return timeout_ms < 0 ? -1 : smd_now_ms() + timeout_ms; }

int smd_left(int64_t deadline) {
  if (deadline < 0) return -1;
  const int64_t left = deadline - smd_now_ms();
  return left <= 0 ? 0 : left > 86400000 ? 86400000 : (int)left;
}

/* Waits until fd can do `events`: 0, ENSTOP_TIMEOUT or ENSTOP_NETIO. */
static int wait_for(int fd, short events, int64_t deadline) {
  for (;;) {
    struct pollfd one = {.fd = fd, .events = events};
    const int n = poll(&one, 1, smd_left(deadline));
    if (n > 0) return 0; /* an error shows itself at the call that follows */
    if (n == 0 && smd_left(deadline) == 0) return ENSTOP_TIMEOUT;
    if (n < 0 && errno != EINTR && errno != EAGAIN) return ENSTOP_NETIO;
  }
}

static int connect_one(const struct addrinfo* to, int64_t deadline) {
  const int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int error = 0;
  if (connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
    error = errno;
    if (error == EINPROGRESS || error == EINTR) {
      socklen_t size = sizeof error;
      if (wait_for(fd, POLLOUT, deadline) != 0)
        error = ETIMEDOUT;
      else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    }
  }
  if (error != 0) {
    close(fd);
    errno = error;
    return -1;
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

int smd_connect(const char* address, uint16_t port, int64_t deadline) {
  char service[8];
  snprintf(service, sizeof service, "%u", port);
  const struct addrinfo wanted = {
      .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
  struct addrinfo* found = NULL;
  const int bad = getaddrinfo(address, service, &wanted, &found);
  if (bad != 0) {
    smd_say(0, "%s: %s", address, gai_strerror(bad));
    return -1;
  }
  int fd = -1;
  for (const struct addrinfo* one = found; one != NULL && fd < 0; one = one->ai_next) {
    fd = connect_one(one, deadline);
    if (fd < 0) {
      char text[128];
      smd_say(0, "%s port %u: %s", address, port, strerror_r(errno, text, sizeof text));
    }
  }
  freeaddrinfo(found);
  return fd;
}

int smd_send_all(int fd, const char* bytes, size_t size, int64_t deadline) {
  while (size > 0) {
    const ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
    if (sent > 0) {
      bytes += sent;
      size -= (size_t)sent;
    } else if (sent < 0 && errno == EAGAIN) {
      const int waited = wait_for(fd, POLLOUT, deadline);
      if (waited != 0) return waited;
    } else if (sent < 0 && errno == EINTR) {
      continue;
    } else {
      return ENSTOP_NETIO;
    }
  }
  return 0;
}

int smd_read_all(int fd, char* bytes, size_t size, int64_t deadline) {
  while (size > 0) {
    const ssize_t got = recv(fd, bytes, size, 0);
    if (got > 0) {
      bytes += got;
      size -= (size_t)got;
    } else if (got < 0 && errno == EAGAIN) {
      const int waited = wait_for(fd, POLLIN, deadline);
      if (waited != 0) return waited;
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      return ENSTOP_NETIO;
    }
  }
  return 0;
}
