/* SPDX-License-Identifier: Apache-2.0
 * One request and its answer.
 *
 * The request is "VERSION:22.05:COMMAND...", as the payload of a MUNGE credential, in a frame: its length in
 * 8 digits, a line end, the bytes, a NUL.  The answer is a frame of "<Slurm's version> <CODE> [payload]". The
 * addresses are tried in their order; a request that may change something goes to the second only if the
 * first never had it whole.
 */
#include <errno.h>
#include <munge.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define HEADER 9

/* What the service's codes mean.  Also in Sickbay's src/model/nonstop_wire.cc; a test compares them. */
static const struct {
  const char* name;
  int code;
} codes[] = {
    {"ENOERROR", ENSTOP_OK},
    {"EREPLACELATER", ENSTOP_REPLACELATER},
    {"EREPLACEPENDING", ENSTOP_REPLACEPENDING},
    {"EMAXSPARECOUNT", ENSTOP_MAXSPARECOUNT},
    {"ENODENOTFAIL", ENSTOP_NODENOTFAILED},
    {"ENODEREPLACEFAIL", ENSTOP_NODEREPLACEFAILED},
    {"ENODENOCPU", ENSTOP_NODENOTINJOB},
    {"NODENOTINJOB", ENSTOP_NODENOTINJOB},
    {"ENOINCREASETIMELIMIT", ENSTOP_NOINCREASETIMELIMIT},
    {"ETIMEOVERLIMIT", ENSTOP_TIMEOVERLIMIT},
    {"ECMD", ENSTOP_INVALCMD},
    {"EPERM", ENSTOP_PERM},
    {"EJOBID", ENSTOP_JOBID},
    {"EJOBNOTRUN", ENSTOP_JOBNOTRUN},
    {"EJOBNOTRUNRROR", ENSTOP_JOBNOTRUN}, /* of DROP_NODE */
    {"ENOHOST", ENSTOP_NOHOST},
    {"EUPDNODE", ENSTOP_UPNODE},
    {"EPORT", ENSTOP_PORT},
    {"EUID", ENSTOP_UID},
    {"EJOBUPDATE", ENSTOP_JOBUPDATE},
};

char* smd_command(const char* format, ...) {
  /* The plugin of a release takes no other; our service takes all. */
  const char* release = getenv("SMD_RELEASE");
  if (release == NULL || *release == '\0' || strlen(release) > 31 || strchr(release, ':') != NULL)
    release = "22.05";
  char* out = malloc(SMD_MAX_COMMAND);
  if (out == NULL) return NULL;
  int used = snprintf(out, SMD_MAX_COMMAND, "VERSION:%s:", release);
  va_list arguments;
  va_start(arguments, format);
  const int more = vsnprintf(out + used, SMD_MAX_COMMAND - (size_t)used, format, arguments);
  va_end(arguments);
  if (more < 0 || (size_t)(used + more) >= SMD_MAX_COMMAND) {
    free(out);
    smd_say(0, "a request of %d bytes; it may have %u", more, SMD_MAX_COMMAND);
    return NULL;
  }
  return out;
}

int smd_name_fits(const char* name) {
  if (name == NULL || *name == '\0') return 0;
  for (; *name != '\0'; ++name)
    if (*name <= ' ' || *name > '~' || strchr(":\"'\\", *name) != NULL) return 0;
  return 1;
}

/* Signs text.  libmunge writes to munged's socket without MSG_NOSIGNAL, so a munged that dies now would end
 * the program: the signal is held for this thread meanwhile, and taken away if it came. */
