// SPDX-License-Identifier: Apache-2.0
// Predicate: one ECMAScript expression over values, compiled once and evaluated often.
//
// The port does not judge what an expression may hold: engine/diagnose/expression.h does, before it compiles
// anything.  The implementation bounds memory, so that an expression that builds a huge text fails alone.
// Besides what ECMAScript has, an expression may call Math.known(x): x where it is a finite number, else it
// fails, so that nobody compares 0/0 with anything.
// Not thread-safe: one compiler and all that it compiled belong to one thread.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/value.h"

namespace sickbay {

class Predicate {
 public:
  virtual ~Predicate() = default;
  /// The truth of the expression, with `values` for the variables it was compiled with, in their order.
  /// Errors: bad_input: it threw, needed too much memory, or gave something other than a bool.
  virtual Result<bool> evaluate(std::span<const Value* const> values) = 0;
};

class PredicateCompiler {
 public:
  virtual ~PredicateCompiler() = default;
  /// What it gives may outlive the compiler.  Errors: bad_input: the expression does not compile.
  virtual Result<std::unique_ptr<Predicate>> compile(const std::string& expression,
                                                     const std::vector<std::string>& variables) = 0;
};

}  // namespace sickbay
