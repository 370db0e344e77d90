// SPDX-License-Identifier: Apache-2.0
#include "workload/import/asked_log.h"

namespace sickbay::workload {

ImportOrder order_of(const AskedLog& log, ImportOrder order) {
  order.inputs = {log.path};
  order.name = "sacct";  // a path of a temporary file tells nobody anything
  order.growing = false;
  // How it is written is known, its zone too; only the name of the cluster is the caller's to say.
  const std::string cluster = order.read.cluster;
  order.read = log.read;
  order.read.cluster = cluster;
  return order;
}

}  // namespace sickbay::workload
