// SPDX-License-Identifier: Apache-2.0
// Two heads with journals on real files and three nodes whose agents witness, in virtual time.  The parts are
// those of sickbayd and of the agent, joined as they join them; what is played is the network.
#pragma once
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "adapters/sim/sim_loop.h"
#include "service/agent/witness/witness_polls.h"
#include "service/standby/case_feed.h"
#include "service/standby/case_follower.h"
#include "service/standby/feed.h"
#include "service/standby/follower.h"
#include "service/standby/succession_part.h"
#include "test/standby/standby_parts.h"

namespace sickbay {

using namespace std::chrono_literals;

struct WitnessStore final : AgentStore {
  Json state = Json::object();
  bool is_full = false;
  Status keep(std::vector<Json>) override { return {}; }
  Result<std::vector<Json>> waiting(std::size_t) override { return std::vector<Json>{}; }
  Status delivered(std::int64_t) override { return {}; }
  Status update_state(const std::function<void(Json&)>& change) override {
    Json changed = state;
    change(changed);
    if (changed == state) return {};
    if (is_full) return fail(ErrorCode::storage_full, "the disk is full");
    state = std::move(changed);
    return {};
  }
  Status log(const Json&) override { return {}; }
};

// A question to whatever stands at the other end just now.
class Line final : public HttpClient {
 public:
  using To = std::function<void(const std::string& target, const Json& body, Done<Json> done)>;
  Line(Loop& loop, To to) : loop_(loop), to_(std::move(to)) {}
  bool is_cut = false;

  void ask(HttpQuestion question, Done<Json> done) override {
    const auto over = std::make_shared<bool>(false);
    const auto once = [over, done = std::move(done)](Result<Json> answer) {
      if (!std::exchange(*over, true)) done(std::move(answer));
    };
    open_.emplace_back(once);
    loop_.at(loop_.now() + question.time_limit,
             [once] { once(fail(ErrorCode::timed_out, "sickbayd takes too long")); });
    if (is_cut) return;
    loop_.at(loop_.now() + 300us,
             [this, target = question.target, body = Json::parse(question.body).value_or(Json()), once] {
               to_(target, body, [this, once](Result<Json> answer) {
                 if (is_cut) return;
                 loop_.at(loop_.now() + 300us, [answer, once] { once(answer); });
               });
             });
  }

  /// The process at the other end is gone, and its kernel says so.
  void reset() {
    for (const Done<Json>& once : std::exchange(open_, {}))
      loop_.post([once] { once(fail(ErrorCode::daemon_away, "the connection was reset")); });
  }

 private:
  Loop& loop_;
  To to_;
  std::vector<Done<Json>> open_;  ///< since the last reset; those that are over say nothing
};

class TwoHeads {
 public:
  /// What a head does while it is the active one.  Without, it writes an event every 100 ms.
  struct Acting {
    virtual ~Acting() = default;
    /// The head begins with this event, its first.
    virtual void begin(Event term_began) = 0;
    virtual void take(Event event) = 0;
  };
  using Hold = std::function<void(std::int64_t seq, std::function<void()> then)>;  ///< Controller::Hold
  struct Options {
    Micros lease{30s}, longest_act{0};
    double rate_of_second = 1.0;                        ///< of the clock of head2, by which its lease runs
    std::function<CaseStore*(int no)> cases = nullptr;  ///< what was submitted, on the disk of each
    /// Made when the journal is free, before the lease is used; it replays it.
    std::function<std::unique_ptr<Acting>(int no, SqliteJournal& journal, Hold hold)> acts = nullptr;
  };

  explicit TwoHeads(std::uint64_t seed) : TwoHeads(seed, Options()) {}
  TwoHeads(std::uint64_t seed, Options options) : random_(seed), options_(std::move(options)) {
    for (int no : {1, 2}) {
      lines_[no] = std::make_unique<Line>(
          loop_, [this, no](const std::string& target, const Json& body, Done<Json> done) {
            Head* other = heads_[3 - no].get();
            if (other == nullptr) return loop_.post([done] { done(fail(ErrorCode::daemon_away, "away")); });
            if (!other->feed) return loop_.post([done] { done(fail(ErrorCode::busy, "not the active")); });
            if (target == kRowsTarget) return other->feed->ask(body, done);
            if (!other->case_feed) return done(fail(ErrorCode::not_found, "no endpoint"));
            done(other->case_feed->answer(body));
          });
    }
    for (int i = 0; i < 3; ++i) {
      for (int no : {1, 2})
        nodes_[i].lines[no - 1] = std::make_unique<Line>(
            loop_, [this, i, no](const std::string&, const Json& body, Done<Json> done) {
              EXPECT_EQ(body["node"].as_string(), node_name(i));
              if (heads_[no] == nullptr)
                return loop_.post([done] { done(fail(ErrorCode::daemon_away, "away")); });
              heads_[no]->part->desk().take(node_name(i), body, done);
            });
      start_node(i);
    }
    // The witnesses have been there for long.
    loop_.run_until(loop_.now() + kLongestLease + 1s);
    start_head(1);
    start_head(2);
    watch();
  }

