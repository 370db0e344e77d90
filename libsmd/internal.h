/* SPDX-License-Identifier: Apache-2.0
 * What the files of libsmd share; none of it is exported (libsmd.map).
 *
 *   conf.c     where the service is: nonstop.conf, and munged's socket out of slurm.conf
 *   net.c      bytes with deadlines
 *   exchange.c one request and its answer: MUNGE, framing, the addresses in their order, codes to errno
 *   words.c    the words of an answer
 *   calls.c    the functions of smd.h that are one request each
 *   callback.c smd_register4nodevent, smd_wait4nodevent
 *   events.c   the stream of events, json.c its bodies
 *   errors.c   texts
 *
 * Errors: 0, or the ENSTOP_* number, as the result; smd_say() keeps the why for smd_nonstop_why.
 */
#ifndef SMD_INTERNAL_H
#define SMD_INTERNAL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "smd.h"

#define SMD_MAX_ANSWER (16u * 1024 * 1024) /* bytes; 100,000 faulty nodes need 3 MiB */
#define SMD_MAX_COMMAND (48u * 1024)       /* as a credential still below the service's 64 KiB */

/* ---- errors.c ---- */
/* Keeps the thread's why; gives `code` back. */
int smd_say(int code, const char* format, ...) __attribute__((format(printf, 2, 3)));
void smd_say_nothing(void);
/* Sets errno from a code; 0 or -1, as the public functions return. */
int smd_result(int code);

/* ---- conf.c ---- */
struct smd_conf {
  char* file; /* the path of nonstop.conf */
  char* addresses[2];
  uint16_t port, debug;
  uint32_t read_timeout, write_timeout; /* seconds, never 0 */
  char* munge_socket;                   /* NULL: libmunge's own */
};
int smd_conf_read(struct smd_conf* conf); /* free it in any case */
void smd_conf_free(struct smd_conf* conf);

/* ---- net.c: deadlines are of CLOCK_MONOTONIC in milliseconds, < 0: none ---- */
int64_t smd_now_ms(void);
int64_t smd_deadline(int timeout_ms); /* < 0: none */
/* Milliseconds left for poll(); -1: no deadline. */
int smd_left(int64_t deadline);
/* A connected, non-blocking socket, or -1 with the reason said. */
int smd_connect(const char* address, uint16_t port, int64_t deadline);
int smd_send_all(int fd, const char* bytes, size_t size, int64_t deadline);
/* Reads exactly `size` bytes. */
int smd_read_all(int fd, char* bytes, size_t size, int64_t deadline);

/* ---- exchange.c ---- */
struct smd_answer {
  char* text;    /* owned */
  char* payload; /* in text: what stands behind the code; "" where nothing */
  int code;      /* ENSTOP_OK, or what the service's code means */
};
enum {
  SMD_ASK = 0,      /* changes nothing: may be asked of the next address when the first does not answer */
  SMD_CHANGE = 1,   /* may have been done where no answer came */
  SMD_KEEP_OPEN = 2 /* the connection stays, in *fd */
};
/* Sends "COMMAND..." (without its version) and reads the answer.  0 also where the service said no: see
 * answer->code. timeout_s 0: those of the configuration. */
int smd_exchange(const struct smd_conf* conf, const char* command, int how, int64_t timeout_s,
                 struct smd_answer* answer, int* fd);
void smd_answer_free(struct smd_answer* answer);
/* The length that a header of 9 bytes says; 0: it is none, or it is too long. */
size_t smd_frame_length(const char header[9]);
/* "VERSION:22.05:" and the rest by printf. NULL: too long or no memory. */
char* smd_command(const char* format, ...) __attribute__((format(printf, 1, 2)));
/* Whether a hostlist or node's name may stand in a command. */
int smd_name_fits(const char* name);

/* ---- words.c ---- */
/* The next word of *rest, which moves on: up to a blank, or between quotes.  NULL: none.  Cuts the text. */
char* smd_next_word(char** rest);
/* A whole number of at most `most`; -1: it is none. */
int smd_number(const char* word, uint64_t most, uint64_t* number);
/* A copy; NULL for the service's words for nothing ("none", "(null)") and without memory (then *failed is
 * set). */
char* smd_copy(const char* word, int* failed);

/* ---- json.c ---- */
/* Reads the body of one event.  ENSTOP_PROTOCOL: it is none.  An object without "event" gives event->name
 * NULL. */
int smd_json_event(const char* body, smd_event_t* event);

#endif
