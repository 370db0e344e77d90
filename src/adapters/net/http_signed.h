// SPDX-License-Identifier: Apache-2.0
// Requests that MUNGE vouches for, and answers that are signed over what the caller asked.
//
// A request reaches its handler only when its credential holds and is for exactly these words and this body.
// What is refused before that is answered unsigned: there is nothing yet to sign it over.
// Source: doc/design/decisions.md 4; http_signature.h for the bytes.
#pragma once
#include <functional>
#include <memory>

#include "adapters/net/http_request.h"
#include "ports/credentials.h"

namespace sickbay {

/// Decodes the credential of `incoming` and calls `pass` with the request, its caller (uid and gid known, the
/// rest as it came) and a reply that signs; or answers `reply` with the reason why not: denied, munge_away,
/// busy.  All on the loop's thread; `credentials` must outlive every reply.
void check_signed_request(Credentials& credentials, IncomingRequest incoming,
                          std::shared_ptr<HttpReply> reply,
                          std::function<void(HttpRequest, std::shared_ptr<HttpReply>)> pass);

}  // namespace sickbay
