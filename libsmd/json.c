/* SPDX-License-Identifier: Apache-2.0
 * The body of an event: {"n":1,"event":"failed","nodes":["n3"],"by":[],"at":1795000000000000}.
 *
 * Reads any JSON object, keeps these five keys and skips the rest, so that a newer service may say more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MAX_DEPTH 32
#define MAX_NAMES 1000000

/* What is left to read; failed: an ENSTOP_* or ENOMEM, once and for all. */
struct reader {
  const char* at;
  int failed;
};

static int fail(struct reader* in) {
  if (in->failed == 0) in->failed = ENSTOP_PROTOCOL;
  return 0;
}

static void blanks(struct reader* in) { in->at += strspn(in->at, " \t\r\n"); }

/* Whether `c` stands next; it is then taken. */
static int next_is(struct reader* in, char c) {
  blanks(in);
  if (in->failed != 0 || *in->at != c) return 0;
  ++in->at;
  return 1;
}

static int hex4(struct reader* in, unsigned* value) {
  *value = 0;
  for (int i = 0; i < 4; ++i, ++in->at) {
    const char c = *in->at;
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return fail(in);
    *value = *value * 16 + (unsigned)digit;
  }
  return 1;
}

static char* utf8(char* to, unsigned code) {
  if (code < 0x80) {
    *to++ = (char)code;
  } else if (code < 0x800) {
    *to++ = (char)(0xc0 | code >> 6);
    *to++ = (char)(0x80 | (code & 0x3f));
  } else {
    *to++ = (char)(0xe0 | code >> 12);
    *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    *to++ = (char)(0x80 | (code & 0x3f));
  }
  return to;
}

/* A string; NULL on error. What it stands for is never longer than how it is written. */
static char* string(struct reader* in) {
  if (!next_is(in, '"')) {
    fail(in);
    return NULL;
  }
  const char* end = in->at;
  while (*end != '"' && *end != '\0') end += *end == '\\' && end[1] != '\0' ? 2 : 1;
  if (*end == '\0') {
    fail(in);
    return NULL;
  }
  char* out = malloc((size_t)(end - in->at) + 1);
  if (out == NULL) {
    in->failed = ENOMEM;
    return NULL;
  }
  char* to = out;
  while (*in->at != '"') {
    if ((unsigned char)*in->at < ' ') {
      fail(in);
      break;
    }
    if (*in->at != '\\') {
      *to++ = *in->at++;
      continue;
    }
    static const char from[] = "\"\\/bfnrt", made[] = "\"\\/\b\f\n\r\t";
    const char kind = in->at[1];
    in->at += 2;
    const char* known = strchr(from, kind);
    if (known != NULL && kind != '\0') {
      *to++ = made[known - from];
    } else if (kind == 'u') {
      unsigned code = 0;
      if (!hex4(in, &code)) break;
      /* Nodes are ASCII: halves of pairs and NUL are not worth more. */
      to = utf8(to, code == 0 || (code >= 0xd800 && code < 0xe000) ? '?' : code);
    } else {
      fail(in);
      break;
    }
  }
  *to = '\0';
  if (in->failed != 0) {
    free(out);
    return NULL;
  }
  ++in->at;
  return out;
}

/* A whole number without a fraction. */
static int64_t number(struct reader* in) {
  blanks(in);
  const int below = *in->at == '-';
  if (below) ++in->at;
  char digits[24];
  const size_t length = strspn(in->at, "0123456789");
  uint64_t value = 0;
  if (length == 0 || length >= sizeof digits) return fail(in);
  memcpy(digits, in->at, length);
  digits[length] = '\0';
  in->at += length;
  if (smd_number(digits, INT64_MAX, &value) != 0) return fail(in);
  if (*in->at == '.' || *in->at == 'e' || *in->at == 'E') return fail(in);
  return below ? -(int64_t)value : (int64_t)value;
}

static void names(struct reader* in, char*** list, int* count) {
  if (*list != NULL || !next_is(in, '[')) {
    fail(in);
    return;
  }
  if (next_is(in, ']')) return;
  do {
    if (*count >= MAX_NAMES) {
      fail(in);
      return;
    }
    if ((*count & (*count - 1)) == 0) {
      char** more = realloc(*list, (size_t)(*count == 0 ? 1 : *count * 2) * sizeof **list);
      if (more == NULL) {
        in->failed = ENOMEM;
        return;
      }
      *list = more;
    }
    char* name = string(in);
    if (name == NULL) return;
    (*list)[(*count)++] = name;
  } while (next_is(in, ','));
  if (!next_is(in, ']')) fail(in);
}

/* Any value that nobody asked for. */
static void skip(struct reader* in, int depth) {
  blanks(in);
  if (depth > MAX_DEPTH) {
    fail(in);
  } else if (*in->at == '"') {
    free(string(in));
  } else if (*in->at == '[' || *in->at == '{') {
    const int object = *in->at == '{';
    const char end = object ? '}' : ']';
    ++in->at;
    if (next_is(in, end)) return;
    do {
      if (object) {
        free(string(in));
        if (!next_is(in, ':')) fail(in);
      }
      if (in->failed == 0) skip(in, depth + 1);
    } while (next_is(in, ','));
    if (!next_is(in, end)) fail(in);
  } else {
    const size_t length = strspn(in->at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
    if (length == 0) fail(in);
    in->at += length;
  }
}

static int type_of(const char* name) {
  static const struct {
    const char* name;
    int type;
  } types[] = {
      {"failed", SMD_EVENT_NODE_FAILED},     {"failing", SMD_EVENT_NODE_FAILING},
      {"replaced", SMD_EVENT_NODE_REPLACE},  {"dropped", SMD_EVENT_NODE_DROPPED},
      {"extended", SMD_EVENT_TIME_EXTENDED}, {"ended", SMD_EVENT_JOB_ENDED},
  };
  for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i)
    if (strcmp(name, types[i].name) == 0) return types[i].type;
  return 0;
}

int smd_json_event(const char* body, smd_event_t* event) {
  struct reader in = {body, 0};
  memset(event, 0, sizeof *event);
  if (!next_is(&in, '{')) fail(&in);
  if (in.failed == 0 && !next_is(&in, '}')) {
    do {
      char* key = string(&in);
      if (key == NULL || !next_is(&in, ':')) fail(&in);
      if (in.failed != 0) {
        free(key);
        break;
      }
      if (strcmp(key, "n") == 0) {
        event->number = (uint64_t)number(&in);
      } else if (strcmp(key, "at") == 0) {
        event->at = number(&in);
      } else if (strcmp(key, "event") == 0 && event->name == NULL) {
        event->name = string(&in);
      } else if (strcmp(key, "nodes") == 0) {
        names(&in, &event->nodes, &event->node_cnt);
      } else if (strcmp(key, "by") == 0) {
        names(&in, &event->by, &event->by_cnt);
      } else {
        skip(&in, 0);
      }
      free(key);
    } while (next_is(&in, ','));
    if (!next_is(&in, '}')) fail(&in);
  }
  blanks(&in);
  if (in.failed == 0 && *in.at != '\0') fail(&in);
  if (in.failed != 0) {
    smd_free_event(event);
    return in.failed;
  }
  if (event->name != NULL) event->event_type = type_of(event->name);
  return 0;
}
