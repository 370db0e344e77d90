// SPDX-License-Identifier: Apache-2.0
// What libsmd reads of a service: whatever an answer or an event holds, a call ends with a reply that can be
// freed and read, or with an error that has a text.
//
// The exchange is cut out at the link (--wrap, CMakeLists.txt): its answer is the input.  The first byte says
// which call is made, and whether the answer's code is "done" or "later".
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "property.h"

extern "C" {
#include "libsmd/internal.h"

int __wrap_smd_conf_read(struct smd_conf* conf);
int __wrap_smd_exchange(const struct smd_conf* conf, const char* command, int how, std::int64_t timeout_s,
                        struct smd_answer* answer, int* fd);
}

namespace {

std::string input;
int code = ENSTOP_OK;

void all_are_texts(char** names, int count) {
  SB_CHECK(count >= 0, "a count is none below 0");
  for (int i = 0; i < count; ++i)
    SB_CHECK(names[i] != nullptr && std::strlen(names[i]) <= input.size(), "a name");
}

void all_are_nodes(const node_state_t* nodes, int count) {
  SB_CHECK(count >= 0, "a count is none below 0");
  for (int i = 0; i < count; ++i)
    SB_CHECK(nodes[i].node_name != nullptr && nodes[i].cpu_cnt >= 0, "a node has a name and CPUs");
}

void failed_with_a_text() {
  SB_CHECK(errno != 0, "an error has a number");
  SB_CHECK(*smd_nonstop_errstr(errno) != '\0', "and a text");
}

void read_event() {
  smd_event_t event{};
  if (smd_json_event(input.c_str(), &event) != 0) return;
  all_are_texts(event.nodes, event.node_cnt);
  all_are_texts(event.by, event.by_cnt);
  smd_free_event(&event);
}

void ask_faulty() {
  faulty_node_request_t request{};
  request.job_id = 17;
  faulty_node_reply_t reply{};
  if (smd_get_job_faulty_nodes(&request, &reply) != 0) return failed_with_a_text();
  all_are_nodes(reply.nodes, reply.num);
  smd_free_job_faulty_nodes_reply(&reply);
}

void replace() {
  char node[] = "n3";
  replace_node_request_t request{};
  request.job_id = 17;
  request.node = node;
  replace_node_reply_t reply{};
  if (smd_replace_job_node(&request, &reply) != 0) return failed_with_a_text();
  SB_CHECK(reply.failed_node != nullptr, "whose place is taken is told");
  smd_free_replace_job_node_reply(&reply);
}

void drop() {
  char node[] = "n3";
  drop_node_request_t request{};
  request.job_id = 17;
  request.node = node;
  drop_node_reply_t reply{};
  if (smd_drop_job_node(&request, &reply) != 0) return failed_with_a_text();
  smd_free_drop_job_node_reply(&reply);
}

void show_job() {
  job_nonstop_info_request_t request{};
  request.job_id = 17;
  job_nonstop_info_reply_t reply{};
  if (smd_nonstop_get_failed_jobinfo(&request, &reply) != 0) return failed_with_a_text();
  all_are_nodes(reply.failed_nodes, static_cast<int>(reply.failed_node_cnt));
  smd_nonstop_free_failed_jobinfo(&reply);
}

void show_config() {
  nonstop_config_t config{};
  if (smd_get_nonstopconfig(&config) != 0) return failed_with_a_text();
  smd_free_nonstop_config(&config);
}

}  // namespace

int __wrap_smd_conf_read(struct smd_conf* conf) {
  std::memset(conf, 0, sizeof *conf);
  conf->addresses[0] = strdup("nowhere");
  conf->port = 1, conf->read_timeout = conf->write_timeout = 1;
  return 0;
}

int __wrap_smd_exchange(const struct smd_conf*, const char*, int, std::int64_t, struct smd_answer* answer,
                        int*) {
  answer->text = strdup(input.c_str());
  answer->payload = answer->text;
  answer->code = code;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  constexpr void (*kCalls[])() = {read_event, ask_faulty, replace, drop, show_job, show_config};
  // (Letters, so that a seed can be written by hand: a to f done, g to l later.)
  const unsigned which = static_cast<unsigned char>(bytes[0] - 'a') % 12U;
  code = which < 6 ? ENSTOP_OK : ENSTOP_REPLACELATER;
  input.assign(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  input = input.c_str();  // as an answer is read
  char head[9] = {};
  std::memcpy(head, input.data(), std::min(input.size(), sizeof head));
  SB_CHECK(smd_frame_length(head) <= SMD_MAX_ANSWER, "an answer is bounded");
  kCalls[which % 6]();
  return 0;
}
