/* SPDX-License-Identifier: Apache-2.0
 * The functions of smd.h that are one request each. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "internal.h"

/* Reads the configuration, asks, and gives the service's refusal as the result. `command` is freed. */
static int ask(char* command, int how, int64_t timeout_s, struct smd_conf* conf, struct smd_answer* answer) {
  memset(answer, 0, sizeof *answer);
  int code = ENOMEM;
  memset(conf, 0, sizeof *conf);
  if (command == NULL) return *smd_nonstop_why() != '\0' ? ENSTOP_ARGS : ENOMEM;
  code = smd_conf_read(conf);
  if (code == 0) code = smd_exchange(conf, command, how, timeout_s, answer, NULL);
  free(command);
  if (code == 0 && answer->code != ENSTOP_OK) code = answer->code;
  return code;
}

/* The same where nothing but the code matters. */
static int tell(char* command, int how, int64_t timeout_s) {
  struct smd_conf conf;
  struct smd_answer answer;
  const int code = ask(command, how, timeout_s, &conf, &answer);
  smd_answer_free(&answer);
  smd_conf_free(&conf);
  return smd_result(code);
}

static int refuse(const char* what) {
  errno = smd_say(ENSTOP_ARGS, "%s", what);
  return -1;
}
static int refuse_job(void) { return refuse("the job id is 0, or the request or reply is NULL"); }
static int refuse_node(void) {
  return refuse("the node is NULL, empty, or has a blank, a quote, a colon or a backslash");
}

static int protocol(const char* what) {
  return smd_say(ENSTOP_PROTOCOL, "the answer cannot be read: %s", what);
}

static void free_nodes(struct node_state* nodes, uint64_t count) {
  for (uint64_t i = 0; nodes != NULL && i < count; ++i) free(nodes[i].node_name);
  free(nodes);
}

void smd_free_node_state(struct node_state* state) {
  if (state == NULL) return;
  free(state->node_name);
  free(state);
}

/* One more node at the end of *nodes; its room doubles. */
static int add_node(struct node_state** nodes, uint64_t* count, const char* name, uint64_t cpus, int state) {
  if ((*count & (*count - 1)) == 0) {
    struct node_state* more = realloc(*nodes, (*count == 0 ? 1 : *count * 2) * sizeof **nodes);
    if (more == NULL) return ENOMEM;
    *nodes = more;
  }
  struct node_state* one = &(*nodes)[*count];
  *one = (struct node_state){.node_name = strdup(name), .cpu_cnt = (int)cpus, .state = state};
  if (one->node_name == NULL) return ENOMEM;
  ++*count;
  return 0;
}

/* ---- faulty nodes ---- */

/* "n2 4 4 n3 8 2": name, CPUs, state. */
static int read_faulty(char* text, struct node_state** nodes, uint64_t* count) {
  char* name;
  while ((name = smd_next_word(&text)) != NULL) {
    uint64_t cpus = 0, state = 0;
    if (smd_number(smd_next_word(&text), INT32_MAX, &cpus) != 0 ||
        smd_number(smd_next_word(&text), 0xffff, &state) != 0)
      return protocol("a node without its CPUs or its state");
    const int code = add_node(nodes, count, name, cpus, (int)state);
    if (code != 0) return code;
  }
  return 0;
}

int smd_get_job_faulty_nodes(struct faulty_node_request* request, struct faulty_node_reply* reply) {
  smd_say_nothing();
  if (request == NULL || reply == NULL || request->job_id == 0) return refuse_job();
  memset(reply, 0, sizeof *reply);
  const unsigned both = FAILED_NODES | FAILING_NODES;
  const unsigned flags = request->options == 0 ? both : request->options;
  struct smd_conf conf;
  struct smd_answer answer;
  struct node_state* nodes = NULL;
  uint64_t count = 0;
  int code = ask(smd_command("GET_FAIL_NODES:JOBID:%u:STATE_FLAGS:%u", request->job_id, flags), SMD_ASK, 0,
                 &conf, &answer);
  if (code == 0) code = read_faulty(answer.payload, &nodes, &count);
  smd_answer_free(&answer);
  smd_conf_free(&conf);
  if (code != 0) {
    free_nodes(nodes, count);
    return smd_result(code);
  }
  *reply = (struct faulty_node_reply){.job_id = request->job_id, .num = (int)count, .nodes = nodes};
  return 0;
}

void smd_free_job_faulty_nodes_reply(struct faulty_node_reply* reply) {
  if (reply == NULL) return;
  free_nodes(reply->nodes, reply->num < 0 ? 0 : (uint64_t)reply->num);
  memset(reply, 0, sizeof *reply);
}

/* ---- drain ---- */

