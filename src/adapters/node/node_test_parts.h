// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: recorded machines, and running one operation to its end.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "adapters/node/node_runner.h"
#include "adapters/posix/poll_loop.h"
#include "adapters/posix/process_runner.h"

namespace sickbay::node {

/// A folder of its own, removed with all in it.
class TestFolder {
 public:
  TestFolder() {
    char name[] = "/tmp/sickbay-node-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }
  void write(const std::string& file, const std::string& bytes) const {
    const std::filesystem::path place(path_ + file);
    std::filesystem::create_directories(place.parent_path());
    std::ofstream(place, std::ios::binary) << bytes;
  }

 private:
  std::string path_;
};

/// Unpacks test/fixtures/node/NAME.tree (its README.md says how it is written).
inline void unpack(const std::string& name, const TestFolder& folder) {
  std::ifstream file(SB_TREES "/" + name + ".tree");
  ASSERT_TRUE(file) << name;
  std::string line, path, bytes;
  bool hex = false, program = false, begun = false;
  const auto put = [&] {
    if (path.empty()) return;
    folder.write(path, bytes);
    if (program) std::filesystem::permissions(folder.path() + path, std::filesystem::perms(0755));
  };
  while (std::getline(file, line)) {
    if (!begun && line.starts_with('#')) continue;
    begun = true;
    if (line.starts_with("== ")) {
      put();
      path = line.substr(3);
      bytes.clear();
      hex = program = false;
      if (const auto arrow = path.find(" -> "); arrow != std::string::npos) {
        const std::filesystem::path place(folder.path() + path.substr(0, arrow));
        std::filesystem::create_directories(place.parent_path());
        std::filesystem::create_symlink(path.substr(arrow + 4), place);
        path.clear();
      } else if (path.ends_with(" hex")) {
        hex = true;
        path.resize(path.size() - 4);
      } else if (path.ends_with(" program")) {
        program = true;
        path.resize(path.size() - 8);
      }
    } else if (hex) {
      std::erase(line, ' ');
      for (std::size_t i = 0; i + 1 < line.size(); i += 2)
        bytes += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    } else {
      bytes += line + "\n";
    }
  }
  put();
}

/// Built-in operations below a root, on a real loop.
class Machine {
 public:
  explicit Machine(const std::string& root)
      : loop_(make_poll_loop().value()),
        programs_(make_process_runner(*loop_)),
        runner_(make_node_runner(*loop_, *programs_, root)) {}

  OperationEnd run(OperationCall call) {
    std::optional<OperationEnd> end;
    runner_->run(std::move(call), [&](OperationEnd e) {
      end = std::move(e);
      loop_->stop();
    });
    EXPECT_FALSE(end) << "never from inside run()";
    loop_->run();
    return *end;
  }
  OperationEnd run(const std::string& name, Json arguments = Json::object(), Json inputs = Json::object()) {
    OperationCall call;
    call.operation = name;
    call.run = "builtin:" + name;
    call.arguments = std::move(arguments);
    call.inputs = std::move(inputs);
    call.time_limit = std::chrono::seconds(30);
    return run(std::move(call));
  }
  Loop& loop() { return *loop_; }
  OperationRunner& runner() { return *runner_; }

 private:
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<ProcessRunner> programs_;
  std::unique_ptr<OperationRunner> runner_;
};

}  // namespace sickbay::node
