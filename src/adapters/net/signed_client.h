// SPDX-License-Identifier: Apache-2.0
// ports/http_client.h over TCP: one connection for each question, signed both ways.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "adapters/net/asio_loop.h"
#include "ports/credentials.h"
#include "ports/http_client.h"

namespace sickbay {

struct SignedClientOptions {
  std::string host;  ///< name or address of sickbayd's host
  std::uint16_t port = 6830;
  std::string from;              ///< address of ours to call from; empty: the kernel's choice
  std::uint32_t server_uid = 0;  ///< whose answers are obeyed
  std::size_t answer_bytes = 8 << 20;
  std::chrono::milliseconds connect_limit{0};  ///< for each address; 0: as long as the question has
};

/// The client that also gives an answer as the text it is.
class SignedClient : public HttpClient {
 public:
  /// As ask(), but the answer need not be JSON.
  virtual void ask_text(HttpQuestion question, Done<std::string> done) = 0;
};

/// On `loop` and with `credentials`, which must outlive it.  What is under way when it is destroyed never
/// calls back.  Names are looked up on a thread of their own.
std::unique_ptr<SignedClient> make_signed_client(AsioLoop& loop, Credentials& credentials,
                                                 SignedClientOptions options);

/// Looks up the addresses of `name` ("n3", "10.0.0.7") without blocking: texts as in Caller::address, none
/// twice.  Errors: not_found.
class AddressBook {
 public:
  explicit AddressBook(AsioLoop& loop);
  ~AddressBook();
  void look_up(const std::string& name, Done<std::vector<std::string>> done);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sickbay
