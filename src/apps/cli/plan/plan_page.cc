// SPDX-License-Identifier: Apache-2.0
// The plan as one HTML page, in the looks of the reports and without any script.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/cli/plan/plan_result.h"
#include "workload/report/html_card.h"

namespace sickbay::cli {
namespace {

using plan::Figure;
using workload::escaped;

struct Point {
  double x = 0;
  Figure y;
};

struct Chart {
  std::string title, x_name, y_name;
  std::vector<Point> points;
  bool log_x = false;
  std::string (*x_text)(double) = number_text;
  std::vector<std::pair<double, std::string>> marks;  ///< upright lines with their names
};

constexpr double kWidth = 720, kHeight = 260, kLeft = 74, kRight = 20, kTop = 26, kBottom = 46;

// A curve with the band of its 90 %.
std::string svg_of(const Chart& chart) {
  if (chart.points.size() < 2) return "";
  const auto place = [&](double x) { return chart.log_x ? std::log(x) : x; };
  const double x0 = place(chart.points.front().x), x1 = place(chart.points.back().x);
  double y0 = 1e300, y1 = -1e300;
  for (const Point& p : chart.points) {
    y0 = std::min(y0, p.y.low);
    y1 = std::max(y1, p.y.high);
  }
  if (y1 - y0 < 1e-6) y0 -= 5e-4, y1 += 5e-4;
  const auto at_x = [&](double x) { return kLeft + (place(x) - x0) / (x1 - x0) * (kWidth - kLeft - kRight); };
  const auto at_y = [&](double y) {
    return kHeight - kBottom - (y - y0) / (y1 - y0) * (kHeight - kTop - kBottom);
  };
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" "
      "style=\"width:100%;max-width:52rem;height:auto;"
      "font-size:12px;margin:.7rem 0 .2rem\">\n",
      kWidth, kHeight, escaped(chart.title));
  for (int i = 0; i <= 4; ++i) {
    const double y = y0 + (y1 - y0) * i / 4;
    svg += fmt::format(
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"var(--line)\"/><text "
        "x=\"{:.1f}\" "
        "y=\"{:.1f}\" text-anchor=\"end\" fill=\"var(--soft)\">{}</text>\n",
        kLeft, kWidth - kRight, at_y(y), at_y(y), kLeft - 6, at_y(y) + 4, escaped(share_text(y)));
  }
  const std::size_t step = std::max<std::size_t>((chart.points.size() + 5) / 6, 1);
  for (std::size_t i = 0; i < chart.points.size(); i += step)
    svg += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"var(--soft)\">{}</text>\n",
        at_x(chart.points[i].x), kHeight - kBottom + 17, escaped(chart.x_text(chart.points[i].x)));
  svg +=
      fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"var(--soft)\">{}</text>\n",
                  (kLeft + kWidth - kRight) / 2, kHeight - 8, escaped(chart.x_name));
  std::string band, line;
  for (const Point& p : chart.points) {
    band += fmt::format("{:.1f},{:.1f} ", at_x(p.x), at_y(p.y.high));
    line += fmt::format("{:.1f},{:.1f} ", at_x(p.x), at_y(p.y.mean));
  }
  for (auto p = chart.points.rbegin(); p != chart.points.rend(); ++p)
    band += fmt::format("{:.1f},{:.1f} ", at_x(p->x), at_y(p->y.low));
  svg += "<polygon points=\"" + band + "\" fill=\"var(--accent)\" opacity=\".18\"/>\n<polyline points=\"" +
         line + "\" fill=\"none\" stroke=\"var(--accent)\" stroke-width=\"2\"/>\n";
  double beside = kTop - 10;
  for (const auto& [x, name] : chart.marks) {
    if (place(x) < x0 || place(x) > x1) continue;
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"var(--text)\" "
        "stroke-dasharray=\"4 3\"/><text x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\" "
        "fill=\"var(--text)\">{4}</text>\n",
        at_x(x), kTop, kHeight - kBottom, beside, escaped(name));
    beside += 14;
  }
  return svg + "</svg>\n<p class=\"chart-note\">" + escaped(chart.y_name) +
         "; the band holds 90 % of the replications.</p>\n";
}

