// SPDX-License-Identifier: Apache-2.0
#include "ports/operation_choice.h"

#include <string_view>
#include <utility>

#include "model/builtin_operations.h"

namespace sickbay {
namespace {

class Choice : public OperationRunner {
 public:
  Choice(std::unique_ptr<OperationRunner> builtin, std::unique_ptr<OperationRunner> executables)
      : builtin_(std::move(builtin)), executables_(std::move(executables)) {}

  void run(OperationCall call, std::function<void(OperationEnd)> done) override {
    constexpr std::string_view kBuiltin = "builtin:";
    // A program of the site.
    if (!call.run.starts_with(kBuiltin)) return executables_->run(std::move(call), std::move(done));
    const BuiltinOperation* row = builtin_operation(std::string_view(call.run).substr(kBuiltin.size()));
    // A name that nobody knows goes on as well: who runs it says so.
    if (row == nullptr || row->place != BuiltinPlace::program)
      return builtin_->run(std::move(call), std::move(done));
    // Its arguments are in the table, so they are checked and completed here as for any other.
    auto arguments = builtin_arguments(*row, call.arguments, call.inputs);
    if (!arguments)
      return builtin_->run(std::move(call), std::move(done));  // which says what is wrong with them
    call.arguments = std::move(*arguments);
    call.run = row->name;
    executables_->run(std::move(call), std::move(done));
  }

 private:
  std::unique_ptr<OperationRunner> builtin_, executables_;
};

}  // namespace

std::unique_ptr<OperationRunner> make_operation_choice(std::unique_ptr<OperationRunner> builtin,
                                                       std::unique_ptr<OperationRunner> executables) {
  return std::make_unique<Choice>(std::move(builtin), std::move(executables));
}

}  // namespace sickbay