  struct Head {
    std::unique_ptr<JournalCopy> copy;
    std::unique_ptr<CaseFollower> case_follower;
    std::unique_ptr<Follower> follower;
    std::unique_ptr<SqliteJournal> journal;
    std::unique_ptr<JournalRows> rows;
    std::unique_ptr<SuccessionPart> part;
    std::unique_ptr<StandbyFeed> feed;
    std::unique_ptr<CaseFeed> case_feed;
    std::unique_ptr<Acting> acting;
  };

  bool is_up(int no) const { return heads_[no] != nullptr; }
  bool is_active(int no) const { return is_up(no) && heads_[no]->part->is_active(); }
  Json view(int no) const { return heads_[no]->part->view(); }
  int active() const { return is_active(1) ? 1 : is_active(2) ? 2 : 0; }
  bool is_paired() const {
    const int no = active();
    return no != 0 && !view(no)["alone"].as_bool(true);
  }

  void kill_head(int no) {
    heads_[no].reset();
    lines_[3 - no]->reset();
    for (Node& node : nodes_) node.lines[no - 1]->reset();
  }
  void start_head(int no) {
    auto head = std::make_unique<Head>();
    SuccessionPart::Setup setup;
    setup.name = "head" + std::to_string(no);
    setup.witnesses = {node_name(0), node_name(1), node_name(2)};
    const double rate = no == 2 ? options_.rate_of_second : 1.0;
    setup.clock = [this, rate] {
      return Micros(static_cast<std::int64_t>(static_cast<double>(loop_.elapsed().count()) * rate));
    };
    setup.timing.lease = options_.lease;
    setup.longest_act = options_.longest_act;
    setup.random = [this] { return static_cast<std::uint32_t>(random_()); };
    setup.prompt = no == 1;
    if (std::filesystem::exists(folders_.path(no))) {
      auto before = open_journal_reader(folders_.path(no));
      ASSERT_TRUE(before) << before.error().line();
      SuccessionPart::Before last;
      ASSERT_TRUE((*before)->read_subject(std::string(kTermSubject), 0, [&](const Event& e) {
        last.take(e);
        return true;
      }));
      setup.journal_term = last.term;
      if (last.term > 0) setup.prompt = last.who == setup.name && !last.is_over;
      setup.yields = last.who == setup.name && last.is_over;
    }
    auto copy = open_journal_copy(folders_.path(no));
    ASSERT_TRUE(copy) << copy.error().line();
    head->copy = std::move(*copy);
    head->part = std::make_unique<SuccessionPart>(
        loop_, std::move(setup),
        SuccessionPart::Listener{[this, no] { prepare(no); },
                                 [this, no](std::int64_t term) { begin(no, term); }, [this, no] { lost(no); },
                                 nullptr});
    SuccessionPart* part = head->part.get();
    if (options_.cases)
      head->case_follower = std::make_unique<CaseFollower>(*lines_[no], *options_.cases(no));
    head->follower = std::make_unique<Follower>(
        loop_, *lines_[no], *head->copy,
        Follower::Listener{[part](std::int64_t term) { part->heard_active(term); },
                           [part](std::int64_t term) { part->copy_has_term(term); }, nullptr},
        head->case_follower.get());
    heads_[no] = std::move(head);
    heads_[no]->follower->start();
    heads_[no]->part->start();
  }
  void start_node(int i) {
    nodes_[i].polls = std::make_unique<agent::WitnessPolls>(
        loop_, nodes_[i].store, node_name(i), [this] { return Micros(loop_.elapsed()); },
        std::vector<HttpClient*>{nodes_[i].lines[0].get(), nodes_[i].lines[1].get()});
    EXPECT_TRUE(nodes_[i].polls->start());
  }
  void restart_node(int i) {
    nodes_[i].polls.reset();
    start_node(i);
  }
  void stop_node(int i) { nodes_[i].polls.reset(); }
  bool is_node_up(int i) const { return nodes_[i].polls != nullptr; }
  void cut_heads(bool is_cut) { lines_[1]->is_cut = lines_[2]->is_cut = is_cut; }
  void cut_node(int i, int no, bool is_cut) { nodes_[i].lines[no - 1]->is_cut = is_cut; }
  void fill_disk(int i, bool is_full) { nodes_[i].store.is_full = is_full; }
  void hand_over(int no) {
    Event over = heads_[no]->part->hand_over("root");
    if (heads_[no]->acting) return heads_[no]->acting->take(std::move(over));
    append(no, std::move(over), [] {});
  }
  sim::SimLoop& loop() { return loop_; }

