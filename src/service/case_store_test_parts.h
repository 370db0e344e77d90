// SPDX-License-Identifier: Apache-2.0
// Saved submissions in memory, or nowhere, for who needs no files.
#pragma once
#include <map>
#include <vector>

#include "service/case_store.h"

namespace sickbay {

/// Keeps nothing.
struct NoStore : CaseStore {
  Status save(std::int64_t, const Submission&) override { return {}; }
  Result<Submission> load(std::int64_t) override { return fail(ErrorCode::not_found, ""); }
  Status remove(std::int64_t) override { return {}; }
  Result<std::vector<std::int64_t>> list() const override { return std::vector<std::int64_t>(); }
};

struct MemoryStore : CaseStore {
  std::map<std::int64_t, Submission> kept;
  Status save(std::int64_t no, const Submission& s) override {
    kept[no] = s;
    return {};
  }
  Result<Submission> load(std::int64_t no) override {
    const auto it = kept.find(no);
    if (it == kept.end()) return fail(ErrorCode::not_found, "no such submission");
    return it->second;
  }
  Status remove(std::int64_t no) override {
    kept.erase(no);
    return {};
  }
  Result<std::vector<std::int64_t>> list() const override {
    std::vector<std::int64_t> numbers;
    for (const auto& [no, submission] : kept) numbers.push_back(no);
    return numbers;
  }
};

}  // namespace sickbay
