// SPDX-License-Identifier: Apache-2.0
#include "workload/report/ten_jobs.h"

#include "workload/store/store.h"

namespace sickbay::workload {
namespace {

// Three users of two accounts; one job in five failed, and one waited in vain.
constexpr std::string_view kJobs = R"(
INSERT INTO jobs (cluster, job_id, job_id_raw, user_name, group_name, account, "partition", qos, job_name, application,
                  version, app_field, labelled_by, state, submit_time, eligible_time, start_time, end_time, elapsed,
                  time_limit, cpus, req_cpus, nodes, req_nodes, tasks, gpus, req_gpus, cpu_time, total_cpu, req_mem,
                  max_rss, ave_rss, job_rss, disk_read, disk_write, energy, exit_code, exit_signal, priority, restarts,
                  steps, steps_failed, repairs, flaws, node_list, work_dir)
SELECT 'check', (100 + i)::VARCHAR, 100 + i, ['ann', 'bob', 'eve'][1 + i % 3], 'g', ['phys', 'chem'][1 + i % 2],
       ['cpu', 'gpu'][1 + i % 2], 'normal', ['vasp_std', 'gmx', 'run.sh'][1 + i % 3],
       ['VASP', 'GROMACS', 'unknown'][1 + i % 3], CASE WHEN i % 3 = 0 THEN '6.4' END,
       ['materials science', 'molecular dynamics', NULL][1 + i % 3], ['keyword', 'keyword', 'default_name'][1 + i % 3],
       CASE WHEN i = 9 THEN 'PENDING' WHEN i % 5 = 4 THEN 'FAILED' ELSE 'COMPLETED' END,
       TIMESTAMP '2021-05-01' + to_hours(i), TIMESTAMP '2021-05-01' + to_hours(i),
       CASE WHEN i < 9 THEN TIMESTAMP '2021-05-01 00:30:00' + to_hours(i) END,
       CASE WHEN i < 9 THEN TIMESTAMP '2021-05-01 01:30:00' + to_hours(2 * i) END,
       CASE WHEN i < 9 THEN 3600 * (1 + i) ELSE 0 END, 86400, CASE WHEN i < 9 THEN 4 * (1 + i) ELSE 0 END, 4 * (1 + i),
       1, 1, 4, i % 2, i % 2, CASE WHEN i < 9 THEN 14400 * (1 + i) * (1 + i) END,
       CASE WHEN i < 9 THEN 12000000 * (1 + i) * (1 + i) END, 8589934592, 1073741824, 536870912, 4294967296, 1073741824, 1073741824,
       3600000, CASE WHEN i % 5 = 4 THEN 1 ELSE 0 END, 0, 1000 + i, 0, 1, 0, 0, 0, 'n' || i, '/work/check'
FROM range(10) t(i);
INSERT INTO imports (source, imported_at) VALUES ('check', TIMESTAMP '2021-05-02');
)";

}  // namespace

Status make_store_of_ten_jobs(const std::string& path) {
  StoreOptions options;
  options.path = path;
  auto store = Store::open(options);
  if (!store) return fail(std::move(store.error()));
  return store->connection().execute(std::string(kJobs));
}

}  // namespace sickbay::workload
