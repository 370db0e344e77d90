// SPDX-License-Identifier: Apache-2.0
#include "apps/ckpt/keep_net.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "base/digest/hmac.h"
#include "ckpt/keepers.h"
#include "model/keep_wire.h"

namespace sickbay::ckpt {
namespace {

using checkpoint::Digest;

constexpr std::size_t kBlock = 1 << 20;
constexpr int kLookMs = 200;

tl::unexpected<Error> away(std::string what) { return fail(ErrorCode::daemon_away, std::move(what)); }

Digest digest_at(std::string_view bytes) {
  Digest digest{};
  std::memcpy(digest.data(), bytes.data(), std::min(bytes.size(), digest.size()));
  return digest;
}
std::string seal_of(const std::string& secret, const std::string& nonce, const KeepRequest& request) {
  return checkpoint::hex(digest_at(hmac_sha256(secret, seal_text(nonce, request))));
}

// One side of a connection, which does not block: each wait has its end.
class Stream {
 public:
  explicit Stream(Descriptor socket) : socket_(std::move(socket)) {}

  Status send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(n));
        continue;
      }
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno != EAGAIN) return away(std::strerror(errno));
      if (auto ready = wait(POLLOUT); !ready) return ready;
    }
    return {};
  }
  // Some bytes, one or more.
  Result<std::size_t> receive(std::span<char> out) {
    for (;;) {
      const ssize_t n = ::recv(socket_.get(), out.data(), out.size(), 0);
      if (n > 0) return static_cast<std::size_t>(n);
      if (n == 0) return away("the other side has ended the connection");
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return away(std::strerror(errno));
      if (auto ready = wait(POLLIN); !ready) return tl::unexpected<Error>(std::move(ready.error()));
    }
  }
  // A line without its end.  (Byte by byte: what is behind it is the pack's.)  All of it within the patience.
  Result<std::string> line() {
    std::string text;
    const auto until = std::chrono::steady_clock::now() + kKeepPatience;
    for (char c = 0; text.size() < kMostKeepLine && std::chrono::steady_clock::now() < until; text += c) {
      if (const auto got = receive({&c, 1}); !got) return tl::unexpected<Error>(got.error());
      if (c == '\n') return text;
    }
    return away("no line came");
  }

 private:
  Status wait(short what) {
    pollfd one{socket_.get(), what, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(kKeepPatience.count() / 1000));
    if (ready > 0 || (ready < 0 && errno == EINTR)) return {};
    return away(ready == 0 ? "the other side says nothing" : std::strerror(errno));
  }
  Descriptor socket_;
};

Status answer_one(Stream& stream, const KeepServer& server, const std::stop_token& stop) {
  const auto nonce = random_hex();
  if (!nonce) return tl::unexpected<Error>(nonce.error());
  if (auto sent = stream.send(format_keep(KeepGreeting{*nonce}) + "\n"); !sent) return sent;
  const auto line = stream.line();
  if (!line) return tl::unexpected<Error>(line.error());
  const auto request = parse_keep_request(*line);
  if (!request) return tl::unexpected<Error>(request.error());
  if (!same_secret(request->seal, seal_of(server.secret, *nonce, *request)))
    return fail(ErrorCode::denied, "who asks does not know the secret");

  const auto files = checkpoint::make_posix_files();
  const std::string folder = fmt::format("{}/r{}", server.stores, request->rank),
                    name = checkpoint::pack_name(request->number, request->rank);
  const auto pack = checkpoint::PackReader::open(*files, folder, name);
  const auto in = files->open(folder + "/" + name);
  if (!pack || !in || checkpoint::hex(pack->digest()) != request->sha256)
    return stream.send(format_keep(KeepAnswer{}) + "\n");
  if (auto sent = stream.send(format_keep(KeepAnswer{pack->bytes()}) + "\n"); !sent) return sent;
  std::string block(kBlock, '\0');
  for (std::uint64_t at = 0; at < pack->bytes() && !stop.stop_requested();) {
    const auto got = (*in)->read_at(at, block);
    if (!got) return tl::unexpected<Error>(got.error());
    if (*got == 0) return {};  // (it got shorter; who asks sees that)
    const std::size_t count = std::min<std::uint64_t>(*got, pack->bytes() - at);
    if (auto sent = stream.send(std::string_view(block).substr(0, count)); !sent) return sent;
    at += count;
  }
  return {};
}

Result<Descriptor> connect_to(const KeepPlace& place) {
  const auto at = parse_address(place.address, place.port);
  if (!at) return tl::unexpected<Error>(at.error());
  Descriptor socket(::socket(at->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail(ErrorCode::os, std::strerror(errno));
  const auto wrong = [&](int code) {
    return away(fmt::format("no keeper at {}, port {}: {}", place.address, place.port, std::strerror(code)));
  };
  if (::connect(socket.get(), at->get(), at->size) != 0 && errno != EINPROGRESS) return wrong(errno);
  pollfd one{socket.get(), POLLOUT, 0};
  if (::poll(&one, 1, static_cast<int>(kConnectPatience.count() / 1000)) != 1) return wrong(ETIMEDOUT);
  int code = 0;
  socklen_t size = sizeof code;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &code, &size) != 0 || code != 0) return wrong(code);
  return socket;
}

