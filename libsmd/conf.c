/* SPDX-License-Identifier: Apache-2.0
 * Where the service is.
 *
 * Of nonstop.conf only what a client needs is read, and the rest is left to the service, which checks it all
 * (src/model/nonstop_config.h in Sickbay): a key that this library does not know must not stop a job.  Of
 * slurm.conf, beside it, only AuthInfo=socket=PATH is, where munged is to be found; there may be no
 * slurm.conf.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "internal.h"

#define DEFAULT_PORT 6820
#define DEFAULT_TIMEOUT 10 /* seconds */
#define MAX_TIMEOUT 86400  /* a day: below what poll's milliseconds can hold */
#define MAX_FILE (1024 * 1024)

static char* read_file(const char* path) {
  FILE* file = fopen(path, "re");
  if (file == NULL) return NULL;
  char* text = malloc(MAX_FILE + 1);
  if (text != NULL) {
    const size_t size = fread(text, 1, MAX_FILE, file);
    if (ferror(file) || size == MAX_FILE) {
      free(text);
      text = NULL;
      if (!ferror(file)) errno = EFBIG;
    } else {
      text[size] = '\0';
      char* fits = realloc(text, size + 1);
      if (fits != NULL) text = fits;
    }
  }
  const int error = errno;
  fclose(file);
  errno = error;
  return text;
}

/* Cuts the next line out of *rest, without its comment: "\#" is a '#', a '\' at its end goes on in the next.
 */
static char* next_line(char** rest, int* number) {
  if (**rest == '\0') return NULL;
  char* const line = *rest;
  char *from = line, *to = line;
  int comment = 0;
  ++*number;
  while (*from != '\0') {
    if (*from == '\n') {
      ++from;
      if (comment || to == line || to[-1] != '\\') break;
      --to;
      ++*number;
    } else if (!comment && from[0] == '\\' && from[1] == '#') {
      *to++ = '#';
      from += 2;
    } else {
      if (*from == '#') comment = 1;
      if (!comment && *from != '\r') *to++ = *from;
      ++from;
    }
  }
  *rest = from;
  *to = '\0';
  return line;
}

/* Cuts the next Key=Value out of *rest.  0: none; -1: what stands there is none. */
static int next_pair(char** rest, char** key, char** value) {
  char* text = *rest + strspn(*rest, " \t");
  if (*text == '\0') return 0;
  char* equals = strchr(text, '=');
  if (equals == NULL || equals == text) return -1;
  *key = text;
  char* end = equals;
  while (end > text && (end[-1] == ' ' || end[-1] == '\t')) --end;
  text = equals + 1;
  text += strspn(text, " \t");
  *end = '\0';
  if (*text == '"') {
    *value = text + 1;
    text = strchr(*value, '"');
    if (text == NULL) return -1;
  } else {
    *value = text;
    text += strcspn(text, " \t");
  }
  *rest = *text == '\0' ? text : text + 1;
  *text = '\0';
  return 1;
}

static int take_number(const char* value, uint64_t least, uint64_t most, uint64_t* number) {
  return smd_number(value, most, number) == 0 && *number >= least ? 0 : -1;
}

/* 0, or what the value must be. */
static const char* take(struct smd_conf* conf, const char* key, const char* value) {
  uint64_t number = 0;
  for (int i = 0; i < 2; ++i) {
    if (strcasecmp(key, i == 0 ? "ControlAddr" : "BackupAddr") != 0) continue;
    if (*value == '\0' || strlen(value) > 255) return "a host's name or address";
    free(conf->addresses[i]);
    conf->addresses[i] = strdup(value);
    return conf->addresses[i] == NULL ? "less, for there is no memory" : NULL;
  }
  if (strcasecmp(key, "Port") == 0) {
    if (take_number(value, 1, 65535, &number) != 0) return "a port from 1 to 65535";
    conf->port = (uint16_t)number;
  } else if (strcasecmp(key, "Debug") == 0) {
    if (take_number(value, 0, 65535, &number) != 0) return "a number from 0 to 65535";
    conf->debug = (uint16_t)number;
  } else if (strcasecmp(key, "ReadTimeout") == 0 || strcasecmp(key, "WriteTimeout") == 0) {
    if (take_number(value, 0, UINT32_MAX, &number) != 0) return "a number of seconds";
    if (number == 0) number = DEFAULT_TIMEOUT;
    if (number > MAX_TIMEOUT) number = MAX_TIMEOUT;
    *(key[0] == 'R' || key[0] == 'r' ? &conf->read_timeout : &conf->write_timeout) = (uint32_t)number;
  }
  return NULL;
}