std::string tile(std::string_view name, std::string_view figure, std::string_view more) {
  std::string html = "<li><span class=\"name\">" + escaped(name) + "</span><span class=\"figure" +
                     (figure.size() > 9 ? " mid" : "") + "\">" + escaped(figure) + "</span>";
  if (!more.empty()) html += "<span class=\"more\">" + escaped(more) + "</span>";
  return html + "</li>\n";
}

std::string tile(std::string_view name, const Figure& figure, std::string (*written)(double)) {
  return tile(name, written(figure.mean), between(figure, written));
}

std::string card(std::string_view id, std::string_view title, std::string_view body) {
  return fmt::format(
      "<article class=\"report\" id=\"{0}\">\n<div class=\"report-line\"><h4><a "
      "href=\"#{0}\">{1}</a></h4></div>\n"
      "{2}</article>\n",
      id, escaped(title), body);
}

std::string note(std::string_view name, std::string_view text) {
  return "<dt>" + escaped(name) + "</dt><dd>" + escaped(text) + "</dd>\n";
}

std::string table_of(const std::vector<std::string>& heads,
                     const std::vector<std::vector<std::string>>& rows) {
  std::string html = fmt::format(
      "<details class=\"table\"><summary>Table <span class=\"count\">({} rows)</span></summary>\n"
      "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>",
      rows.size());
  for (const std::string& head : heads) html += "<th class=\"n\" scope=\"col\">" + escaped(head) + "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    html += "<tr>";
    for (const std::string& cell : row) html += "<td class=\"n\">" + escaped(cell) + "</td>";
    html += "</tr>\n";
  }
  return html + "</tbody></table></div></details>\n";
}

std::string spares_card(const plan::SparesAnswer& a) {
  std::string body = "<ul class=\"tiles\">\n";
  body += tile("Spares", std::to_string(a.spares), fmt::format("{} to {}", a.low, a.high));
  body += tile("Jobs that never wait", share_text(a.reached), "");
  body += tile("Failures that find a spare", share_text(a.finds_spare), "");
  body += "</ul>\n";
  Chart chart;
  chart.title = "Jobs that never wait, by the number of spares";
  chart.x_name = "Spares";
  chart.y_name = "Share of jobs that never wait for a node";
  chart.marks = {{static_cast<double>(a.spares), fmt::format("{}", a.spares)}};
  std::vector<std::vector<std::string>> rows;
  for (const auto& p : a.curve) {
    chart.points.push_back({static_cast<double>(p.spares), p.never_waits});
    rows.push_back({std::to_string(p.spares), share_text(p.never_waits.mean), share_text(p.never_waits.low),
                    share_text(p.never_waits.high)});
  }
  body += svg_of(chart) + table_of({"Spares", "Never wait", "5 %", "95 %"}, rows);
  return card("spares", fmt::format("How many spares for {}?", share_text(a.wanted)), body);
}

std::string interval_card(const plan::IntervalAnswer& a) {
  std::string body = "<ul class=\"tiles\">\n";
  body += tile("Best of those tried", hours_text(a.best_h),
               fmt::format("{} to {} are not told apart", hours_text(a.low_h), hours_text(a.high_h)));
  body += tile("Daly's formula", hours_text(a.daly_h), share_text(a.by_daly) + " useful");
  body += tile("Young's formula", hours_text(a.young_h), "");
  body += tile("A failure hits the job each", hours_text(a.mtbf_h), "");
  body += "</ul>\n";
  Chart chart;
  chart.title = "Useful part of the jobs' time, by the interval between checkpoints";
  chart.x_name = "Work between two checkpoints";
  chart.y_name = "Useful part of the jobs' time";
  chart.log_x = true;
  chart.x_text = hours_text;
  chart.marks = {{a.best_h, "best"}, {a.daly_h, "Daly"}};
  std::vector<std::vector<std::string>> rows;
  for (const auto& p : a.curve) {
    chart.points.push_back({p.interval_h, p.efficiency});
    rows.push_back({hours_text(p.interval_h), share_text(p.efficiency.mean), share_text(p.efficiency.low),
                    share_text(p.efficiency.high), p.as_good ? "yes" : "no"});
  }
  body += svg_of(chart) + table_of({"Interval", "Useful", "5 %", "95 %", "As good as the best"}, rows);
  return card("interval", "Which interval between checkpoints?", body);
}

