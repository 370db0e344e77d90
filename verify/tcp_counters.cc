// SPDX-License-Identifier: Apache-2.0
// snmp holds two lines per protocol: names, then numbers in the same order.
#include "tcp_counters.h"

#include <fstream>
#include <sstream>

namespace sickbay::verify {

TcpCounters read_tcp_counters(const std::string& root) {
  TcpCounters counters;
  std::ifstream in(root + "/proc/self/net/snmp");
  for (std::string names, numbers; std::getline(in, names) && std::getline(in, numbers);) {
    if (names.rfind("Tcp:", 0) != 0) continue;
    std::istringstream name_row(names), number_row(numbers);
    std::string name, number;
    while (name_row >> name && number_row >> number) {
      if (name == "OutSegs") counters.sent = std::atof(number.c_str());
      if (name == "RetransSegs") counters.sent_again = std::atof(number.c_str());
    }
  }
  return counters;
}

}  // namespace sickbay::verify
