// SPDX-License-Identifier: Apache-2.0
#include "workload/import/pseudonyms.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>

#include "base/text.h"

namespace sickbay::workload {
namespace {

constexpr std::size_t kMostKnown = 200'000;

bool is_word(char c) {
  return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

Status check_pseudonym_key(std::string_view key) {
  if (key.size() >= kLeastKeyBytes) return {};
  return fail(Error(ErrorCode::bad_input, fmt::format("the key for pseudonyms has {} bytes, {} are the least",
                                                      key.size(), kLeastKeyBytes))
                  .because("with a short key the names behind the pseudonyms can be tried out")
                  .remedied_by("make one: head -c 32 /dev/urandom > KEYFILE; chmod 600 KEYFILE"));
}

const std::string& Pseudonyms::of(char kind, std::string_view name) {
  std::string message(1, kind);
  message += name;
  if (const auto known = known_.find(message); known != known_.end()) return known->second;
  if (known_.size() >= kMostKnown) known_.clear();
  unsigned char mac[EVP_MAX_MD_SIZE] = {};
  unsigned length = 0;
  const auto* made =
      HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(), mac, &length);
  SB_CHECK(made != nullptr && length >= 5, "HMAC-SHA-256 is always there");
  std::uint64_t bits = 0;
  for (int i = 0; i < 5; ++i) bits = bits << 8 | mac[i];
  // Crockford's letters: none that is taken for a digit.
  static constexpr char kLetters[] = "0123456789abcdefghjkmnpqrstvwxyz";
  std::string word{kind, '-'};
  for (int shift = 35; shift >= 0; shift -= 5) word += kLetters[bits >> shift & 31];
  return known_.emplace(std::move(message), std::move(word)).first->second;
}

std::string_view without_name(std::string_view text, std::string_view name, std::string_view pseudonym,
                              Arena& arena) {
  if (name.empty() || text.size() < name.size()) return text;
  const bool alone = name.size() <= 3;
  std::string made;
  std::size_t done = 0;
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string_view::npos;) {
    const std::size_t end = at + name.size();
    if (alone && ((at > 0 && is_word(text[at - 1])) || (end < text.size() && is_word(text[end])))) {
      ++at;
      continue;
    }
    made.append(text, done, at - done);
    made += pseudonym;
    at = done = end;
  }
  if (done == 0) return text;
  made.append(text, done);
  return arena.copy(made);
}

void Pseudonyms::apply(Row& job, Arena& arena) {
  struct Kind {
    char letter;
    Text field;
  };
  static constexpr Kind kKinds[] = {{'u', Text::user_name}, {'g', Text::group_name}, {'a', Text::account}};
  static constexpr Text kFreeTexts[] = {Text::work_dir, Text::submit_line, Text::comment,
                                        Text::job_name, Text::step_names,  Text::reservation};
  std::string_view names[std::size(kKinds)];
  std::string_view words[std::size(kKinds)];
  for (std::size_t i = 0; i < std::size(kKinds); ++i) {
    names[i] = job.get(kKinds[i].field);
    if (names[i].empty()) continue;
    words[i] = arena.copy(of(kKinds[i].letter, names[i]));
    job.set(kKinds[i].field, words[i]);
  }
  // The longest name first: "ann" must not tear "annika" apart.
  std::size_t order[] = {0, 1, 2};
  std::stable_sort(std::begin(order), std::end(order),
                   [&](std::size_t a, std::size_t b) { return names[a].size() > names[b].size(); });
  for (const Text field : kFreeTexts) {
    if (!job.has(field)) continue;
    std::string_view text = job.get(field);
    for (const std::size_t i : order) text = without_name(text, names[i], words[i], arena);
    job.set(field, text);
  }
  job.drop(Num::uid);
  job.drop(Num::cancelled_by);
}

}  // namespace sickbay::workload
