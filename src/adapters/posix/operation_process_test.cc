// SPDX-License-Identifier: Apache-2.0
// Operations as executables, well behaved and not: each ends within its bounds, named, and nothing is left.
#include "adapters/posix/operation_process.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>

#include "adapters/posix/files.h"
#include "adapters/posix/poll_loop.h"
#include "base/duration.h"

namespace sickbay {
namespace {

namespace fs = std::filesystem;
using Ended = OperationEnd::Result;

class OperationProcessTest : public ::testing::Test {
 protected:
  OperationProcessTest() {
    char name[] = "/tmp/sickbay-operations-XXXXXX";
    folder_ = ::mkdtemp(name);
    fs::create_directory(folder_ + "/site");
    fs::create_directory(folder_ + "/shipped");
  }
  ~OperationProcessTest() override { fs::remove_all(folder_); }

  void write(const std::string& place, const std::string& script, fs::perms mode = fs::perms(0755)) {
    std::ofstream(folder_ + "/" + place) << "#!/bin/sh\n" << script;
    fs::permissions(folder_ + "/" + place, mode);
  }
  OperationEnd run(OperationCall call) {
    auto loop = make_poll_loop().value();
    auto runner =
        make_operation_process_runner(*loop, {{folder_ + "/site", folder_ + "/shipped"}, "/somewhere"});
    std::optional<OperationEnd> end;
    runner->run(std::move(call), [&](OperationEnd e) {
      end = std::move(e);
      loop->stop();
    });
    EXPECT_FALSE(end) << "never from inside run()";
    loop->run();
    return *end;
  }
  OperationEnd run(const std::string& name) {
    OperationCall call;
    call.run = name;
    return run(std::move(call));
  }
  bool written(const std::string& file) {
    std::error_code none;
    const auto size = fs::file_size(folder_ + "/" + file, none);
    return !none && size > 0;
  }
  // The process whose number the operation wrote there is gone.
  void expect_gone(const std::string& file) {
    const auto text = read_file(folder_ + "/" + file, 100);
    ASSERT_TRUE(text) << "the operation did not get so far";
    const pid_t pid = std::atoi(text->c_str());
    ASSERT_GT(pid, 1);
    EXPECT_EQ(::kill(pid, 0), -1) << pid << " lives";
    EXPECT_EQ(errno, ESRCH);
  }
  std::string folder_;
};

TEST_F(OperationProcessTest, IsToldWhatItIsAskedAndAnswers) {
  write("shipped/tell", "read -r line; printf '%s' \"$line\" >" + folder_ +
                            "/asked\nprintf '{\"result\": \"fault\", \"outputs\": {\"label\": \"A1\"}, "
                            "\"text\": \"lost\"}'\nexit 1\n");
  OperationCall call;
  call.operation = "locate_bank";
  call.kind = "localise";
  call.run = "tell";
  call.components = {"memory"};
  call.inputs = Json::object({{"memory_total", 4}});
  call.arguments = Json::object({{"expected", 8}});
  const OperationEnd end = run(call);
  EXPECT_EQ(end.result, Ended::fault) << end.text;
  EXPECT_EQ(end.outputs.dump(), R"({"label":"A1"})");
  EXPECT_EQ(end.text, "lost");
  EXPECT_GT(end.wall.count(), 0);
  EXPECT_EQ(
      read_file(folder_ + "/asked", 1000).value(),
      R"({"operation":"locate_bank","kind":"localise","components":["memory"],"inputs":{"memory_total":4},)"
      R"("arguments":{"expected":8},"root":"/somewhere"})");
}

TEST_F(OperationProcessTest, SiteCoversShipped) {
  write("shipped/same", "echo '{\"text\": \"shipped\"}'");
  write("site/same", "echo '{\"text\": \"site\"}'");
  EXPECT_EQ(run("same").text, "site");
}

TEST_F(OperationProcessTest, WhatMayNotRunIsNamed) {
  write("shipped/check_disk", "");
  write("site/plain", "", fs::perms(0644));
  write("shipped/plain", "");
  write("site/open", "", fs::perms(0777));
  fs::create_directory(folder_ + "/site/folder");
  const std::string both = folder_ + "/site or " + folder_ + "/shipped";
  struct Row {
    std::string name, text;
  };
  const Row rows[] = {
      {"check_disc", "there is no operation 'check_disc' in " + both + " (did you mean 'check_disk'?)"},
      {"../shipped/check_disk", "'../shipped/check_disk' is no name of an operation"},
      {".hidden", "'.hidden' is no name of an operation"},
      {"", "'' is no name of an operation"},
      {"plain", folder_ + "/site/plain is not executable (chmod +x)"},
      {"open", folder_ + "/site/open may be written by others (chmod go-w)"},
      {"folder", folder_ + "/site/folder is no regular file"},
  };
  for (const Row& row : rows) {
    const OperationEnd end = run(row.name);
    EXPECT_EQ(end.result, Ended::unknown);
    EXPECT_EQ(end.text, row.text);
  }
}

TEST_F(OperationProcessTest, BadAnswersAreUnknown) {
  write("site/json", "echo 'label: A1'");
  write("site/tool", "exec no_such_tool --json");
  write("site/stops", "set -e\nfalse\necho '{}'");
  write("site/dies", "kill -SEGV $$");
  EXPECT_EQ(run("json").text.substr(0, 29), "json: its answer is no JSON: ");
  EXPECT_NE(run("tool").text.find("tool: ended with exit code 127: "), std::string::npos);
  EXPECT_NE(run("tool").text.find("no_such_tool: not found"), std::string::npos);
  EXPECT_EQ(run("stops").text.substr(0, 30), "stops: ended with exit code 1,");
  EXPECT_EQ(run("dies").text, "dies was killed by signal 11");
  for (const char* name : {"json", "tool", "stops", "dies"})
    EXPECT_EQ(run(name).result, Ended::unknown) << name;
}

// Shell text: a process that forked twice and made a session of its own, and is there when the text goes on.
std::string stray(const std::string& folder) {
  return "(setsid sh -c 'echo $$ >" + folder + "/stray; exec sleep 1000' >/dev/null 2>&1 &)\n" +
         "while [ ! -s " + folder + "/stray ]; do :; done\n";
}

TEST_F(OperationProcessTest, HangsAreKilledWithAllTheyStarted) {
  write("site/hang",
        "sleep 1000 & echo $! >" + folder_ + "/child\n" + stray(folder_) + "read line </dev/zero\n");
  OperationCall call;
  call.run = "hang";
  // A busy machine may need longer than a limit that is short on a quiet one to start all three.
  for (int limit = 1; limit <= 64 && !written("stray"); limit *= 4) {
    call.time_limit = std::chrono::seconds(limit);
    const OperationEnd end = run(call);
    EXPECT_EQ(end.result, Ended::unknown);
    const std::string killed =
        fmt::format("hang did not end within {} and was killed", describe_duration(call.time_limit));
    // (Where the machine is busy the shell that started the stray may be there still, and is counted, too.)
    if (written("stray") && end.text != killed + " (it left 2 processes behind, killed)") {
      EXPECT_EQ(end.text, killed + " (it left 1 process behind, killed)");
    }
    EXPECT_TRUE(end.text.starts_with(killed)) << end.text;
  }
  expect_gone("child");
  expect_gone("stray");
}

TEST_F(OperationProcessTest, WhatIsAskedToEndEarlyIsKilledWithAllItStarted) {
  // It asks for its end itself, so to say: by the file that a watcher of the test waits for.
  write("site/burns", "sleep 1000 & echo $! >" + folder_ + "/child.new\nmv " + folder_ + "/child.new " +
                          folder_ + "/child\nread line </dev/zero\n");
  auto loop = make_poll_loop().value();
  auto runner = make_operation_process_runner(*loop, {{folder_ + "/site"}, "/"});
  OperationCall call;
  call.run = "burns";
  call.time_limit = std::chrono::minutes(1);
  const auto early_end = call.early_end = std::make_shared<EarlyEnd>();
  std::optional<OperationEnd> end;
  runner->run(std::move(call), [&](OperationEnd e) {
    end = std::move(e);
    loop->stop();
  });
  std::function<void()> look = [&] {
    if (fs::exists(folder_ + "/child")) return early_end->ask("a job has come");
    loop->at(loop->now() + std::chrono::milliseconds(5), look);
  };
  look();
  loop->run();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->result, Ended::unknown);
  EXPECT_TRUE(end->text.starts_with("burns was ended: a job has come")) << end->text;
  expect_gone("child");
  early_end->ask("again");  // it is gone: nothing happens
}

TEST_F(OperationProcessTest, StraysOfAnOrderlyEndAreKilledAndNamed) {
  write("site/leaves", stray(folder_) + "echo '{\"text\": \"done\"}'\n");
  const OperationEnd end = run("leaves");
  EXPECT_EQ(end.result, Ended::ok);
  EXPECT_EQ(end.text, "done (it left 1 process behind, killed)");
  expect_gone("stray");
}

TEST_F(OperationProcessTest, FloodsAreCutAndNamed) {
  write("site/flood", "while :; do echo 'drip drip drip drip drip drip'; done");
  OperationCall call;
  call.run = "flood";
  call.output_limit = 1024;
  call.time_limit = std::chrono::minutes(1);
  const OperationEnd end = run(call);
  EXPECT_EQ(end.result, Ended::unknown);
  EXPECT_EQ(end.text, "flood wrote more than 1 KiB and was killed");
}

TEST_F(OperationProcessTest, MemoryIsLimited) {
  write("site/eats", "exec dd if=/dev/zero of=/dev/null bs=100M count=1");
  OperationCall call;
  call.run = "eats";
  call.memory_limit = std::size_t{8} << 20;
  call.time_limit = std::chrono::minutes(1);
  const OperationEnd end = run(call);
  EXPECT_EQ(end.result, Ended::unknown);
  EXPECT_NE(end.text.find("memory exhausted"), std::string::npos) << end.text;
}

}  // namespace
}  // namespace sickbay
