// SPDX-License-Identifier: Apache-2.0
// A Document as one HTML file: the template of reports/page with head, contents, chapters and scripts put in.
//
// The file asks no network for anything, and says so to the browser (Content-Security-Policy).  Text and
// tables are HTML, so that it can be read without JavaScript; page.js draws the charts from the rows that
// each card carries as JSON.  Should a name get past escaped(), its script would lack the nonce and not run.
#include <fmt/format.h>

#include <algorithm>

#include "workload/report/html_card.h"
#include "workload/report/render.h"

namespace sickbay::workload {
namespace {

using Chapter = std::pair<std::string, std::vector<std::size_t>>;

// What the data can bear comes before what they say.
std::vector<Chapter> chapters_in_order(const Document& document) {
  std::vector<Chapter> all = chapters(document);
  std::stable_partition(all.begin(), all.end(), [](const Chapter& one) { return one.first == "quality"; });
  return all;
}

std::string chapter_title(const Document& document, const std::string& key) {
  return std::string(message(document, "chapter." + key, key));
}

// The results of a plug-in that have a card.
std::vector<const ReportResult*> cards_of(const Document& document, const Plugin& plugin) {
  std::vector<const ReportResult*> cards;
  for (const ReportResult& result : document.results)
    if (result.spec.plugin == plugin.name && result.outcome != Outcome::left_out) cards.push_back(&result);
  return cards;
}

std::vector<const ReportResult*> with_outcome(const Document& document, Outcome outcome) {
  std::vector<const ReportResult*> found;
  for (const ReportResult& result : document.results)
    if (result.outcome == outcome) found.push_back(&result);
  return found;
}

bool any_cards(const Document& document, const Chapter& chapter) {
  return std::any_of(chapter.second.begin(), chapter.second.end(),
                     [&](std::size_t place) { return !cards_of(document, document.plugins[place]).empty(); });
}

std::string head_html(const Document& document) {
  std::string html =
      "<header class=\"top\"><div>\n<div class=\"title-line\"><h1>" + escaped(document.title) + "</h1>";
  html +=
      "<div class=\"needs-js\"><button type=\"button\" id=\"theme\"></button> <button type=\"button\" "
      "id=\"print\">" +
      escaped(say(document, "page.print")) + "</button></div></div>\n<dl class=\"facts\">\n";
  const auto fact = [&](const std::string& name, const std::string& text) {
    if (!text.empty())
      html += "<div><dt>" + escaped(name) + "</dt><dd>" + escaped_lines(text) + "</dd></div>\n";
  };
  for (const auto& [name, text] : document.facts) fact(name, text);
  fact(say(document, "page.made_at"), document.made_at);
  fact(say(document, "page.version"), document.version.empty() ? "" : "Sickbay " + document.version);
  html += "</dl>\n<p class=\"summary\">";
  const auto count = [&](Outcome outcome) { return with_outcome(document, outcome).size(); };
  html += escaped(count(Outcome::made) == 1
                      ? say(document, "page.summary_one")
                      : say(document, "page.summary", {std::to_string(count(Outcome::made))}));
  const auto part = [&](Outcome outcome, std::string_view key, bool bad) {
    if (count(outcome) == 0) return;
    html += fmt::format(" · <a href=\"#absent\"{}>{}</a>", bad ? " class=\"bad\"" : "",
                        escaped(say(document, key, {std::to_string(count(outcome))})));
  };
  if (count(Outcome::empty) > 0)
    html += " · " + escaped(say(document, "page.summary_empty", {std::to_string(count(Outcome::empty))}));
  part(Outcome::left_out, "page.summary_left_out", false);
  part(Outcome::failed, "page.summary_failed", true);
  return html + "</p>\n</div></header>\n";
}

bool has_absent(const Document& document) {
  return !with_outcome(document, Outcome::left_out).empty() ||
         !with_outcome(document, Outcome::failed).empty();
}

std::string contents_html(const Document& document, const std::vector<Chapter>& all) {
  const std::string title = escaped(say(document, "page.contents"));
  std::string html = "<nav class=\"contents\" aria-label=\"" + title + "\"><details open><summary>" + title +
                     "</summary>\n<ol>\n";
  for (const Chapter& chapter : all) {
    if (!any_cards(document, chapter)) continue;
    html += fmt::format("<li><a class=\"chapter-link\" href=\"#chapter-{}\">{}</a><ol>\n",
                        escaped(chapter.first), escaped(chapter_title(document, chapter.first)));
    for (const std::size_t place : chapter.second)
      for (const ReportResult* result : cards_of(document, document.plugins[place]))
        html +=
            fmt::format("<li><a{} href=\"#{}\">{}</a></li>\n",
                        result->outcome == Outcome::failed ? " class=\"failed\"" : "",
                        escaped(result->spec.plugin + "." + result->spec.name), escaped(result->spec.title));
    html += "</ol></li>\n";
  }
  if (has_absent(document))
    html += "<li><a class=\"chapter-link\" href=\"#absent\">" + escaped(say(document, "page.absent")) +
            "</a></li>\n";
  return html + "</ol></details></nav>\n";
}

std::string chapter_html(const Document& document, const Chapter& chapter) {
  std::string html = fmt::format("<section class=\"chapter\" id=\"chapter-{}\">\n<h2>{}</h2>\n",
                                 escaped(chapter.first), escaped(chapter_title(document, chapter.first)));
  for (const std::size_t place : chapter.second) {
    const Plugin& plugin = document.plugins[place];
    const auto cards = cards_of(document, plugin);
    if (cards.empty()) continue;
    const std::string& title = plugin.title.empty() ? plugin.name : plugin.title;
    html += "<section class=\"plugin\">\n";
    if (title != chapter_title(document, chapter.first)) html += "<h3>" + escaped(title) + "</h3>\n";
    if (!plugin.help.empty()) html += "<p class=\"help\">" + with_code(escaped_lines(plugin.help)) + "</p>\n";
    html += "<div class=\"reports\">\n";
    for (const ReportResult* result : cards) html += report_card(document, *result);
    html += "</div>\n</section>\n";
  }
  return html + "</section>\n";
}

std::string absent_html(const Document& document) {
  if (!has_absent(document)) return "";
  std::string html = "<section class=\"chapter\" id=\"absent\"><h2>" + escaped(say(document, "page.absent")) +
                     "</h2>\n<div class=\"absent\"><ul>\n";
  for (const Outcome outcome : {Outcome::failed, Outcome::left_out}) {
    const bool failed = outcome == Outcome::failed;
    for (const ReportResult* result : with_outcome(document, outcome))
      html += fmt::format("<li{}><b>{}</b> ({}) <span class=\"why\">{}: {}</span></li>\n",
                          failed ? " class=\"bad\"" : "", escaped(result->spec.title),
                          escaped(result->spec.plugin + "." + result->spec.name),
                          escaped(say(document, failed ? "page.report_failed" : "page.report_left_out")),
                          escaped(result->why));
  }
  return html + "</ul></div></section>\n";
}

// Scripts of ours and of ECharts hold neither, as strings go; should a later one, it must not end its
// element.
std::string script_text(std::string_view js) {
  std::string out;
  for (std::size_t i = 0; i < js.size(); ++i) {
    out += js[i];
    if (js[i] == '<' && (js.compare(i, 8, "</script") == 0 || js.compare(i, 4, "<!--") == 0)) out += '\\';
  }
  return out;
}

// Differs with every byte of the page, and equal documents still make equal files.
std::string nonce_of(std::string_view body) {
  std::uint64_t a = 0xcbf29ce484222325U, b = 0x84222325cbf29ce4U;  // FNV-1a, twice
  for (const char c : body) {
    a = (a ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    b = (b ^ static_cast<unsigned char>(c) ^ (a >> 32)) * 0x100000001b3U;
  }
  return fmt::format("{:016x}{:016x}", a, b);
}

// `text` with {{name}} replaced, once: what was put in is not looked at again.
std::string filled_page(std::string_view text,
                        const std::map<std::string, std::string, std::less<>>& values) {
  std::string out;
  for (;;) {
    const std::size_t open = text.find("{{"), close = text.find("}}", open == text.npos ? open : open + 2);
    if (open == text.npos || close == text.npos) return out.append(text);
    out.append(text.substr(0, open));
    const auto found = values.find(text.substr(open + 2, close - open - 2));
    if (found != values.end()) out += found->second;
    text.remove_prefix(close + 2);
  }
}

}  // namespace

std::string render_html(const Document& document, const PageParts& parts) {
  const std::vector<Chapter> all = chapters_in_order(document);
  std::string body = "<a class=\"skip\" href=\"#main\">" + escaped(say(document, "page.skip")) + "</a>\n";
  body += head_html(document);
  body += "<div class=\"frame\">\n" + contents_html(document, all) + "<main id=\"main\">\n";
  for (const Chapter& chapter : all)
    if (any_cards(document, chapter)) body += chapter_html(document, chapter);
  body += absent_html(document);
  body += "<footer>" + escaped(say(document, "page.self")) + "</footer>\n</main>\n</div>";
  const std::string nonce = nonce_of(body);
  return filled_page(parts.page_template,
                     {{"language", escaped(document.language.empty() ? "en" : document.language)},
                      {"generator", escaped("Sickbay " + document.version)},
                      {"title", escaped(document.title)},
                      {"nonce", nonce},
                      {"css", parts.css},
                      {"body", std::move(body)},
                      {"words", json_for_script(script_words(document))},
                      {"echarts", script_text(parts.echarts)},
                      {"js", script_text(parts.js)}});
}

}  // namespace sickbay::workload
