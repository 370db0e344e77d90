// SPDX-License-Identifier: Apache-2.0
// Archivist: moves the events of long closed cases, and what jobs came to long ago, to the archives, once a
// day (doc/formats/journal.md).
//
// The subject of what jobs came to never closes.  So the state that it led to is written into the journal
// every 30 days (`jobs_kept`), and what lies before that can go: the journal holds 60 days of it at most.
#pragma once
#include <chrono>

#include "base/result.h"
#include "ports/loop.h"

namespace sickbay {

class Controller;
class SqliteJournal;

class Archivist {
 public:
  /// All three must outlive it.
  Archivist(Loop& loop, SqliteJournal& journal, Controller& controller)
      : loop_(loop), journal_(journal), controller_(controller) {}
  /// Moves some now, and goes on by itself: with the rest a second later, with new ones a day later.
  void work();

 private:
  /// True where there is more to be moved.
  Result<bool> archive_cases();
  Result<bool> archive_jobs();
  void give_up(const Error& error);
  void again(std::chrono::seconds in);
  Loop& loop_;
  SqliteJournal& journal_;
  Controller& controller_;
};

}  // namespace sickbay