int smd_drain_job_node(struct drain_node_request* request) {
  smd_say_nothing();
  if (request == NULL) return refuse("the request is NULL");
  if (!smd_name_fits(request->node)) return refuse_node();
  if (request->timeout < 0 || request->timeout > 86400)
    return refuse("the timeout must be 0 to 86400 seconds");
  char* reason = strdup(request->reason == NULL || *request->reason == '\0' ? "failing" : request->reason);
  if (reason == NULL) return smd_result(ENOMEM);
  /* Quotes end the text on the wire. */
  for (char* c = reason; *c != '\0'; ++c) *c = *c == '"' ? '\'' : (unsigned char)*c < ' ' ? ' ' : *c;
  if (strlen(reason) > 1024) reason[1024] = '\0';
  /* The plugin reads no further than the reason; our service keeps a user to the nodes of this job. */
  char* command =
      request->job_id == 0
          ? smd_command("DRAIN:NODES:\"%s\":REASON:\"%s\"", request->node, reason)
          : smd_command("DRAIN:NODES:\"%s\":REASON:\"%s\":JOBID:%u", request->node, reason, request->job_id);
  free(reason);
  return tell(command, SMD_CHANGE, request->timeout);
}

/* ---- replace, drop ---- */

static void free_set(struct new_node_set* set) {
  free(set->new_nodelist);
  free(set->new_cpus_per_node);
  memset(set, 0, sizeof *set);
}

/* "ReplacementNode n9 NewNodeList n[1-3] NewNodeCount 3 NewCpusPerNode 8(x3)"; keys that a newer service adds
 * are read over. */
static int read_set(char* text, char** replacement, struct new_node_set* set) {
  char* key;
  int no_memory = 0;
  while ((key = smd_next_word(&text)) != NULL) {
    const char* value = smd_next_word(&text);
    uint64_t count = 0;
    if (value == NULL) {
      if (strcmp(key, "NewCpusPerNode") == 0) continue; /* the plugin's word for a job without CPUs */
      return protocol("a key without its value");
    }
    char** text_of = strcmp(key, "ReplacementNode") == 0  ? replacement
                     : strcmp(key, "NewNodeList") == 0    ? &set->new_nodelist
                     : strcmp(key, "NewCpusPerNode") == 0 ? &set->new_cpus_per_node
                                                          : NULL;
    if (text_of != NULL) {
      free(*text_of);
      *text_of = smd_copy(value, &no_memory);
    } else if (strcmp(key, "NewNodeCount") == 0) {
      if (smd_number(value, INT32_MAX, &count) != 0) return protocol("NewNodeCount is no number");
      set->new_node_cnt = (int)count;
    }
  }
  return no_memory ? ENOMEM : 0;
}

/* REPLACE_NODE for one or several. */
static int replace(uint32_t job_id, const char* nodes, char** failed, char** replacement, time_t* when,
                   struct new_node_set* set) {
  struct smd_conf conf;
  struct smd_answer answer;
  int no_memory = 0;
  *failed = *replacement = NULL;
  *when = 0;
  memset(set, 0, sizeof *set);
  int code = ask(smd_command("REPLACE_NODE:JOBID:%u:NODE:%s", job_id, nodes), SMD_CHANGE, 0, &conf, &answer);
  if (code == 0) {
    code = read_set(answer.payload, replacement, set);
    if (code == 0 && *replacement == NULL) code = protocol("no ReplacementNode");
  } else if (code == ENSTOP_REPLACELATER && answer.payload != NULL) {
    uint64_t at = 0;
    char* rest = answer.payload;
    code =
        smd_number(smd_next_word(&rest), INT64_MAX, &at) == 0 ? 0 : protocol("EREPLACELATER without a time");
    *when = (time_t)at;
  }
  if (code == 0 && (*failed = smd_copy(nodes, &no_memory)) == NULL) code = ENOMEM;
  smd_answer_free(&answer);
  smd_conf_free(&conf);
  if (code != 0) {
    free(*failed);
    free(*replacement);
    *failed = *replacement = NULL;
    free_set(set);
  }
  return code;
}

int smd_replace_job_node(struct replace_node_request* request, struct replace_node_reply* reply) {
  smd_say_nothing();
  if (request == NULL || reply == NULL || request->job_id == 0) return refuse_job();
  memset(reply, 0, sizeof *reply);
  if (!smd_name_fits(request->node)) return refuse_node();
  struct replace_node_reply got = {.job_id = request->job_id};
  const int code = replace(request->job_id, request->node, &got.failed_node, &got.replacement_node,
                           &got.when_available, &got.new_set);
  if (code == 0) *reply = got;
  return smd_result(code);
}

void smd_free_replace_job_node_reply(struct replace_node_reply* reply) {
  if (reply == NULL) return;
  free(reply->failed_node);
  free(reply->replacement_node);
  free_set(&reply->new_set);
  memset(reply, 0, sizeof *reply);
}

