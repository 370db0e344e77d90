// SPDX-License-Identifier: Apache-2.0
#include "workload/report/make_report.h"

#include <filesystem>

#include "base/size.h"

namespace sickbay::workload {
namespace {

namespace fs = std::filesystem;

// The first that says something.
std::string first_said(std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts)
    if (!text.empty()) return std::string(text);
  return {};
}

}  // namespace

Result<Site> load_site(const std::string& site_file, const std::string& users_file,
                       const std::string& accounts_file) {
  Site site = default_site();
  if (!site_file.empty()) {
    auto text = read_text(site_file);
    if (!text) return fail(text.error());
    auto read = parse_site(*text, site_file);
    if (!read) return fail(read.error());
    site = std::move(*read);
  }
  // What is asked for, else what the site names, beside its own file.
  const auto lay_over = [&](const std::string& asked, const std::string& named, auto parse,
                            auto& into) -> Status {
    const std::string path = !asked.empty()   ? asked
                             : !named.empty() ? (fs::path(site_file).parent_path() / named).string()
                                              : std::string();
    if (path.empty()) return {};
    auto text = read_text(path);
    if (!text) return fail(text.error());
    auto read = parse(*text, path);
    if (!read) return fail(read.error());
    into = std::move(*read);
    return {};
  };
  if (auto laid = lay_over(users_file, site.users_file, parse_users, site.users); !laid)
    return fail(laid.error());
  if (auto laid = lay_over(accounts_file, site.accounts_file, parse_accounts, site.accounts); !laid)
    return fail(laid.error());
  return site;
}

Result<std::vector<Plugin>> choose_reports(const Catalog& catalog, const Site& site,
                                           const ReportChoice& choice) {
  std::vector<Plugin> plugins = catalog.plugins;
  for (const auto& values : {site.parameters, choice.parameters})  // the latter lie over the former
    if (auto set = set_parameters(plugins, values); !set) return fail(set.error());
  return chosen(std::move(plugins), choice.plugins, choice.reports);
}

Result<RunOrder> plan_report(std::vector<Plugin> plugins, const Site& site, const ReportWishes& wishes,
                             TimePoint now) {
  RunOrder order;
  order.language = first_said({wishes.language, site.language, "en"});
  order.time_zone = first_said({wishes.time_zone, site.time_zone, "UTC"});
  auto zone = TimeZone::make(order.time_zone);
  if (!zone) return fail(zone.error());
  order.views.filter = wishes.filter;
  if (auto set = set_period(wishes.period, *zone, now, order.views); !set) return fail(set.error());
  order.views.site = site;
  auto messages = load_messages(wishes.folders, plugins, order.language);
  if (!messages) return fail(messages.error());
  translate(plugins, *messages);
  order.messages = std::move(*messages);
  order.plugins = std::move(plugins);
  order.title = first_said({wishes.title, site.title});
  order.time_limit = wishes.time_limit;
  order.made_at = wishes.made_at;
  order.version = wishes.version;
  order.run_program = wishes.run_program;
  if (wishes.threads == 1) order.connections = 1;
  return order;
}

Result<Store> open_for_reports(const std::string& store_path, int threads) {
  StoreOptions options;
  options.path = store_path;
  options.mode = StoreMode::read;
  options.threads = threads;
  options.sandboxed = true;         // the SQL of plug-ins is somebody's
  options.memory_limit = mib(768);  // beyond it DuckDB spills; the host has other work
  return Store::open(options);
}

Result<Document> make_report(const std::string& store_path, RunOrder order, int threads) {
  order.store_path = fs::absolute(store_path).string();  // executables run in folders of their own
  auto store = open_for_reports(store_path, threads);
  if (!store) return fail(store.error());
  return make_document(store->connection(), order);
}

}  // namespace sickbay::workload
