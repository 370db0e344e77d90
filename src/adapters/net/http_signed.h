// SPDX-License-Identifier: Apache-2.0
// Requests that MUNGE vouches for, and answers that are signed over what the caller asked.
//
// A request reaches its handler only when its credential holds and is for exactly these words and this body.
// What is refused before that is answered unsigned: there is nothing yet to sign it over.
// A stream comes in parts, each a whole answer with its own signature: what there is at once, else what comes
// first, else, after a while, nothing.  Who wants more asks again behind the last line, with a new nonce, so
// nobody in between can leave out, repeat or change a line.
// Source: doc/design/decisions.md 4; http_signature.h for the bytes.
#pragma once
#include <chrono>
#include <functional>
#include <memory>

#include "adapters/net/http_request.h"
#include "ports/credentials.h"
#include "ports/loop.h"

namespace sickbay {

/// Decodes the credential of `incoming`, where that has not been done, and calls `pass` with the request, its
/// caller (uid and gid known, the rest as it came) and a reply that signs; or answers `reply` with the reason
/// why not: denied, munge_away, busy.  All on the loop's thread; `loop` and `credentials` must outlive every
/// reply.  A part of a stream waits `part_time` for its first words.
void check_signed_request(Loop& loop, Credentials& credentials, std::chrono::milliseconds part_time,
                          IncomingRequest incoming, std::shared_ptr<HttpReply> reply,
                          std::function<void(HttpRequest, std::shared_ptr<HttpReply>)> pass);

}  // namespace sickbay
