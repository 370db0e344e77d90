// SPDX-License-Identifier: Apache-2.0
// Witness: what one node has promised to two sickbayds, and to which of them.
//
// It grants a term to one name only.  A higher term of another name is granted when the grant before has run
// out by this witness' own clock.  No grant is ever cut short: a message that comes late or twice can only
// make it last longer.  After its start a witness grants nothing for the longest time that any grant can
// have, whatever it finds of its past: so a node without a disk, or with one that forgot, breaks no promise.
//
// What it knows must be durable before an answer leaves (must_keep(), kept()).  Times are of a clock that
// never steps and runs on while the host sleeps.  Pure: no clock, no file.  Source: doc/design/standby.md,
// "The lease".
#pragma once
#include "model/lease_message.h"

namespace sickbay::succession {

class Witness {
 public:
  /// What lies on its disk.
  struct Record {
    std::int64_t term = 0;
    std::string who;
    SoleWord sole;
    friend bool operator==(const Record&, const Record&) = default;
  };
  /// `record`: as it was kept last; empty where nothing was.
  Witness(Record record, Micros started);

  /// What it answers.  The answer must not leave before must_keep() is false.
  LeaseAnswer take(const LeaseAsk& ask, Micros now);

  const Record& record() const { return record_; }
  /// The record is not on the disk as it is now.
  bool must_keep() const { return !(record_ == durable_); }
  /// It is, as record() says.
  void kept() { durable_ = record_; }

  /// The record as JSON, and back; what cannot be read is an empty one, for the wait makes up for it.
  static Json to_json(const Record& record);
  static Record record_from(const Json& json);

 private:
  bool would_grant(const LeaseAsk& ask, Micros now) const;

  Record record_, durable_;
  Micros silent_until_;  ///< after the start
  Micros until_{0};      ///< of the grant
};

}  // namespace sickbay::succession
