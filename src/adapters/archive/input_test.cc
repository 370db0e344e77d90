// SPDX-License-Identifier: Apache-2.0
// Inputs as the real programs pack them.
#include "adapters/archive/input.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

namespace sickbay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct Program {
  const char *name, *command, *suffix;
};
constexpr Program kPrograms[] = {{"gzip", "gzip -nc", ".gz"},
                                 {"xz", "xz -1c", ".xz"},
                                 {"zstd", "zstd -qc", ".zst"},
                                 {"bzip2", "bzip2 -1c", ".bz2"}};

class InputTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("input_test." + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "tmp");
    ::setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
    // Texts that pack to more than one block of any of the programs.
    std::mt19937 random(7);
    for (int i = 0; i < 40'000; ++i)
      text_ += std::to_string(i) + "|job" + std::to_string(random()) + "|COMPLETED|" +
               std::to_string(random()) + "\n";
    write("plain", text_);
  }
  void TearDown() override {
    EXPECT_TRUE(fs::is_empty(folder_ / "tmp")) << "temporary files are left";
    ::unsetenv("TMPDIR");
    fs::remove_all(folder_);
  }

  std::string at(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(at(name), std::ios::binary) << bytes;
  }
  std::string bytes(const std::string& name) const {
    std::ifstream file(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Runs a shell command in the folder.
  void run(const std::string& command) const {
    ASSERT_EQ(std::system(("cd '" + folder_.string() + "' && " + command).c_str()), 0) << command;
  }
  static std::string all(const Input& input) {
    std::string text(input.size() + 10, '\0');  // asks for more than there is
    auto n = input.read_at(0, text.data(), text.size());
    EXPECT_TRUE(n) << n.error().line();
    text.resize(n.value_or(0));
    return text;
  }
  void expect(const std::string& name, const std::string& text, const std::string& compression) const {
    auto input = Input::open(at(name));
    ASSERT_TRUE(input) << name << ": " << input.error().message("test");
    EXPECT_EQ(input->compression(), compression) << name;
    EXPECT_EQ(input->size(), text.size()) << name;
    EXPECT_TRUE(all(*input) == text) << name;
  }
  Error error(const std::string& name) const {
    auto input = Input::open(at(name));
    EXPECT_FALSE(input) << name;
    return input ? Error() : input.error();
  }
  // What `body` gives with standard input from a shell command: in a child, whose exit code says so.
  template <class Body>
  void with_stdin(const std::string& command, Body body) const {
    const pid_t child = ::fork();
    if (child == 0) {
      FILE* pipe = ::popen(("cd '" + folder_.string() + "' && " + command).c_str(), "r");
      ::dup2(::fileno(pipe), STDIN_FILENO);
      ::_exit(body() ? 0 : 1);
    }
    int code = 0;
    ::waitpid(child, &code, 0);
    EXPECT_EQ(code, 0) << command;
  }

  fs::path folder_;
  std::string text_;
};

TEST_F(InputTest, ReadsPlainFilesWhereTheyAre) {
  expect("plain", text_, "");
  write("empty", "");
  expect("empty", "", "");
  write("short", "a|b");
  expect("short", "a|b", "");
  auto input = Input::open(at("plain"));
  ASSERT_TRUE(input);
  EXPECT_EQ(input->name(), at("plain"));
  char part[5];
  EXPECT_EQ(*input->read_at(text_.size() - 3, part, sizeof part), 3u) << "short at the end";
  EXPECT_EQ(*input->read_at(text_.size() + 3, part, sizeof part), 0u) << "and none behind it";
}

TEST_F(InputTest, UnpacksWhatTheProgramsPack) {
  for (const Program& p : kPrograms) {
    run(std::string(p.command) + " plain > packed" + p.suffix);
    expect(std::string("packed") + p.suffix, text_, p.name);
    run("mv packed" + std::string(p.suffix) + " no_suffix");  // by content, not by name
    expect("no_suffix", text_, p.name);
    run(std::string(p.command) + " < /dev/null > nothing");
    expect("nothing", "", p.name);
  }
}

TEST_F(InputTest, ReadsOneMemberAfterAnother) {
  for (const Program& p : kPrograms) {
    run(std::string("( printf 'first\\n' | ") + p.command + "; " + p.command + " plain; printf 'last\\n' | " +
        p.command + " ) > joined");
    expect("joined", "first\n" + text_ + "last\n", p.name);
  }
  run("( gzip -c plain; head -c 1000 /dev/zero ) > padded");  // as on tapes
  expect("padded", text_, "gzip");
}

TEST_F(InputTest, SaysAfterHowManyBytesItIsTruncated) {
  for (const Program& p : kPrograms) {
    run(std::string(p.command) + " plain > packed");
    const std::string packed = bytes("packed");
    for (const std::size_t size : {packed.size() - 1, packed.size() / 2, std::size_t{12}, std::size_t{6}}) {
      write("cut", packed.substr(0, size));
      const Error e = error("cut");
      EXPECT_EQ(e.code, ErrorCode::bad_input) << p.name << " " << size;
      EXPECT_THAT(e.what,
                  testing::MatchesRegex(".*cut' is truncated or damaged after [0-9]+ bytes unpacked.*"))
          << p.name;
      EXPECT_FALSE(e.cause.empty()) << p.name;
    }
    // Also between two members of one file.
    write("cut", packed + packed.substr(0, packed.size() / 2));
    EXPECT_EQ(error("cut").code, ErrorCode::bad_input) << p.name;
  }
}

// One wrong bit anywhere in the middle is found: a log that was read wrongly would give wrong figures.
TEST_F(InputTest, FindsDamage) {
  write("small", text_.substr(0, 20'000));
  for (const Program& p : kPrograms) {
    run(std::string(p.command) + " small > packed");
    const std::string packed = bytes("packed");
    const bool no_checksum = std::string_view(p.name) == "zstd";  // -c writes one only with --check
    if (no_checksum) run("zstd -qc --check small > packed");
    for (std::size_t i = packed.size() / 4; i < packed.size() * 3 / 4; i += packed.size() / 40) {
      std::string wrong = packed;
      wrong[i] ^= 0x10;
      write("wrong", wrong);
      EXPECT_EQ(error("wrong").code, ErrorCode::bad_input) << p.name << " byte " << i;
    }
  }
  run("( gzip -c small; echo garbage ) > trailing");
  EXPECT_EQ(error("trailing").code, ErrorCode::bad_input);
}

TEST_F(InputTest, ReadsPipes) {
  with_stdin("cat plain", [&] {
    auto input = Input::open("-");
    return input && all(*input) == text_ && input->name() == "standard input" && input->compression().empty();
  });
  with_stdin("zstd -qc plain", [&] {
    auto input = Input::open("-");
    return input && all(*input) == text_ && input->compression() == "zstd";
  });
  with_stdin("true", [] {
    auto input = Input::open("-");
    return input && input->size() == 0;
  });
  with_stdin("printf x", [] {
    auto input = Input::open("-");
    return input && all(*input) == "x";
  });
  run("mkfifo fifo");
  std::thread writer([&] { std::ofstream(at("fifo")) << text_; });
  expect("fifo", text_, "");
  writer.join();
}

// `sickbay import - < file`, and a shell that took the first line already.
TEST_F(InputTest, ReadsStandardInputFromAFile) {
  for (const off_t from : {off_t{0}, off_t{100}}) {
    const pid_t child = ::fork();
    if (child == 0) {
      const int fd = ::open(at("plain").c_str(), O_RDONLY);
      ::lseek(fd, from, SEEK_SET);
      ::dup2(fd, STDIN_FILENO);
      auto input = Input::open("-");
      ::_exit(input && all(*input) == text_.substr(static_cast<std::size_t>(from)) ? 0 : 1);
    }
    int code = 0;
    ::waitpid(child, &code, 0);
    EXPECT_EQ(code, 0) << from;
  }
}

TEST_F(InputTest, ThreadsReadAtTheirOwnPlaces) {
  run("xz -c plain > packed");
  auto input = Input::open(at("packed"));
  ASSERT_TRUE(input);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::string part(1000, '\0');
      for (std::size_t at = static_cast<std::size_t>(t) * 1000; at + 1000 < text_.size(); at += 4000)
        if (input->read_at(at, part.data(), part.size()).value_or(0) != 1000 ||
            text_.compare(at, 1000, part) != 0)
          ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(InputTest, SaysWhyItCannotBeRead) {
  EXPECT_EQ(error("no_such").code, ErrorCode::not_found);
  EXPECT_EQ(error("plain/below").code, ErrorCode::not_found);
  EXPECT_EQ(error("tmp").code, ErrorCode::bad_input);
  EXPECT_THAT(error("tmp").what, HasSubstr("is a folder"));
  run("gzip -c plain > packed");
  ::setenv("TMPDIR", at("nowhere").c_str(), 1);
  const Error e = error("packed");
  EXPECT_EQ(e.code, ErrorCode::not_found);
  EXPECT_THAT(e.remedy_text, HasSubstr("TMPDIR"));
  ::setenv("TMPDIR", at("tmp").c_str(), 1);
}

// A full disk, by the nearest thing a process can have: a limit on the size of its files.
TEST_F(InputTest, SaysWhenThereIsNoRoom) {
  run("gzip -c plain > packed");
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {100'000, 100'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto input = Input::open(at("packed"));
    ::_exit(!input && input.error().code == ErrorCode::storage_full &&
                    input.error().remedy().find("TMPDIR") != std::string_view::npos
                ? 0
                : 1);
  }
  int code = 0;
  ::waitpid(child, &code, 0);
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace sickbay
