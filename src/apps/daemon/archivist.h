// SPDX-License-Identifier: Apache-2.0
// Archivist: moves the events of long closed cases to the archives, once a day (doc/formats/journal.md).
#pragma once
#include <chrono>

#include "ports/loop.h"

namespace sickbay {

class Controller;
class SqliteJournal;

class Archivist {
 public:
  /// All three must outlive it.
  Archivist(Loop& loop, SqliteJournal& journal, Controller& controller)
      : loop_(loop), journal_(journal), controller_(controller) {}
  /// Moves some cases now, and goes on by itself: with the rest a second later, with new ones a day later.
  void work();

 private:
  void again(std::chrono::seconds in);
  Loop& loop_;
  SqliteJournal& journal_;
  Controller& controller_;
};

}  // namespace sickbay