static int read_nonstop_conf(struct smd_conf* conf) {
  char* text = read_file(conf->file);
  if (text == NULL) {
    char error[128];
    return smd_say(ENSTOP_CONFIG,
                   "%s: %s; it must lie beside slurm.conf (SLURM_CONF, else /etc/slurm/slurm.conf)",
                   conf->file, strerror_r(errno, error, sizeof error));
  }
  char *rest = text, *line;
  int number = 0, code = 0;
  while (code == 0 && (line = next_line(&rest, &number)) != NULL) {
    char *key, *value;
    int found;
    while (code == 0 && (found = next_pair(&line, &key, &value)) != 0) {
      const char* must = found < 0 ? "Key=Value" : take(conf, key, value);
      if (found < 0)
        code = smd_say(ENSTOP_CONFIG, "%s, line %d: each entry must be Key=Value", conf->file, number);
      else if (must != NULL)
        code = smd_say(ENSTOP_CONFIG, "%s, line %d: %s=%.60s: it must be %s", conf->file, number, key, value,
                       must);
    }
  }
  free(text);
  if (code == 0 && conf->addresses[0] == NULL)
    code = smd_say(ENSTOP_CONFIG, "%s: no ControlAddr; add ControlAddr=HOST, where the service runs",
                   conf->file);
  return code;
}

/* AuthInfo=socket=/run/munge/munge.socket.2,ttl=60 */
static int read_slurm_conf(struct smd_conf* conf, const char* path) {
  char* text = read_file(path);
  if (text == NULL) return 0;
  char *rest = text, *line;
  int number = 0;
  while ((line = next_line(&rest, &number)) != NULL) {
    line += strspn(line, " \t");
    if (strncasecmp(line, "AuthInfo", 8) != 0) continue; /* the rest of slurm.conf has its own grammar */
    char *key, *value, *socket;
    if (next_pair(&line, &key, &value) != 1 || strcasecmp(key, "AuthInfo") != 0) continue;
    if ((socket = strstr(value, "socket=")) == NULL) continue;
    socket += strlen("socket=");
    socket[strcspn(socket, ",")] = '\0';
    free(conf->munge_socket);
    conf->munge_socket = strdup(socket);
  }
  free(text);
  return 0;
}

int smd_conf_read(struct smd_conf* conf) {
  memset(conf, 0, sizeof *conf);
  conf->port = DEFAULT_PORT;
  conf->read_timeout = conf->write_timeout = DEFAULT_TIMEOUT;
  const char* slurm_conf = getenv("SLURM_CONF");
  if (slurm_conf == NULL || *slurm_conf == '\0') slurm_conf = "/etc/slurm/slurm.conf";
  const char* slash = strrchr(slurm_conf, '/');
  const size_t folder = slash == NULL ? 0 : (size_t)(slash - slurm_conf) + 1;
  conf->file = malloc(folder + sizeof "nonstop.conf");
  if (conf->file == NULL) return ENOMEM;
  memcpy(conf->file, slurm_conf, folder);
  memcpy(conf->file + folder, "nonstop.conf", sizeof "nonstop.conf");
  const int code = read_nonstop_conf(conf);
  return code != 0 ? code : read_slurm_conf(conf, slurm_conf);
}

void smd_conf_free(struct smd_conf* conf) {
  free(conf->file);
  free(conf->addresses[0]);
  free(conf->addresses[1]);
  free(conf->munge_socket);
  memset(conf, 0, sizeof *conf);
}
