// SPDX-License-Identifier: Apache-2.0
// sickbay-sample-page SOURCE [LANGUAGE]: prints the sample document as an HTML page, with the parts in
// SOURCE.
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/json.h"
#include "sample_document.h"
#include "workload/report/html_card.h"
#include "workload/report/render.h"

namespace {

std::string read_or_die(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::cerr << "sickbay-sample-page: cannot read " << path << "\n";
    std::exit(1);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: sickbay-sample-page SOURCE [LANGUAGE]\n";
    return 64;
  }
  const std::string source = argv[1], language = argc > 2 ? argv[2] : "en";
  sickbay::workload::Document document = sickbay::workload::sample_document();
  document.language = language;
  const auto texts = sickbay::Json::parse(read_or_die(source + "/reports/i18n/" + language + ".json"));
  if (!texts) {
    std::cerr << texts.error().message("sickbay-sample-page");
    return 1;
  }
  for (const auto& [key, text] : texts->members()) document.messages[key] = text.as_string();
  // What stands in the code must stand in the file that translators start from, with the same text.
  for (const auto& [key, english] : sickbay::workload::page_words()) {
    const bool same = language != "en" || texts->operator[](key).as_string() == english;
    if (same && texts->has(key)) continue;
    std::cerr << "sickbay-sample-page: reports/i18n/" << language << ".json: '" << key
              << "' is missing or not \"" << english << "\"\n";
    return 1;
  }
  const std::string page = source + "/reports/page/page.";
  std::cout << sickbay::workload::render_html(
      document, {read_or_die(page + "html"), read_or_die(page + "css"), read_or_die(page + "js"),
                 read_or_die(source + "/third_party/echarts/echarts.min.js")});
  return std::cout.flush() ? 0 : 1;
}
