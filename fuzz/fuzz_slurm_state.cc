// SPDX-License-Identifier: Apache-2.0
// States: text and word of every state lead back to it; the nearest word is near from both sides.
#include <cstring>

#include "base/spelling.h"
#include "model/slurm_state.h"
#include "property.h"

namespace {

using namespace sickbay;

void check_texts(const JobState& state) {
  SB_CHECK(parse_job_state(to_string(state)).value() == state, "the printed text parses to the same state");
  SB_CHECK(parse_job_state(base_name(state), flag_names(state)).value() == state, "so do its parts");
  SB_CHECK(is_terminal(state) == (run_end(state) != RunEnd::not_ended), "what is over has ended somehow");
}

void check_texts(const NodeState& state) {
  SB_CHECK(parse_node_state(to_string(state)).value() == state, "the printed text parses to the same state");
  SB_CHECK(parse_node_state(base_name(state), flag_names(state)).value() == state, "so do its parts");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text = fuzz::as_text(bytes, size);
  if (const auto state = parse_job_state(text))
    check_texts(*state);
  else
    fuzz::check_refusal(state.error());
  if (const auto state = parse_node_state(text))
    check_texts(*state);
  else
    fuzz::check_refusal(state.error());
  if (cancelled_by(text)) SB_CHECK(parse_job_state(text).value().base == JobBase::cancelled, "cancelled");

  std::uint32_t word = 0;
  std::memcpy(&word, bytes, std::min(size, sizeof word));
  if (const auto state = job_state_from_word(word)) {
    SB_CHECK(state->word() == word, "the word comes back");
    check_texts(*state);
  }
  if (const auto state = node_state_from_word(word)) {
    SB_CHECK(state->word() == word, "the word comes back");
    check_texts(*state);
  }

  const std::string_view a = text.substr(0, size / 2), b = text.substr(size / 2);
  const int edits = edit_distance(a, b, 3);
  SB_CHECK(edits == edit_distance(b, a, 3), "as far there as back");
  SB_CHECK(edits <= 4, "bounded");
  const std::string near = did_you_mean(a, {b});
  SB_CHECK(near.empty() || (near == b && edits <= 3), "near is near");
  return 0;
}
