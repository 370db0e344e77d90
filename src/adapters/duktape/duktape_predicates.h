// SPDX-License-Identifier: Apache-2.0
// DuktapePredicates: the PredicateCompiler over Duktape 2.7, Debian's embeddable ECMAScript 5.1.
//
// One heap for all predicates of a compiler, freed with the last of them.  Its global object holds Math and
// nothing else.  Memory is bounded by an allocator with a limit: compiling and each evaluation may take
// `headroom` bytes beyond what the compiled predicates hold; over that Duktape throws, and the call is an
// error. Time is not bounded here: Debian's build has no execution time-out, which is why
// engine/diagnose/expression.h lets nothing through that could loop.
#pragma once
#include <cstddef>
#include <memory>

#include "ports/predicate.h"

namespace sickbay {

class DuktapePredicates : public PredicateCompiler {
 public:
  static constexpr std::size_t kHeadroom = std::size_t{32} << 20;
  explicit DuktapePredicates(std::size_t headroom = kHeadroom);
  ~DuktapePredicates() override;
  DuktapePredicates(const DuktapePredicates&) = delete;
  DuktapePredicates& operator=(const DuktapePredicates&) = delete;

  Result<std::unique_ptr<Predicate>> compile(const std::string& expression,
                                             const std::vector<std::string>& variables) override;
  /// Bytes that the heap holds now.
  std::size_t used() const;

  class Heap;

 private:
  std::shared_ptr<Heap> heap_;
};

}  // namespace sickbay