  /// An event every 100 ms, of whoever is active.
  void write_on(bool is_on) { writes_ = is_on; }
  void run(Micros length) { loop_.run_until(loop_.now() + length); }
  /// `good` is asked between any two tasks; false: it was not within `length`.
  bool run_until(Micros length, const std::function<bool()>& good) {
    return loop_.run_while([&] { return !good(); }, loop_.now() + length);
  }
  Micros elapsed() const { return loop_.elapsed(); }
  std::mt19937_64& random() { return random_; }
  const TwoFolders& folders() const { return folders_; }

  std::vector<std::int64_t> acknowledged;
  int twice_active = 0, terms = 0;

  /// All that was acknowledged stands in the journal of `no`, in its order.
  void expect_whole(int no) const {
    std::vector<std::int64_t> has;
    for (const JournalRow& row : rows_of(folders_.path(no)))
      if (row.kind == "job_seen") has.push_back(Json::parse(row.body)->operator[]("n").as_int());
    auto at = has.begin();
    for (const std::int64_t n : acknowledged) {
      at = std::find(at, has.end(), n);
      ASSERT_NE(at, has.end()) << "event " << n << " is gone from head" << no;
    }
    EXPECT_EQ(twice_active, 0);
  }

 private:
  static std::string node_name(int i) { return "n" + std::to_string(i + 1); }

  void prepare(int no) {
    Head& head = *heads_[no];
    head.follower->stop();
    head.follower.reset();
    head.case_follower.reset();
    head.copy.reset();
    auto journal = open_journal(folders_.path(no));
    ASSERT_TRUE(journal) << journal.error().line();
    head.journal = std::move(*journal);
    auto rows = open_journal_rows(folders_.path(no));
    ASSERT_TRUE(rows) << rows.error().line();
    head.rows = std::move(*rows);
    head.feed = std::make_unique<StandbyFeed>(
        loop_, *head.rows, [part = head.part.get()] { return part->standing(); },
        [part = head.part.get()](std::int64_t seq) { part->standby_has(seq); });
    if (options_.cases)
      head.case_feed = std::make_unique<CaseFeed>(*options_.cases(no),
                                                  [part = head.part.get()] { return part->standing(); });
    if (options_.acts)
      head.acting =
          options_.acts(no, *head.journal, [this, no](std::int64_t seq, std::function<void()> then) {
            heads_[no]->feed->woken();
            heads_[no]->part->hold(seq, std::move(then));
          });
    head.part->prepared();
  }
  void append(int no, Event event, std::function<void()> then) {
    Head& head = *heads_[no];
    event.at = std::max(head.journal->last_stamp(), loop_.now());
    std::vector<Event> events{std::move(event)};
    ASSERT_TRUE(head.journal->append(events));
    head.feed->woken();
    head.part->hold(head.journal->last_seq(), std::move(then));
  }
  void begin(int no, std::int64_t term) {
    ++terms;
    Event began = SuccessionPart::term_began(term, "head" + std::to_string(no));
    if (heads_[no]->acting) return heads_[no]->acting->begin(std::move(began));
    append(no, std::move(began), [] {});
  }
  // The process ends, and is started again.
  void lost(int no) {
    loop_.post([this, no] { kill_head(no); });
    loop_.at(loop_.now() + 2s, [this, no] {
      if (!is_up(no)) start_head(no);
    });
  }
  void watch() {
    loop_.at(loop_.now() + 100ms, [this] { watch(); });
    twice_active += is_active(1) && is_active(2);
    const int no = active();
    if (!writes_ || no == 0 || heads_[no]->acting) return;
    Event event;
    event.subject = "c1";
    event.kind = "job_seen";
    event.body = Json::object({{"n", ++written_}});
    append(no, std::move(event), [this, n = written_] { acknowledged.push_back(n); });
  }

  std::mt19937_64 random_;
  const Options options_;
  TwoFolders folders_;
  sim::SimLoop loop_;
  std::unique_ptr<Line> lines_[3];  ///< from a head to the other
  struct Node {
    WitnessStore store;
    std::unique_ptr<Line> lines[2];
    std::unique_ptr<agent::WitnessPolls> polls;
  };
  Node nodes_[3];
  std::unique_ptr<Head> heads_[3];  ///< by number, from 1
  bool writes_ = true;
  std::int64_t written_ = 0;
};

}  // namespace sickbay