int smd_replace_job_nodes(const smd_replace_nodes_request_t* request, smd_replace_nodes_reply_t* reply) {
  smd_say_nothing();
  if (request == NULL || reply == NULL || request->job_id == 0) return refuse_job();
  memset(reply, 0, sizeof *reply);
  if (!smd_name_fits(request->nodes)) return refuse_node();
  smd_replace_nodes_reply_t got = {.job_id = request->job_id};
  const int code = replace(request->job_id, request->nodes, &got.failed_nodes, &got.replacement_nodes,
                           &got.when_available, &got.new_set);
  if (code == 0) *reply = got;
  return smd_result(code);
}

void smd_free_replace_job_nodes_reply(smd_replace_nodes_reply_t* reply) {
  if (reply == NULL) return;
  free(reply->failed_nodes);
  free(reply->replacement_nodes);
  free_set(&reply->new_set);
  memset(reply, 0, sizeof *reply);
}

int smd_drop_job_node(struct drop_node_request* request, struct drop_node_reply* reply) {
  smd_say_nothing();
  if (request == NULL || reply == NULL || request->job_id == 0) return refuse_job();
  memset(reply, 0, sizeof *reply);
  if (!smd_name_fits(request->node)) return refuse_node();
  struct smd_conf conf;
  struct smd_answer answer;
  struct drop_node_reply got = {.job_id = request->job_id};
  char* replacement = NULL; /* none is told; a service that did would not hurt */
  int no_memory = 0;
  int code = ask(smd_command("DROP_NODE:JOBID:%u:NODE:%s", request->job_id, request->node), SMD_CHANGE, 0,
                 &conf, &answer);
  if (code == 0) code = read_set(answer.payload, &replacement, &got.new_set);
  if (code == 0 && (got.node = smd_copy(request->node, &no_memory)) == NULL) code = ENOMEM;
  free(replacement);
  smd_answer_free(&answer);
  smd_conf_free(&conf);
  if (code == 0)
    *reply = got;
  else
    smd_free_drop_job_node_reply(&got);
  return smd_result(code);
}

void smd_free_drop_job_node_reply(struct drop_node_reply* reply) {
  if (reply == NULL) return;
  free(reply->node);
  free_set(&reply->new_set);
  memset(reply, 0, sizeof *reply);
}

/* ---- time ---- */

int smd_extend_job_time(struct job_time_extend_request* request) {
  smd_say_nothing();
  if (request == NULL || request->job_id == 0) return refuse_job();
  return tell(smd_command("TIME_INCR:JOBID:%u:MINUTES:%u", request->job_id, request->minutes), SMD_CHANGE, 0);
}

/* ---- what the service knows of a job ---- */

static int read_job(char* text, struct job_nonstop_info_reply* reply) {
  const struct {
    const char* key;
    uint32_t* field;
  } numbers[] = {
      {"PENDING_JOB_DELAY", &reply->pending_job_delay},
      {"PENDING_JOB_ID", &reply->pending_job_id},
      {"REPLACE_NODE_CNT", &reply->replace_node_cnt},
      {"TIME_EXTEND_AVAIL", &reply->time_extend_avail},
  };
  char* key;
  int no_memory = 0;
  uint64_t number = 0;
  while ((key = smd_next_word(&text)) != NULL) {
    /* The plugin prints a list of no nodes so, without a blank behind it. */
    if (strncmp(key, "(null)", 6) == 0) key += 6;
    if (*key == '\0') continue;
    const char* value = smd_next_word(&text);
    if (value == NULL) return protocol("a key without its value");
    if (strcmp(key, "FAIL_NODE_CNT") == 0) {
      uint64_t wanted = 0, count = 0, cpus = 0;
      if (reply->failed_nodes != NULL || smd_number(value, INT32_MAX, &wanted) != 0)
        return protocol("FAIL_NODE_CNT");
      for (uint64_t i = 0; i < wanted; ++i) {
        const char* name = smd_next_word(&text);
        if (name == NULL || smd_number(smd_next_word(&text), INT32_MAX, &cpus) != 0)
          return protocol("fewer nodes than FAIL_NODE_CNT");
        const int code = add_node(&reply->failed_nodes, &count, name, cpus, 0);
        reply->failed_node_cnt = (uint32_t)count;
        if (code != 0) return code;
      }
      continue;
    }
    if (strcmp(key, "PENDING_NODE_NAME") == 0) {
      free(reply->pending_node_name);
      reply->pending_node_name = smd_copy(value, &no_memory);
      continue;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
      if (strcmp(key, numbers[i].key) != 0) continue;
      if (smd_number(value, UINT32_MAX, &number) != 0) return protocol(key);
      *numbers[i].field = (uint32_t)number;
    }
  }
  return no_memory ? ENOMEM : 0;
}

