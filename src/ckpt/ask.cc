// SPDX-License-Identifier: Apache-2.0
#include "ckpt/ask.h"

#include "base/json.h"
#include "base/text.h"

namespace sickbay::ckpt {
namespace {

constexpr const char* kAskName = "ask";
constexpr std::size_t kMostAskBytes = 4096;

}  // namespace

Status ask_for_checkpoint(const Series& series, const std::string& token) {
  // The token goes into series.json and into messages; anything else would be a user's text in our files.
  if (!checkpoint::is_plain_name(token))
    return fail(Error(ErrorCode::usage, quote_for_message(token) + " cannot be the token of a wish")
                    .remedied_by("take up to 200 printable characters without '/', the first no '.'"));
  return checkpoint::write_whole(*series.files, series.board, kAskName,
                                 Json::object({{"token", token}}).dump() + "\n");
}

std::string ask_path(const Series& series) { return series.board + "/" + kAskName; }

std::string asked_token(const Series& series) {
  const auto text = checkpoint::read_whole(*series.files, ask_path(series), kMostAskBytes);
  const auto json = text ? Json::parse(*text) : Result<Json>(Json());
  if (!json) return "";
  const std::string& token = (*json)["token"].as_string();
  return checkpoint::is_plain_name(token) ? token : "";
}

Status note_answer(const Series& series, const std::string& token, const std::string& error) {
  SeriesState state = read_state(series);
  state.asked_done = token;
  state.asked_error = error;
  return write_state(series, state);
}

}  // namespace sickbay::ckpt
