/* SPDX-License-Identifier: Apache-2.0
 * Error numbers to texts, and what more there is to say of the last one of a thread. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

static const char* const texts[] = {
    "Invalid configuration",
    "Network I/O error with the nonstop service",
    "The service does not know or accept the command",
    "Failed to update the node",
    "Invalid job ID",
    "Invalid port",
    "Invalid user ID",
    "Job is not running",
    "Specified host is not found",
    "Node has not failed",
    "Node is not in the job",
    "Node replacement is available later",
    "A replacement of another node is pending",
    "Job has reached MaxSpareNodeCount",
    "Failed to replace the node",
    "Job is not eligible for a longer time limit",
    "Requested time exceeds the limit",
    "Failed to update the job",
    "The answer of the service has no header",
    "The service gave a code that is not known",
    "The answer of the service cannot be read",
    "Job has no failed nodes at this time",
    "Permission denied",
    "Authentication by MUNGE failed",
    "The service did not answer in time",
    "Invalid argument",
};
_Static_assert(sizeof texts / sizeof texts[0] == ENSTOP_LASTERR - ENSTOP_CONFIG, "a text for each number");

static __thread char why[512];
static __thread char of_system[128];

char* smd_nonstop_errstr(int errnum) {
  if (errnum == ENSTOP_OK) return (char*)"No error";
  if (errnum >= ENSTOP_CONFIG && errnum < ENSTOP_LASTERR) return (char*)texts[errnum - ENSTOP_CONFIG];
  return strerror_r(errnum, of_system, sizeof of_system); /* GNU's; its result is the text */
}

const char* smd_nonstop_why(void) { return why; }

void smd_say_nothing(void) { why[0] = '\0'; }

int smd_say(int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  for (char* c = why; *c != '\0'; ++c)
    if ((unsigned char)*c < ' ') *c = ' ';
  return code;
}

int smd_result(int code) {
  if (code == ENSTOP_OK) return 0;
  errno = code;
  return -1;
}