struct Wanted {
  std::int64_t number = 0, rank = 0;
  Digest digest{};
};
// What the name of a base must be: a pack of the same process.
std::optional<Wanted> wanted_base(const checkpoint::Base& base, std::int64_t rank) {
  const auto number = checkpoint::number_of(base.name);
  if (!number || base.name != checkpoint::pack_name(*number, rank)) return std::nullopt;
  return Wanted{*number, rank, base.digest};
}

Result<std::uint64_t> fetch_pack(checkpoint::Files& files, const std::string& folder, const Wanted& wanted,
                                 std::uint64_t most, const KeepPlace& from) {
  auto socket = connect_to(from);
  if (!socket) return tl::unexpected<Error>(std::move(socket.error()));
  Stream stream(std::move(*socket));
  const auto hello = stream.line();
  if (!hello) return tl::unexpected<Error>(hello.error());
  const auto greeting = parse_keep_greeting(*hello);
  if (!greeting) return tl::unexpected<Error>(greeting.error());
  KeepRequest request{wanted.number, wanted.rank, checkpoint::hex(wanted.digest), ""};
  request.seal = seal_of(from.secret, greeting->nonce, request);
  if (auto sent = stream.send(format_keep(request) + "\n"); !sent)
    return tl::unexpected<Error>(std::move(sent.error()));
  const auto line = stream.line();
  if (!line) return tl::unexpected<Error>(line.error());
  const auto answer = parse_keep_answer(*line);
  if (!answer) return tl::unexpected<Error>(answer.error());
  const std::string name = checkpoint::pack_name(wanted.number, wanted.rank), path = folder + "/" + name;
  if (!answer->bytes)
    return fail(ErrorCode::not_found, fmt::format("the keeper at {} does not have {}", from.address, name));
  if (*answer->bytes > most)
    return fail(ErrorCode::storage_full, fmt::format("there is no room for {}", name));
  const auto all = [&]() -> Status {
    auto out = files.create(path + ".new", 0600);
    if (!out) return tl::unexpected<Error>(std::move(out.error()));
    std::string block(kBlock, '\0');
    for (std::uint64_t left = *answer->bytes; left > 0;) {
      const auto got = stream.receive(std::span(block).first(std::min<std::uint64_t>(left, block.size())));
      if (!got) return tl::unexpected<Error>(got.error());
      if (auto wrote = (*out)->append(std::string_view(block).substr(0, *got)); !wrote) return wrote;
      left -= *got;
    }
    if (auto synced = (*out)->sync(); !synced) return synced;
    return files.rename(path + ".new", path);
  };
  if (auto done = all(); !done) {
    (void)files.remove(path + ".new");
    return tl::unexpected<Error>(std::move(done.error()));
  }
  return *answer->bytes;
}

}  // namespace

void serve_packs(const KeepServer& server, const std::stop_token& stop) {
  std::atomic<int> open = 0;
  while (!stop.stop_requested()) {
    pollfd one{server.socket.get(), POLLIN, 0};
    if (::poll(&one, 1, kLookMs) <= 0) continue;
    Descriptor socket(::accept4(server.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket || open >= kMostKeepConnections) continue;
    ++open;
    try {
      std::thread([&server, &open, &stop, stream = Stream(std::move(socket))]() mutable {
        (void)answer_one(stream, server, stop);  // (who asks says what was wrong)
        --open;
      }).detach();
    } catch (const std::system_error&) {  // no more threads
      --open;
    }
  }
  // (Each ends within the patience of what it waits for.)
  while (open > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

Result<std::uint64_t> fetch_image(checkpoint::Files& files, const checkpoint::Store& store,
                                  std::int64_t number, const checkpoint::Image& image, std::uint64_t room,
                                  const KeepPlace& from) {
  std::vector<std::string> came;
  std::uint64_t bytes = 0;
  const auto bring = [&](const Wanted& wanted) -> Status {
    const std::string name = checkpoint::pack_name(wanted.number, wanted.rank);
    const auto there = checkpoint::PackReader::open(files, store.folder(), name);
    if (there && there->digest() == wanted.digest) return {};
    const auto got = fetch_pack(files, store.folder(), wanted, room - bytes, from);
    if (!got) return tl::unexpected<Error>(got.error());
    came.push_back(name);
    bytes += *got;
    const auto pack = checkpoint::PackReader::open(files, store.folder(), name);
    if (!pack) return tl::unexpected<Error>(pack.error());
    if (pack->digest() == wanted.digest) return {};
    return fail(checkpoint::damaged(fmt::format("the pack {} is another one", name)));
  };
  const auto all = [&]() -> Status {
    if (auto got = bring({number, image.rank, image.digest}); !got) return got;
    const auto pack = checkpoint::PackReader::open(files, store.folder(), image.pack);
    if (!pack) return tl::unexpected<Error>(pack.error());
    if (pack->index().bases.size() > checkpoint::kMostBases)
      return fail(checkpoint::damaged("it stands on too many packs"));
    for (const checkpoint::Base& base : pack->index().bases) {
      const auto wanted = wanted_base(base, image.rank);
      if (!wanted) return fail(checkpoint::damaged("it stands on a pack of another process"));
      if (auto got = bring(*wanted); !got) return got;
    }
    std::map<std::string, Digest> sure;
    if (auto whole = store.verify_pack(image, sure); !whole) return whole;
    return files.sync_folder(store.folder());
  };
  if (auto done = all(); !done) {
    for (const std::string& name : came) (void)files.remove(store.folder() + "/" + name);
    return tl::unexpected<Error>(std::move(done.error()));
  }
  return bytes;
}

}  // namespace sickbay::ckpt