static char* sign(const struct smd_conf* conf, const char* text) {
  sigset_t pipe_only, before, pending;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  sigpending(&pending);
  const int was_pending = sigismember(&pending, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_only, &before);

  char* credential = NULL;
  munge_ctx_t context = munge_ctx_create();
  munge_err_t error = EMUNGE_NO_MEMORY;
  if (context != NULL) {
    error = EMUNGE_SUCCESS;
    if (conf->munge_socket != NULL) error = munge_ctx_set(context, MUNGE_OPT_SOCKET, conf->munge_socket);
    if (error == EMUNGE_SUCCESS) error = munge_encode(&credential, context, text, (int)strlen(text) + 1);
    if (error != EMUNGE_SUCCESS) {
      const char* more = munge_ctx_strerror(context);
      smd_say(0, "munged on this host: %s", more != NULL ? more : munge_strerror(error));
      free(credential);
      credential = NULL;
    }
    munge_ctx_destroy(context);
  }

  if (!was_pending) {
    const struct timespec none = {0, 0};
    while (sigtimedwait(&pipe_only, NULL, &none) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return credential;
}

size_t smd_frame_length(const char header[HEADER]) {
  size_t length = 0;
  int digits = 0;
  for (int i = 0; i < HEADER - 1; ++i) {
    if (header[i] == ' ' && digits == 0) continue;
    if (header[i] < '0' || header[i] > '9') return 0;
    length = length * 10 + (size_t)(header[i] - '0');
    ++digits;
  }
  return header[HEADER - 1] != '\n' || length > SMD_MAX_ANSWER ? 0 : length;
}

static int read_answer(int fd, int64_t deadline, struct smd_answer* answer) {
  char header[HEADER];
  int code = smd_read_all(fd, header, sizeof header, deadline);
  if (code == ENSTOP_TIMEOUT) return smd_say(code, "the service took the request and did not answer in time");
  if (code != 0) return smd_say(code, "the service closed the connection without an answer");
  const size_t length = smd_frame_length(header);
  if (length == 0) return smd_say(ENSTOP_DECODEHEADER, "the answer begins with '%.9s'", header);
  answer->text = malloc(length + 1);
  if (answer->text == NULL) return ENOMEM;
  code = smd_read_all(fd, answer->text, length, deadline);
  if (code != 0) return smd_say(code, "only a part of the answer came");
  answer->text[length] = '\0';
  return 0;
}

/* Cuts "22.05.8 EREPLACELATER 1795000000". */
static int read_code(struct smd_answer* answer) {
  char* text = answer->text;
  if (strncmp(text, "Error:", 6) == 0) {
    const int munge = strstr(text, "decrypt") != NULL;
    return smd_say(munge ? ENSTOP_MUNGE : ENSTOP_PROTOCOL, "the service says %.200s%s", text + 6,
                   strstr(text, "version") != NULL
                       ? "; set SMD_RELEASE to Slurm's release (20.02) for its own plugin"
                       : "");
  }
  char* name = strchr(text, ' ');
  if (name == NULL) return smd_say(ENSTOP_PROTOCOL, "the answer is '%.100s'", text);
  ++name;
  char* end = name + strcspn(name, " ");
  answer->payload = *end == '\0' ? end : end + 1;
  *end = '\0';
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; ++i) {
    if (strcmp(name, codes[i].name) != 0) continue;
    answer->code = codes[i].code;
    if (answer->code != ENSTOP_OK)
      smd_say(answer->code, "%s%s%.400s", name, *answer->payload ? " " : "", answer->payload);
    return 0;
  }
  return smd_say(ENSTOP_UNKWNCTRLMSG, "the service answered %.100s", name);
}

void smd_answer_free(struct smd_answer* answer) {
  free(answer->text);
  memset(answer, 0, sizeof *answer);
}

/* At one address.  *had: the service may have the whole request. */
static int exchange_at(const struct smd_conf* conf, const char* address, const char* command,
                       int64_t timeout_s, struct smd_answer* answer, int* fd, int* had) {
  const int64_t all = timeout_s > 0 ? smd_now_ms() + timeout_s * 1000 : -1;
  int64_t deadline = all >= 0 ? all : smd_now_ms() + (int64_t)conf->write_timeout * 1000;
  /* A credential holds once only, so each address gets its own. */
  char* credential = sign(conf, command);
  if (credential == NULL) return ENSTOP_MUNGE;
  *fd = smd_connect(address, conf->port, deadline);
  if (*fd < 0) {
    free(credential);
    return ENSTOP_NETIO; /* smd_connect said why */
  }
  const size_t size = strlen(credential) + 1;
  char header[24];
  snprintf(header, sizeof header, "%08zu\n", size);
  int code = smd_send_all(*fd, header, HEADER, deadline);
  if (code == 0) code = smd_send_all(*fd, credential, size, deadline);
  free(credential);
  if (code != 0)
    return smd_say(code, "%s port %u: the service does not read the request", address, conf->port);
  *had = 1;
  deadline = all >= 0 ? all : smd_now_ms() + (int64_t)conf->read_timeout * 1000;
  code = read_answer(*fd, deadline, answer);
  return code != 0 ? code : read_code(answer);
}

int smd_exchange(const struct smd_conf* conf, const char* command, int how, int64_t timeout_s,
                 struct smd_answer* answer, int* kept) {
  const char* debug = getenv("SMD_DEBUG");
  const int aloud = debug != NULL && *debug != '\0' && *debug != '0';
  int code = ENSTOP_NETIO;
  for (int i = 0; i < 2 && conf->addresses[i] != NULL; ++i) {
    int fd = -1, had = 0;
    memset(answer, 0, sizeof *answer);
    code = exchange_at(conf, conf->addresses[i], command, timeout_s, answer, &fd, &had);
    if (aloud) {
      const char* said = answer->payload != NULL ? answer->payload : smd_nonstop_why();
      fprintf(stderr, "libsmd: %s: %s: %s %s\n", conf->addresses[i], command,
              smd_nonstop_errstr(code ? code : answer->code), said);
    }
    if (code == 0 && answer->code == ENSTOP_OK && how == SMD_KEEP_OPEN)
      *kept = fd;
    else if (fd >= 0)
      close(fd);
    if (code == 0) return 0;
    smd_answer_free(answer);
    const int unsure = code == ENSTOP_TIMEOUT || code == ENSTOP_NETIO;
    if (!unsure || (had && how == SMD_CHANGE)) break;
  }
  return code;
}
