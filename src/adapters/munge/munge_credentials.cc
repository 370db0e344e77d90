// SPDX-License-Identifier: Apache-2.0
// libmunge on worker threads.  See munge_credentials.h.
#include "adapters/munge/munge_credentials.h"

#include <munge.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "ports/lifetime.h"
namespace sickbay {
namespace {

using Context = std::unique_ptr<std::remove_pointer_t<munge_ctx_t>, decltype(&::munge_ctx_destroy)>;
using Bytes = std::unique_ptr<void, decltype(&std::free)>;

std::string munge_words(munge_ctx_t context, munge_err_t error) {
  const char* words = ::munge_ctx_strerror(context);
  return words != nullptr ? words : ::munge_strerror(error);
}

TimePoint time_of(munge_ctx_t context, munge_opt_t which) {
  time_t seconds = 0;
  return ::munge_ctx_get(context, which, &seconds) == EMUNGE_SUCCESS ? from_unix_seconds(seconds) : kNoTime;
}

// One for each call: a context of libmunge is not for several threads.
Context make_context(const MungeOptions& options) {
  Context context(::munge_ctx_create(), ::munge_ctx_destroy);
  SB_CHECK(context != nullptr, "there is memory for a context of munge");
  if (!options.socket.empty()) ::munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, options.socket.c_str());
  return context;
}

Error away(munge_ctx_t context, munge_err_t error) {
  return Error(ErrorCode::munge_away, "munged does not answer").because(munge_words(context, error));
}

Result<std::string> encode_now(const MungeOptions& options, const std::string& payload,
                               std::uint32_t reader) {
  const Context context = make_context(options);
  ::munge_ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, static_cast<uid_t>(reader));
  if (options.time_to_live.count() > 0)
    ::munge_ctx_set(context.get(), MUNGE_OPT_TTL, static_cast<int>(options.time_to_live.count()));
  char* raw = nullptr;
  const munge_err_t error =
      ::munge_encode(&raw, context.get(), payload.data(), static_cast<int>(payload.size()));
  const Bytes owned(raw, std::free);
  if (error == EMUNGE_SUCCESS) return std::string(raw);
  if (error == EMUNGE_BAD_LENGTH)
    return fail(Error(ErrorCode::bad_input,
                      "munged takes no payload of " + std::to_string(payload.size()) + " bytes"));
  return fail(away(context.get(), error));
}

// What is wrong with a credential, in words for people.  `skew` > 0: its host's clock is ahead of ours.
Error refusal(munge_ctx_t context, munge_err_t error) {
  const auto skew = std::chrono::duration_cast<std::chrono::seconds>(time_of(context, MUNGE_OPT_ENCODE_TIME) -
                                                                     time_of(context, MUNGE_OPT_DECODE_TIME));
  const std::string seconds = std::to_string(std::abs(skew.count())) + " s";
  switch (error) {
    case EMUNGE_CRED_EXPIRED:
      return Error(ErrorCode::denied, "the credential has expired")
          .because("it was made " + seconds + " ago by this host's clock")
          .remedied_by("compare the clocks of the two hosts, and set the wrong one");
    case EMUNGE_CRED_REWOUND:
      return Error(ErrorCode::denied, "the credential comes from the future")
          .because("its host's clock is " + seconds + " ahead of this one's")
          .remedied_by("compare the clocks of the two hosts, and set the wrong one");
    case EMUNGE_CRED_REPLAYED:
      return Error(ErrorCode::denied, "the credential was used before")
          .because("each holds once; this one may have been copied from the network");
    case EMUNGE_CRED_UNAUTHORIZED:
      return Error(ErrorCode::denied,
                   "the credential is for another user than the one who runs this program");
    default:
      return Error(ErrorCode::denied, "the credential does not hold")
          .because(munge_words(context, error))
          .remedied_by("check that both hosts have the same /etc/munge/munge.key");
  }
}

Result<Credential> decode_now(const MungeOptions& options, const std::string& credential) {
  const Context context = make_context(options);
  void* raw = nullptr;
  int length = 0;
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  const munge_err_t error = ::munge_decode(credential.c_str(), context.get(), &raw, &length, &uid, &gid);
  // (Bytes come along with some errors, too.)
  const Bytes owned(raw, std::free);
  switch (error) {
    case EMUNGE_SUCCESS:
      break;
    case EMUNGE_SNAFU:
    case EMUNGE_NO_MEMORY:
    case EMUNGE_SOCKET:
    case EMUNGE_TIMEOUT:
      return fail(away(context.get(), error));
    default:
      return fail(refusal(context.get(), error));
  }
  Credential said;
  said.payload.assign(static_cast<const char*>(raw), raw != nullptr ? static_cast<std::size_t>(length) : 0);
  said.uid = uid;
  said.gid = gid;
  said.encoded = time_of(context.get(), MUNGE_OPT_ENCODE_TIME);
  said.decoded = time_of(context.get(), MUNGE_OPT_DECODE_TIME);
  return said;
}

class MungeCredentials final : public Credentials {
 public:
  MungeCredentials(Loop& loop, MungeOptions options) : loop_(loop), options_(std::move(options)) {}

  ~MungeCredentials() override {
    std::deque<std::function<void()>> dropped;  // outside the lock: what they own may ask us once more
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      dropped.swap(waiting_);
    }
    wake_.notify_all();
    // Those that are with munged are waited for: libmunge has no way to break off.
    for (std::thread& thread : threads_) thread.join();
  }

  void encode(std::string payload, std::uint32_t reader, Done<std::string> done) override {
    start<std::string>(std::move(done), [this, payload = std::move(payload), reader] {
      return encode_now(options_, payload, reader);
    });
  }
  void decode(std::string credential, Done<Credential> done) override {
    start<Credential>(std::move(done), [this, credential = std::move(credential)] {
      return decode_now(options_, credential);
    });
  }

 private:
  // Runs `work` on a thread and hands its result to `done` on the loop.  `done` may own what belongs to the
  // loop's thread, so the worker gives it away with the result and keeps no copy.
  template <class T>
  void start(Done<T> done, std::function<Result<T>()> work) {
    const auto give = [&loop = loop_, here = lifetime_.watch()](std::shared_ptr<Done<T>> to,
                                                                Result<T> result) {
      loop.post([here, to = std::move(to), result = std::move(result)]() mutable {
        if (!here.over()) (*to)(std::move(result));
      });
    };
    auto to = std::make_shared<Done<T>>(std::move(done));
    std::unique_lock<std::mutex> lock(mutex_);
    if (stopping_) return;
    // A bound, since munged may hang while requests go on coming.
    if (waiting_.size() >= options_.waiting) {
      lock.unlock();
      return give(std::move(to), fail(Error(ErrorCode::busy, "too many credentials wait for munged")));
    }
    waiting_.emplace_back([give, to = std::move(to), work = std::move(work)]() mutable {
      Result<T> result = work();
      give(std::move(to), std::move(result));
    });
    // A thread more only where all are busy.
    if (idle_ < waiting_.size() && threads_.size() < options_.threads)
      threads_.emplace_back([this] { serve(); });
    lock.unlock();
    wake_.notify_one();
  }

  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      ++idle_;
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      --idle_;
      if (stopping_) return;
      std::function<void()> work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  Loop& loop_;
  const MungeOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
  Lifetime lifetime_;
};

}  // namespace

std::unique_ptr<Credentials> make_munge_credentials(Loop& loop, MungeOptions options) {
  return std::make_unique<MungeCredentials>(loop, std::move(options));
}

}  // namespace sickbay
