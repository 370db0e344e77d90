// SPDX-License-Identifier: Apache-2.0
#include "model/slurm_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sickbay {
namespace {

using ::testing::HasSubstr;
using B = JobBase;
using F = JobFlag;

JobState job(B base, std::initializer_list<F> flags = {}) {
  JobState state{base, 0};
  for (const F flag : flags) state.flags |= static_cast<std::uint32_t>(flag);
  return state;
}
NodeState node(NodeBase base, std::initializer_list<NodeFlag> flags = {}) {
  NodeState state{base, 0};
  for (const NodeFlag flag : flags) state.flags |= static_cast<std::uint32_t>(flag);
  return state;
}

TEST(JobState, Parses) {
  const struct {
    const char* text;
    JobState state;
  } rows[] = {
      {"PENDING", job(B::pending)},
      {"COMPLETED", job(B::completed)},
      {"completed", job(B::completed)},
      {" NODE_FAIL ", job(B::node_fail)},
      {"COMPLETED,COMPLETING", job(B::completed, {F::completing})},
      {"COMPLETING,COMPLETED", job(B::completed, {F::completing})},
      {"NODE_FAIL,REQUEUED,COMPLETING", job(B::node_fail, {F::requeued, F::completing})},
      {"RUNNING,BIT25", JobState{B::running, 1U << 25}},

      // squeue's short words
      {"PD", job(B::pending)},
      {"R", job(B::running)},
      {"CD", job(B::completed)},
      {"CA", job(B::cancelled)},
      {"F", job(B::failed)},
      {"TO", job(B::timeout)},
      {"NF", job(B::node_fail)},
      {"OOM", job(B::out_of_memory)},
      {"CF", job(B::running, {F::configuring})},

      // sacct's
      {"CANCELLED by 1000", job(B::cancelled)},
      {"CANCELLED+", job(B::cancelled)},
      {"OUT_OF_ME+", job(B::out_of_memory)},
      {"COMPLETED+", job(B::completed)},
      {"REQUEUED", job(B::pending, {F::requeued})},
      {"RESIZING", job(B::running, {F::resizing})},
      {"REVOKED", job(B::cancelled, {F::revoked})},
  };
  for (const auto& row : rows) {
    const auto state = parse_job_state(row.text);
    ASSERT_TRUE(state) << row.text << ": " << state.error().line();
    EXPECT_EQ(*state, row.state) << row.text << " was read as " << to_string(*state);
  }
}

TEST(JobState, Refuses) {
  const struct {
    std::string text;
    const char *what, *remedy;
  } rows[] = {
      {"", "'' is no job state", "as scontrol shows it"},
      {"COMPLETD", "'COMPLETD' is no job state", "did you mean 'COMPLETED'?"},
      {"NODEFAIL", "'NODEFAIL' is no job state", "did you mean 'NODE_FAIL'?"},
      {"COMPLETED,", "'' is no job state", ""},
      {"COMPLETED,FAILED", "two base states", ""},
      {"COMPLETING", "does not tell whether and how", ""},  // it may have failed
      {"CG", "does not tell whether and how", ""},
      {"CANCELLED by root", "is no job state", ""},
      {"CANCELLED by 99999999999", "is no job state", ""},
      {"REQUEUE+", "fits more than one", "--parsable2"},
      {"BIT24", "is no job state", ""},  // it has a name
      {"RUNNING,BIT32", "'BIT32' is no job state", ""},
      {std::string("R\0", 2), "'R\\x00' is no job state", ""},
  };
  for (const auto& row : rows) {
    const auto state = parse_job_state(row.text);
    ASSERT_FALSE(state) << row.text;
    EXPECT_THAT(state.error().what, HasSubstr(row.what));
    EXPECT_THAT(state.error().remedy_text, HasSubstr(row.remedy));
  }
}

TEST(JobState, FromBaseAndFlagWords) {
  EXPECT_EQ(*parse_job_state("FAILED", std::vector<std::string>{"COMPLETING", "LAUNCH_FAILED"}),
            job(B::failed, {F::completing, F::launch_failed}));
  EXPECT_FALSE(parse_job_state("FAILED", std::vector<std::string>{"TIMEOUT"}));
  EXPECT_FALSE(parse_job_state("FAILED", std::vector<std::string>{"COMPLETIN"}));
}

// Every base with every bit: the word comes back, and so does the text.
TEST(JobState, WordAndTextRoundTrip) {
  for (const JobBaseRow& row : job_bases())
    for (std::uint32_t bit = 7; bit < 32; ++bit) {
      const std::uint32_t word = static_cast<std::uint32_t>(row.base) | (bit == 7 ? 0 : 1U << bit);
      const auto state = job_state_from_word(word);
      ASSERT_TRUE(state);
      EXPECT_EQ(state->word(), word);
      const auto back = parse_job_state(to_string(*state));
      ASSERT_TRUE(back) << to_string(*state);
      EXPECT_EQ(*back, *state);
      EXPECT_EQ(*parse_job_state(base_name(*state), flag_names(*state)), *state);
    }
  EXPECT_EQ(to_string(*job_state_from_word(0x8005)), "FAILED,COMPLETING");  // JOB_FAILED|JOB_COMPLETING
  EXPECT_EQ(to_string(*job_state_from_word(0x407)), "NODE_FAIL,REQUEUED");
  EXPECT_THAT(job_state_from_word(12).error().message("sickbayd"), HasSubstr("newer than this Sickbay"));
}

TEST(JobState, EndOfARun) {
  const struct {
    const char* text;
    RunEnd end;
  } rows[] = {
      {"PENDING", RunEnd::not_ended},
      {"RUNNING", RunEnd::not_ended},
      {"SUSPENDED", RunEnd::not_ended},
      {"RUNNING,STOPPED", RunEnd::not_ended},
      {"PENDING,REQUEUED", RunEnd::not_ended},
      {"COMPLETED", RunEnd::completed},
      {"COMPLETED,COMPLETING", RunEnd::completed},
      {"CANCELLED by 0", RunEnd::answered},
      {"OUT_OF_MEMORY", RunEnd::answered},
      {"DEADLINE", RunEnd::answered},
      {"FAILED", RunEnd::failed},
      {"TIMEOUT", RunEnd::failed},
      {"NODE_FAIL,COMPLETING", RunEnd::failed},
      {"BOOT_FAIL", RunEnd::failed},
      {"CANCELLED,LAUNCH_FAILED", RunEnd::failed},
      {"PREEMPTED", RunEnd::waits},
      {"NODE_FAIL,REQUEUED,COMPLETING", RunEnd::waits},
      {"FAILED,SPECIAL_EXIT", RunEnd::waits},
      {"FAILED,LAUNCH_FAILED,REQUEUE_HOLD", RunEnd::waits},
      {"CANCELLED,REVOKED", RunEnd::waits},
  };
  for (const auto& row : rows) EXPECT_EQ(run_end(*parse_job_state(row.text)), row.end) << row.text;
}

TEST(JobState, WhoCancelledIt) {
  EXPECT_EQ(cancelled_by("CANCELLED by 1000"), 1000U);
  EXPECT_EQ(cancelled_by("CANCELLED by 0"), 0U);
  for (const char* text : {"CANCELLED", "CANCELLED by ", "CANCELLED by x", "CANCELLED by 1 ,", "FAILED"})
    EXPECT_EQ(cancelled_by(text), std::nullopt) << text;
}

TEST(NodeState, Parses) {
  using N = NodeBase;
  using G = NodeFlag;
  const struct {
    const char* text;
    NodeState state;
  } rows[] = {
      {"IDLE", node(N::idle)},
      {"MIXED", node(N::mixed)},
      {"mix", node(N::mixed)},
      {"ALLOC", node(N::allocated)},
      {"IDLE+DRAIN", node(N::idle, {G::drain})},
      {"DOWN*+DRAIN", node(N::down, {G::drain, G::not_responding})},
      {"DOWN+DRAIN+NOT_RESPONDING", node(N::down, {G::drain, G::not_responding})},
      {"DOWN,DRAIN,NO_RESPOND", node(N::down, {G::drain, G::not_responding})},
      {"IDLE+CLOUD+POWERED_DOWN", node(N::idle, {G::cloud, G::powered_down})},
      {"MIXED+PLANNED", node(N::mixed, {G::planned})},
      {"IDLE+BIT30", NodeState{N::idle, 1U << 30}},

      // sinfo's
      {"down*", node(N::down, {G::not_responding})},
      {"idle~", node(N::idle, {G::powered_down})},
      {"alloc@", node(N::allocated, {G::reboot_requested})},
      {"mix-", node(N::mixed, {G::planned})},
      {"ALLOCATED+", node(N::allocated, {G::completing})},
      {"drained", node(N::unknown, {G::drain})},  // idle or down: sinfo does not tell
      {"drain*", node(N::unknown, {G::drain, G::not_responding})},
      {"draining", node(N::allocated, {G::drain})},
      {"drng", node(N::allocated, {G::drain})},
      {"failg", node(N::allocated, {G::fail})},
      {"maint", node(N::unknown, {G::maintenance})},
      {"inval", node(N::unknown, {G::invalid_reg})},
  };
  for (const auto& row : rows) {
    const auto state = parse_node_state(row.text);
    ASSERT_TRUE(state) << row.text << ": " << state.error().line();
    EXPECT_EQ(*state, row.state) << row.text << " was read as " << to_string(*state);
  }
}

TEST(NodeState, Refuses) {
  const struct {
    const char *text, *what, *remedy;
  } rows[] = {
      {"", "'' is no node state", "as scontrol shows it"},
      {"*", "'*' is no node state", ""},
      {"+", "'' is no node state", ""},
      {"IDEL", "'IDEL' is no node state", "did you mean 'IDLE'?"},
      {"IDLE+DRIAN", "'DRIAN' is no node state", "did you mean 'DRAIN'?"},
      {"IDLE+DOWN", "two base states", ""},
      {"IDLE++DRAIN", "'' is no node state", ""},
      {"IDLE+BIT3", "'BIT3' is no node state", ""},
  };
  for (const auto& row : rows) {
    const auto state = parse_node_state(row.text);
    ASSERT_FALSE(state) << row.text;
    EXPECT_THAT(state.error().what, HasSubstr(row.what));
    EXPECT_THAT(state.error().remedy_text, HasSubstr(row.remedy));
  }
  EXPECT_FALSE(parse_node_state("IDLE", std::vector<std::string>{"DOWN"}));
}

TEST(NodeState, WordAndTextRoundTrip) {
  for (const NodeBaseRow& row : node_bases())
    for (std::uint32_t bit = 3; bit < 32; ++bit) {
      const std::uint32_t word = static_cast<std::uint32_t>(row.base) | (bit == 3 ? 0 : 1U << bit);
      const auto state = node_state_from_word(word);
      ASSERT_TRUE(state);
      EXPECT_EQ(state->word(), word);
      const auto back = parse_node_state(to_string(*state));
      ASSERT_TRUE(back) << to_string(*state);
      EXPECT_EQ(*back, *state) << to_string(*state);
      EXPECT_EQ(*parse_node_state(base_name(*state), flag_names(*state)), *state);
    }
  EXPECT_EQ(to_string(*node_state_from_word(0xa01)), "DOWN+DRAIN+NOT_RESPONDING");
  EXPECT_FALSE(node_state_from_word(7));
}

TEST(NodeState, Usable) {
  for (const char* text : {"IDLE", "MIXED", "ALLOCATED", "IDLE+CLOUD+POWERED_DOWN", "IDLE+PLANNED",
                           "IDLE+COMPLETING", "IDLE+DYNAMIC_NORM", "IDLE+BIT30"})
    EXPECT_TRUE(usable(*parse_node_state(text))) << text;
  for (const char* text : {"DOWN", "UNKNOWN", "FUTURE", "ERROR", "IDLE+DRAIN", "MIXED+DRAIN",
                           "ALLOCATED+FAIL", "IDLE*", "IDLE+MAINTENANCE", "IDLE+RESERVED",
                           "IDLE+REBOOT_REQUESTED", "IDLE+POWERING_DOWN", "IDLE!", "drained"})
    EXPECT_FALSE(usable(*parse_node_state(text))) << text;
}

}  // namespace
}  // namespace sickbay
