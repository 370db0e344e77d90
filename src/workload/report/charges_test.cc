// SPDX-License-Identifier: Apache-2.0
// Weights as Slurm writes them, and the charges that SQL makes of them.
#include "workload/report/charges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/report/report_test_parts.h"

namespace sickbay::workload {
namespace {

TEST(Charges, ReadSlurmsWeights) {
  const auto rate = parse_charge_rate("gpu", "CPU=1.5, mem=0.25G,GRES/gpu=2,gres/gpu:a100=8.5,Node=0.5");
  ASSERT_TRUE(rate) << rate.error().line();
  EXPECT_EQ(rate->partition, "gpu");
  EXPECT_EQ(rate->core, 1.5);
  EXPECT_EQ(rate->gib, 0.25);
  EXPECT_EQ(rate->node, 0.5);
  EXPECT_EQ(rate->gpu, 2);
  ASSERT_EQ(rate->gpu_kinds.size(), 1u);
  EXPECT_EQ(rate->gpu_kinds[0], (std::pair<std::string, double>("a100", 8.5)));
  // Slurm counts memory in MB where no unit is said.
  EXPECT_EQ(parse_charge_rate("*", "Mem=1")->gib, 1024);
  EXPECT_EQ(parse_charge_rate("*", "Mem=1T")->gib, 1.0 / 1024);
}

TEST(Charges, NameWhatIsWrong) {
  const std::pair<const char*, const char*> rows[] = {
      {"CPU", "'CPU' is not of the form RESOURCE=WEIGHT"},
      {"CPU=", "has no weight of 0 or more"},
      {"CPU=-1", "has no weight of 0 or more"},
      {"CPU=1G", "has no weight of 0 or more"},
      {"CPU=nan", "has no weight of 0 or more"},
      {"license/x=1", "is nothing that jobs are charged for"},
      {"GRES/gpu:=1", "is nothing that jobs are charged for"}};
  for (const auto& [text, said] : rows) {
    const auto rate = parse_charge_rate("*", text);
    ASSERT_FALSE(rate) << text;
    EXPECT_THAT(rate.error().what, testing::HasSubstr(said)) << text;
  }
}

class ChargesOfJobs : public testing::Test {
 protected:
  ChargesOfJobs() {
    EXPECT_TRUE(store_.connection().execute(
        "INSERT INTO jobs (job_id, \"partition\", cpus, cpu_time, elapsed, req_mem, nodes, gpus, gpu_type) "
        "VALUES "
        "('a', 'cpu', 4, 14400, 3600, 8589934592, 1, NULL, NULL), "
        "('b', 'gpu', 2, 14400, 7200, 4294967296, 1, 2, 'a100'), "
        "('c', 'gpu', 2, 7200, 3600, NULL, 1, 1, 'v100'), ('d', 'cpu', NULL, NULL, NULL, NULL, NULL, NULL, "
        "NULL)"));
  }
  std::string of(const Charges& charges) {
    auto table = store_.connection().query("SELECT job_id, " + charge_sql(charges, "cpu_time") +
                                           " FROM jobs ORDER BY job_id");
    if (!table) return table.error().line() + table.error().cause;
    std::string text;
    for (const auto& row : table->rows) {
      text += std::get<std::string>(row[0]) + "=";
      if (const auto* value = std::get_if<double>(&row[1])) text += fmt::format("{}", *value);
      text += " ";
    }
    return text;
  }
  Store store_ = *Store::open({});
};

TEST_F(ChargesOfJobs, AreCoreHoursWithoutWeights) { EXPECT_EQ(of({}), "a=4 b=4 c=2 d= "); }

TEST_F(ChargesOfJobs, AreWeightedSums) {
  Charges charges;
  charges.rates = {*parse_charge_rate("*", "CPU=1,Mem=0.25G"),
                   *parse_charge_rate("gpu", "CPU=0.5,GRES/gpu=2,GRES/gpu:a100=4,Node=1")};
  // a: 4 h of cores, 8 GiB; b, of 2 h: 4 * 0.5 + 4 * 4 + 2; c: 2 * 0.5 + 2 + 1.
  EXPECT_EQ(of(charges), "a=6 b=20 c=4 d= ");
}

TEST_F(ChargesOfJobs, CountTheDearestAloneWhereAskedFor) {
  Charges charges;
  charges.most = true;
  charges.rates = {*parse_charge_rate("*", "CPU=1,Mem=1G"), *parse_charge_rate("gpu", "CPU=1,GRES/gpu=4")};
  EXPECT_EQ(of(charges), "a=8 b=16 c=4 d= ");
}

TEST_F(ChargesOfJobs, OfPartitionsWithoutWeightsAreCoreHours) {
  Charges charges;
  charges.rates = {*parse_charge_rate("gpu", "GRES/gpu=10")};
  EXPECT_EQ(of(charges), "a=4 b=40 c=10 d= ");
}

}  // namespace
}  // namespace sickbay::workload