std::string repair_card(const plan::RepairAnswer& a) {
  std::string body = "<ul class=\"tiles\">\n";
  body += tile("Node-hours a year", a.gained_h, number_text);
  body += tile("Of nodes out of service", a.down_h, number_text);
  body += tile("Of nodes whose job waits", a.waiting_h, number_text);
  body += tile("Mean outage", hours_text(a.mean_after_h), "before: " + hours_text(a.mean_before_h));
  return card("repair",
              fmt::format("What are repairs worth that are {} times as fast?", number_text(a.factor)),
              body + "</ul>\n");
}

}  // namespace

std::string plan_page(const PlanResult& r, std::string_view css) {
  const plan::Setting& s = r.question.setting;
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "img-src data:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>What if: {} nodes</title>\n"
      "<link rel=\"icon\" href=\"data:,\">\n<style>",
      s.nodes);
  html += css;
  html += "</style>\n</head>\n<body>\n<header class=\"top\"><div>\n<div class=\"title-line\"><h1>What if: " +
          number_text(static_cast<double>(s.nodes)) + " nodes</h1></div>\n<dl class=\"facts\">\n";
  const auto fact = [&](std::string_view name, std::string_view text) {
    html += "<div><dt>" + escaped(name) + "</dt><dd>" + escaped(text) + "</dd></div>\n";
  };
  fact("Failures", r.source + (r.system.empty() ? "" : ", " + r.system));
  fact("Time of the list", r.from + " to " + r.until);
  fact("In the list", fmt::format("{} failures of {} nodes", r.model.failures, r.model.nodes));
  fact("Simulated", fmt::format("{} times {} days, seed {}", r.question.replications,
                                number_text(s.hours / 24), r.question.seed));
  fact("Spares", std::to_string(s.spares));
  fact("Jobs", fmt::format("{} nodes, {} of work, a checkpoint each {}", s.job.nodes, hours_text(s.job.hours),
                           hours_text(s.job.interval_h)));
  html +=
      "</dl>\n</div></header>\n<div class=\"frame\">\n<nav class=\"contents\" "
      "aria-label=\"Contents\"><details "
      "open><summary>Contents</summary>\n<ol>\n";
  const auto link = [&](std::string_view id, std::string_view title) {
    html += fmt::format("<li><a class=\"chapter-link\" href=\"#{}\">{}</a></li>\n", id, escaped(title));
  };
  link("cluster", "The cluster");
  if (r.spares) link("spares", "Spares");
  if (r.interval) link("interval", "Checkpoints");
  if (r.repair) link("repair", "Repairs");
  link("model", "How it was reached");
  html += "</ol></details></nav>\n<main id=\"main\">\n<section class=\"chapter\"><div class=\"reports\">\n";

  const plan::Overview& o = r.overview;
  std::string body = "<ul class=\"tiles\">\n";
  body += tile("Availability of nodes", o.availability, share_text);
  body += tile("Failures", o.failures, number_text);
  body += tile("Node-hours out of service", o.down_h, number_text);
  body += tile("Most nodes down at once", o.most_down, number_text);
  body += tile("Jobs that never wait", o.never_waits, share_text);
  body += tile("Useful part of jobs' time", o.efficiency, share_text);
  body += tile("Work lost to failures", o.lost_share, share_text);
  body += tile("Time to finish a job", o.time_to_finish_h, hours_text);
  html += card("cluster", "The cluster as it is", body + "</ul>\n");
  if (r.spares) html += spares_card(*r.spares);
  if (r.interval) html += interval_card(*r.interval);
  if (r.repair) html += repair_card(*r.repair);

  body = "<dl class=\"notes\">\n";
  for (const std::string& line : plan::describe(r.model)) {
    const std::size_t colon = std::min(line.find(": "), line.size());
    body += note(line.substr(0, colon), line.substr(std::min(colon + 2, line.size())));
  }
  body += note(
      "Intervals",
      "what 90 % of the replications come to. Each draws the rates and the course of things that the list "
      "leaves open, so this is the interval for one such time, and more replications do not make it small.");
  html += card("model", "How it was reached", body + "</dl>\n");
  return html +
         "</div></section>\n<footer>This page is one file and asks no network for anything. Names in it are "
         "those of "
         "the list.</footer>\n</main>\n</div>\n</body>\n</html>\n";
}

}  // namespace sickbay::cli
