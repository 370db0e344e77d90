/* SPDX-License-Identifier: Apache-2.0
 * The words of an answer. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

char* smd_next_word(char** rest) {
  char* word = *rest + strspn(*rest, " ");
  if (*word == '\0') return NULL;
  char* end;
  if (*word == '"') {
    ++word;
    end = word + strcspn(word, "\"");
  } else {
    end = word + strcspn(word, " ");
  }
  *rest = *end == '\0' ? end : end + 1;
  *end = '\0';
  return word;
}

int smd_number(const char* word, uint64_t most, uint64_t* number) {
  if (word == NULL || *word == '\0') return -1;
  uint64_t value = 0;
  for (; *word != '\0'; ++word) {
    if (*word < '0' || *word > '9') return -1;
    const uint64_t digit = (uint64_t)(*word - '0');
    if (value > (UINT64_MAX - digit) / 10) return -1;
    value = value * 10 + digit;
  }
  if (value > most) return -1;
  *number = value;
  return 0;
}

char* smd_copy(const char* word, int* failed) {
  if (word == NULL || *word == '\0' || strcmp(word, "none") == 0 || strcmp(word, "(null)") == 0) return NULL;
  char* copy = strdup(word);
  if (copy == NULL) *failed = 1;
  return copy;
}
