// SPDX-License-Identifier: Apache-2.0
#include "service/watch_queue.h"

#include <gmock/gmock.h>

namespace sickbay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(WatchQueue, OnlyWhoWaitsForNodesWantsThem) {
  for (const char* reason : {"Resources", "Priority", "None", "Reservation", "AWordOfANewerSlurm"})
    EXPECT_THAT(wanted_partitions({{"batch", reason, 1}}), ElementsAre("batch")) << reason;
  for (const char* reason :
       {"Dependency", "BeginTime", "JobHeldUser", "JobHeldAdmin", "BadConstraints", "AssocMaxJobsLimit",
        "QOSMaxJobsPerUserLimit", "PartitionDown", "Licenses", "JobArrayTaskLimit", "ReqNodeNotAvail"})
    EXPECT_THAT(wanted_partitions({{"batch", reason, 1}}), IsEmpty()) << reason;
  EXPECT_THAT(wanted_partitions({{"long", "Resources", 2}, {"batch", "Priority", 0}, {"all", "Priority", 9}}),
              ElementsAre("all", "long"));
}

}  // namespace
}  // namespace sickbay
