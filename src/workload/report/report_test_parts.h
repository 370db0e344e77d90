// SPDX-License-Identifier: Apache-2.0
// A small store for the tests of reports, and folders for plug-ins.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/time.h"
#include "workload/report/render.h"
#include "workload/report/run.h"
#include "workload/store/store.h"

namespace sickbay::workload {

/// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    std::string name = testing::TempDir() + "sickbay-report.XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  std::string path(const std::string& name = "") const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path to = path(name);
    std::filesystem::create_directories(to.parent_path());
    std::ofstream(to) << text;
  }

 private:
  std::string path_;
};

/// "2021-05-01T10:00:00" in UTC.
inline TimePoint utc(const std::string& text) { return *parse_time(text + "Z"); }

/// Five jobs of two users in May 2021: two completed, one failed, one cancelled before its start, one
/// running.
inline constexpr const char* kJobs =
    "INSERT INTO jobs (job_id, user_name, account, partition, application, state, submit_time, "
    "eligible_time, "
    "start_time, end_time, elapsed, time_limit, cpus, req_cpus, nodes, cpu_time, total_cpu, gpus, flaws) "
    "VALUES "
    "('1','ann','phys','cpu','vasp','COMPLETED','2021-05-01 22:30:00','2021-05-01 22:30:00',"
    "'2021-05-01 23:30:00','2021-05-02 00:30:00',3600,7200,4,4,1,14400,7200000,0,0),"
    "('2','ann','phys','cpu,gpu','unknown','FAILED','2021-05-02 10:00:00','2021-05-02 10:10:00',"
    "'2021-05-02 10:05:00','2021-05-02 10:06:00',60,600,128,128,2,NULL,NULL,2,0),"
    "('3','bob','chem','gpu','gromacs','COMPLETED','2021-05-10 00:00:00',NULL,"
    "'2021-05-10 02:00:00','2021-05-13 02:00:00',259200,NULL,1,1,1,259200,999999999,0,4),"
    "('4','bob','chem','gpu','gromacs','CANCELLED','2021-05-20 00:00:00',NULL,NULL,'2021-05-20 01:00:00',"
    "0,600,0,64,0,0,NULL,NULL,0),"
    "('5','bob','chem','gpu',NULL,'RUNNING','2021-05-21 00:00:00',NULL,'2021-05-21 "
    "00:00:01',NULL,10,600,8,8,1,"
    "NULL,NULL,NULL,NULL);";

inline Store store_with_jobs(const std::string& path = "") {
  auto store = Store::open({.path = path});
  EXPECT_TRUE(store) << store.error().line();
  const Status filled = store->connection().execute(kJobs);
  EXPECT_TRUE(filled) << filled.error().line();
  return std::move(*store);
}

/// The rows of a query, a line each, values parted by '|'.
inline std::string rows(duck::Connection& connection, const std::string& sql) {
  auto table = connection.query(sql);
  if (!table) return "error: " + table.error().line() + " " + table.error().cause;
  std::string text;
  const Document none;
  for (const auto& row : table->rows) {
    for (std::size_t c = 0; c < row.size(); ++c)
      text += (c ? "|" : "") + value_text(none, row[c], table->columns[c].type, "none");
    text += "\n";
  }
  return text;
}

}  // namespace sickbay::workload
