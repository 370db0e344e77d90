// SPDX-License-Identifier: Apache-2.0
// A disk that answers with errors, and memory that is not there: one operation fails, for every one of a
// short story, once or from then on (as SQLite tests itself: sqlite.org/testing.html, "I/O Error Testing").
// Nothing crashes, what was acknowledged is there, in order, once, and what failed can be done again.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <set>

#include "adapters/sqlite/archive.h"
#include "adapters/sqlite/journal.h"

namespace sickbay::sqlite {
namespace {

namespace fs = std::filesystem;

// --- a disk of which an operation fails

class BadDisk {
 public:
  BadDisk() : base_(sqlite3_vfs_find(nullptr)) {
    vfs_ = *base_;
    vfs_.pNext = nullptr;
    vfs_.zName = "bad_disk";
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + base_->szOsFile;
    vfs_.pAppData = this;
    vfs_.xOpen = open;
    vfs_.xDelete = remove;
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~BadDisk() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(base_, 1);
  }
  /// The `n`th operation from now fails, and all that follow where `for_good`; 0: none.
  void fail_at(int n, bool for_good) {
    at_ = n;
    for_good_ = for_good;
    count_ = 0;
  }
  bool has_failed() const { return at_ != 0 && count_ >= at_; }

 private:
  struct File {
    sqlite3_file base;
    BadDisk* disk;
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };
  static File& of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
  static const sqlite3_io_methods& under(sqlite3_file* file) { return *of(file).real()->pMethods; }
  bool fails() {
    if (at_ == 0) return false;
    ++count_;
    return for_good_ ? count_ >= at_ : count_ == at_;
  }

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
    auto& disk = *static_cast<BadDisk*>(vfs->pAppData);
    auto* f = reinterpret_cast<File*>(file);
    f->base.pMethods = nullptr;
    if (disk.fails()) return SQLITE_CANTOPEN;
    const int code = disk.base_->xOpen(disk.base_, name, f->real(), flags, out);
    if (code != SQLITE_OK) return code;
    f->disk = &disk;
    static const sqlite3_io_methods methods = {
        2, [](sqlite3_file* x) { return under(x).xClose(of(x).real()); },
        [](sqlite3_file* x, void* to, int n, sqlite3_int64 at) {
          return of(x).disk->fails() ? SQLITE_IOERR_READ : under(x).xRead(of(x).real(), to, n, at);
        },
        [](sqlite3_file* x, const void* from, int n, sqlite3_int64 at) {
          return of(x).disk->fails() ? SQLITE_IOERR_WRITE : under(x).xWrite(of(x).real(), from, n, at);
        },
        [](sqlite3_file* x, sqlite3_int64 size) {
          return of(x).disk->fails() ? SQLITE_IOERR_TRUNCATE : under(x).xTruncate(of(x).real(), size);
        },
        // (The real sync is left out: the power here never goes.)
        [](sqlite3_file* x, int) { return of(x).disk->fails() ? SQLITE_IOERR_FSYNC : SQLITE_OK; },
        [](sqlite3_file* x, sqlite3_int64* size) {
          return of(x).disk->fails() ? SQLITE_IOERR_FSTAT : under(x).xFileSize(of(x).real(), size);
        },
        [](sqlite3_file* x, int level) { return under(x).xLock(of(x).real(), level); },
        [](sqlite3_file* x, int level) { return under(x).xUnlock(of(x).real(), level); },
        [](sqlite3_file* x, int* o) { return under(x).xCheckReservedLock(of(x).real(), o); },
        [](sqlite3_file* x, int op, void* arg) { return under(x).xFileControl(of(x).real(), op, arg); },
        [](sqlite3_file* x) { return under(x).xSectorSize(of(x).real()); },
        [](sqlite3_file* x) { return under(x).xDeviceCharacteristics(of(x).real()); },
        [](sqlite3_file* x, int page, int bytes, int extend, void volatile** to) {
          return of(x).disk->fails() ? SQLITE_IOERR_SHMMAP
                                     : under(x).xShmMap(of(x).real(), page, bytes, extend, to);
        },
        [](sqlite3_file* x, int offset, int n, int how) {
          return under(x).xShmLock(of(x).real(), offset, n, how);
        },
        [](sqlite3_file* x) { under(x).xShmBarrier(of(x).real()); },
        [](sqlite3_file* x, int remove_it) { return under(x).xShmUnmap(of(x).real(), remove_it); }, nullptr,
        nullptr};
    f->base.pMethods = &methods;
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs* vfs, const char* name, int) {
    auto& disk = *static_cast<BadDisk*>(vfs->pAppData);
    return disk.fails() ? SQLITE_IOERR_DELETE : disk.base_->xDelete(disk.base_, name, 0);
  }

  sqlite3_vfs* base_;
  sqlite3_vfs vfs_;
  int at_ = 0, count_ = 0;
  bool for_good_ = false;
};

// --- memory of which a piece is not there

struct BadMemory {
  static inline sqlite3_mem_methods base{};
  static inline int at = 0, count = 0;
  static inline bool for_good = false;
  static bool fails() {
    if (at == 0) return false;
    ++count;
    return for_good ? count >= at : count == at;
  }
  BadMemory() {
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &base);
    sqlite3_mem_methods mine = base;
    mine.xMalloc = [](int n) -> void* { return fails() ? nullptr : base.xMalloc(n); };
    mine.xRealloc = [](void* p, int n) -> void* { return fails() ? nullptr : base.xRealloc(p, n); };
    sqlite3_config(SQLITE_CONFIG_MALLOC, &mine);
    // (Small pieces come from a list of their own, which would hide that they are asked for.)
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
    sqlite3_initialize();
  }
  ~BadMemory() {
    at = 0;
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_MALLOC, &base);
    sqlite3_initialize();
  }
  void fail_at(int n, bool good) {
    at = n;
    for_good = good;
    count = 0;
  }
  bool has_failed() const { return at != 0 && count >= at; }
};

