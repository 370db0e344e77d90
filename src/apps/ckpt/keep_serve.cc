// SPDX-License-Identifier: Apache-2.0
// The keeper's side: what lies in the fast place of its node, read only, to who has the secret.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "apps/ckpt/keep_group.h"
#include "apps/ckpt/keep_net.h"
#include "base/digest/hmac.h"
#include "checkpoint/pack.h"
#include "checkpoint/parity.h"
#include "ckpt/keepers.h"

namespace sickbay::ckpt {
namespace {

constexpr std::size_t kSentAtOnce = 1 << 20;
constexpr int kLookMs = 200;

// What is behind an answer: a text, or bytes of a file.
struct Has {
  std::string text;
  std::unique_ptr<checkpoint::InFile> file;
  std::uint64_t from = 0, size = 0;
};
using Found = std::optional<Has>;

Found text_of(std::string text) {
  const std::uint64_t size = text.size();
  return Has{std::move(text), nullptr, 0, size};
}

// (Less than was asked for is none: who asks knows how long it is.)
Found bytes_of(checkpoint::Files& files, const std::string& path, std::uint64_t from, std::uint64_t size) {
  auto in = files.open(path);
  if (!in) return std::nullopt;
  const auto state = (*in)->state();
  if (!state || from > state->size || size > state->size - from) return std::nullopt;
  return Has{"", std::move(*in), from, size};
}

Found of_pack(checkpoint::Files& files, const std::string& stores, const KeepRequest& request) {
  const std::string folder = fmt::format("{}/r{}", stores, request.rank),
                    name = checkpoint::pack_name(request.number, request.rank);
  const auto pack = checkpoint::PackReader::open(files, folder, name);
  if (!pack || checkpoint::hex(pack->digest()) != request.sha256) return std::nullopt;
  if (request.what == KeepWhat::pack) return bytes_of(files, folder + "/" + name, 0, pack->bytes());
  if (request.what == KeepWhat::part) return bytes_of(files, folder + "/" + name, request.from, request.size);
  std::vector<KeepPack> needs = {{request.number, pack->bytes(), request.sha256}};
  for (const checkpoint::Base& base : pack->index().bases) {
    const auto number = checkpoint::number_of(base.name);
    const auto there = checkpoint::PackReader::open(files, folder, base.name);
    if (!number || !there || there->digest() != base.digest || needs.size() >= kMostKeepNeeds)
      return std::nullopt;
    needs.push_back({*number, there->bytes(), checkpoint::hex(base.digest)});
  }
  return text_of(format_keep_needs(needs));
}

Found found(checkpoint::Files& files, const std::string& stores, const KeepRequest& request) {
  const std::string parity = stores + "/" + kParityFolder;
  switch (request.what) {
    case KeepWhat::pack:
    case KeepWhat::part:
    case KeepWhat::needs:
      return of_pack(files, stores, request);
    case KeepWhat::parity:
      return bytes_of(files, parity + "/" + checkpoint::parity_name(request.number), request.from,
                      request.size);
    case KeepWhat::head: {
      auto text = checkpoint::read_whole(files, parity + "/" + checkpoint::parity_head_name(request.number),
                                         kMostHeadBytes);
      return text ? text_of(std::move(*text)) : std::nullopt;
    }
  }
  return std::nullopt;
}

Status answer_one(KeepStream& stream, const KeepServer& server, const std::stop_token& stop) {
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
  const Found has = found(*files, server.stores, *request);
  if (!has) return stream.send(format_keep(KeepAnswer{}) + "\n");
  if (auto sent = stream.send(format_keep(KeepAnswer{has->size}) + "\n"); !sent) return sent;
  if (!has->file) return stream.send(has->text);
  std::string block(kSentAtOnce, '\0');
  for (std::uint64_t at = 0; at < has->size && !stop.stop_requested();) {
    const auto got = has->file->read_at(has->from + at, block);
    if (!got) return tl::unexpected<Error>(got.error());
    if (*got == 0) return {};  // (it got shorter; who asks sees that)
    const std::size_t count = std::min<std::uint64_t>(*got, has->size - at);
    if (auto sent = stream.send(std::string_view(block).substr(0, count)); !sent) return sent;
    at += count;
  }
  return {};
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
      std::thread([&server, &open, &stop, stream = KeepStream(std::move(socket))]() mutable {
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

}  // namespace sickbay::ckpt