int smd_nonstop_get_failed_jobinfo(struct job_nonstop_info_request* request,
                                   struct job_nonstop_info_reply* reply) {
  smd_say_nothing();
  if (request == NULL || reply == NULL || request->job_id == 0) return refuse_job();
  memset(reply, 0, sizeof *reply);
  struct smd_conf conf;
  struct smd_answer answer;
  struct job_nonstop_info_reply got = {.job_id = request->job_id};
  int code = ask(smd_command("SHOW_JOB:JOBID:%u", request->job_id), SMD_ASK, 0, &conf, &answer);
  if (code == 0) code = read_job(answer.payload, &got);
  smd_answer_free(&answer);
  smd_conf_free(&conf);
  if (code == 0)
    *reply = got;
  else
    smd_nonstop_free_failed_jobinfo(&got);
  return smd_result(code);
}

void smd_nonstop_free_failed_jobinfo(struct job_nonstop_info_reply* reply) {
  if (reply == NULL) return;
  free_nodes(reply->failed_nodes, reply->failed_node_cnt);
  free(reply->pending_node_name);
  memset(reply, 0, sizeof *reply);
}

/* ---- the configuration ---- */

static in_addr_t ipv4_of(const char* address) {
  const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  struct addrinfo* found = NULL;
  if (address == NULL || getaddrinfo(address, NULL, &wanted, &found) != 0) return 0;
  struct sockaddr_in first;
  memcpy(&first, found->ai_addr, sizeof first);
  freeaddrinfo(found);
  return first.sin_addr.s_addr;
}

static int read_config(char* text, struct nonstop_config* config) {
  uint64_t number = 0;
  int no_memory = 0;
  char* key;
  while ((key = smd_next_word(&text)) != NULL) {
    const char* value = smd_next_word(&text);
    if (value == NULL) return protocol("a key without its value");
    char** text_of = strcmp(key, "HotSpareCount") == 0    ? &config->hot_spare_count
                     : strcmp(key, "UserDrainAllow") == 0 ? &config->user_drain_allow
                     : strcmp(key, "UserDrainDeny") == 0  ? &config->user_drain_deny
                                                          : NULL;
    uint16_t* minutes = strcmp(key, "TimeLimitDelay") == 0    ? &config->time_limit_delay
                        : strcmp(key, "TimeLimitDrop") == 0   ? &config->time_limit_drop
                        : strcmp(key, "TimeLimitExtend") == 0 ? &config->time_limit_extend
                                                              : NULL;
    if (text_of != NULL) {
      free(*text_of);
      *text_of = smd_copy(value, &no_memory);
    } else if (minutes != NULL) {
      if (smd_number(value, UINT16_MAX, &number) != 0) return protocol(key);
      *minutes = (uint16_t)number;
    } else if (strcmp(key, "MaxSpareNodeCount") == 0) {
      if (smd_number(value, UINT32_MAX, &number) != 0) return protocol(key);
      config->max_spare_node_count = (uint32_t)number;
    }
  }
  return no_memory ? ENOMEM : 0;
}

int smd_get_nonstopconfig(struct nonstop_config* config) {
  smd_say_nothing();
  if (config == NULL) return refuse("the configuration is NULL");
  memset(config, 0, sizeof *config);
  struct smd_conf conf;
  struct smd_answer answer;
  struct nonstop_config got;
  memset(&got, 0, sizeof got);
  int code = ask(smd_command("SHOW_CONFIG"), SMD_ASK, 0, &conf, &answer);
  if (code == 0) code = read_config(answer.payload, &got);
  smd_answer_free(&answer);
  if (code == 0) {
    got.control_saddr = ipv4_of(conf.addresses[0]);
    got.backup_saddr = ipv4_of(conf.addresses[1]);
    got.conf_fname = conf.file;
    got.control_addr = conf.addresses[0];
    got.backup_addr = conf.addresses[1];
    conf.file = conf.addresses[0] = conf.addresses[1] = NULL;
    got.debug = conf.debug;
    got.port = conf.port;
    got.read_timeout = conf.read_timeout;
    got.write_timeout = conf.write_timeout;
    *config = got;
  } else {
    smd_free_nonstop_config(&got);
  }
  smd_conf_free(&conf);
  return smd_result(code);
}

void smd_free_nonstop_config(struct nonstop_config* config) {
  if (config == NULL) return;
  free(config->conf_fname);
  free(config->control_addr);
  free(config->backup_addr);
  free(config->hot_spare_count);
  free(config->user_drain_allow);
  free(config->user_drain_deny);
  memset(config, 0, sizeof *config);
}
