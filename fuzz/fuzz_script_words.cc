// SPDX-License-Identifier: Apache-2.0
// Words of batch scripts, whatever the user's language is.  The first line is the folder, the second a
// variable NAME=value of the submission, the rest the script.  What is written out stays within its bound,
// and a folder that stands in the script by itself is seen.
#include "model/script_words.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  std::string_view rest = fuzz::as_text(bytes, size);
  const auto next = [&rest] {
    const auto end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return line;
  };
  const std::string folder(next()), variable(next());
  ShellNames shell({variable, "HOME=/home/alice"}, "alice");
  std::size_t read = 0, written = 0;
  while (!rest.empty()) {
    const std::string_view line = next();
    read += line.size();
    std::size_t letters = 0;
    for (const std::string& word : words_of(line)) {
      SB_CHECK(!word.empty() && word.find_first_of(" \t;|&<>=") == std::string::npos,
               "a word has no end in it");
      letters += word.size();
    }
    SB_CHECK(letters <= line.size(), "words are parts of the line");
    const std::string expanded = shell.expand(line);
    written += expanded.size();
    (void)names_path(expanded, folder);
    (void)writes_elsewhere(expanded);
    SB_CHECK(expanded.find("//") == std::string::npos, "a path has one form");
  }
  SB_CHECK(written <= read + ShellNames::kMostWritten + ShellNames::kLongestValue,
           "what is written out is bounded");
  if (folder.starts_with('/') && folder.size() > 1 && !folder.ends_with('/')) {
    SB_CHECK(names_path("cd " + folder, folder) && names_path("-o" + folder + "/x", folder),
             "its own name is seen");
    SB_CHECK(!names_path("cd " + folder + "2", folder + "3"), "another name is not");
  }
  // (A script may set HOME itself: to what is not known, or to a place that is no user's.)
  const std::string home = shell.expand("~");
  SB_CHECK(writes_elsewhere("x > " + shell.expand("~/out")) || !home.starts_with('/') ||
               home.starts_with("/tmp") || home.starts_with("/dev"),
           "where it is directed is seen");
  return 0;
}