// --- the story

class IoErrorTest : public ::testing::Test {
 protected:
  IoErrorTest() {
    char name[] = "/tmp/sickbay_io_error_XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~IoErrorTest() override { fs::remove_all(folder_); }
  std::string path() const { return folder_ + "/journal.db"; }
  void fresh() {
    for (const auto& entry : fs::directory_iterator(folder_)) fs::remove(entry);
  }

  // Event `n` of a subject that closes after four.
  static Event event(std::int64_t n) {
    Event e = new_event(case_of(n), n % 4 == 0 ? "case_closed" : "note",
                        Json::object({{"n", n}, {"text", std::string(200, 'x')}}));
    e.at = from_micros(n * 1000);
    return e;
  }
  static std::string case_of(std::int64_t n) { return "c" + std::to_string((n + 3) / 4); }

  // Appends two at a time up to 40, and archives what is closed now and then.  Goes on over errors as
  // sickbayd does: an append that failed is tried again, up to three times.
  void story() {
    acknowledged_ = 0;
    auto journal = open_journal(path());
    if (!journal) return;
    for (std::int64_t n = 1; n < 40; n += 2) {
      bool kept = false;
      for (int tries = 0; tries < 3 && !kept; ++tries) {
        std::vector<Event> two{event(n), event(n + 1)};
        kept = (*journal)->append(two).has_value();
        if (kept) {
          ASSERT_EQ(two[0].seq, n);
          ASSERT_EQ(two[1].seq, n + 1);
        }
      }
      if (!kept) return;
      acknowledged_ = n + 1;
      if (n % 16 == 15)
        (void)(*journal)->compact(from_micros((n + 2) * 1000), {case_of(n - 8), case_of(n - 4)});
    }
    std::int64_t events = 0;
    (void)(*journal)->read(0, [&](const Event&) { return ++events > 0; });
  }

  // What whoever writes to an archive next does first; who only reads it cannot.
  static void roll_back(const std::string& file) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
    (void)sqlite3_exec(db, "SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr);
    sqlite3_close(db);
  }
  // After it, on a disk that is well again.
  void look(const std::string& when) {
    auto journal = open_journal(path());
    ASSERT_TRUE(journal) << when << ": " << journal.error().line();
    std::set<std::int64_t> found;
    std::int64_t last = 0;
    const auto take = [&](const Event& e) {
      if (e.kind == kArchived) return true;
      EXPECT_EQ(e.seq, e.body["n"].as_int()) << when;
      found.insert(e.seq);
      return true;
    };
    const Status all = (*journal)->read(0, [&](const Event& e) {
      EXPECT_GT(e.seq, last) << when;
      last = e.seq;
      return take(e);
    });
    ASSERT_TRUE(all) << when << ": " << all.error().line();
    for (const std::string& file : archives_of(path())) {
      roll_back(file);
      auto archive = open_journal_reader(file);
      if (!archive) continue;  // one that was just being made: what it was to get is in the journal still
      ASSERT_TRUE((*archive)->read(0, take)) << when;
    }
    for (std::int64_t n = 1; n <= acknowledged_; ++n)
      ASSERT_TRUE(found.contains(n)) << when << ": event " << n;
    // At most one append more: it failed at its very end, and was on the disk all the same.
    ASSERT_LE(last, acknowledged_ + 2) << when;
    // And it goes on.
    std::vector<Event> next{event(last + 1)};
    ASSERT_TRUE((*journal)->append(next)) << when;
    EXPECT_EQ(next[0].seq, last + 1) << when;
  }

  // Each `step`th of them, here; with SB_EVERY in the environment each, which takes minutes.
  template <class Bad>
  void every_one_fails(Bad& bad, int step) {
    if (::getenv("SB_EVERY") != nullptr) step = 1;
    for (const bool for_good : {false, true}) {
      int n = 1;
      for (bool failed = true; failed; n += step) {
        fresh();
        bad.fail_at(n, for_good);
        story();
        failed = bad.has_failed();
        bad.fail_at(0, false);
        if (HasFatalFailure()) return;
        const std::string when = std::string(for_good ? "from " : "at ") + std::to_string(n);
        // What was not even made can be made.
        look(when);
        if (HasFatalFailure()) return;
      }
      EXPECT_GT(n, 100) << "the story has so many operations";
      EXPECT_EQ(acknowledged_, 40) << "nothing has failed in the last turn";
    }
  }

  std::string folder_;
  std::int64_t acknowledged_ = 0;
};

TEST_F(IoErrorTest, AnyOperationOfTheDiskMayFail) {
  BadDisk disk;
  every_one_fails(disk, 5);
}

TEST_F(IoErrorTest, AnyPieceOfMemoryMayBeMissing) {
  BadMemory memory;
  BadDisk disk;  // of which nothing fails, and which does not wait for the real one
  every_one_fails(memory, 37);
}

}  // namespace
}  // namespace sickbay::sqlite
