// SPDX-License-Identifier: Apache-2.0
// What a credential of a request or an answer over TCP says, as bytes.
//
// A request carries `Authorization: Munge CREDENTIAL`, its answer `Authentication-Info: Munge CREDENTIAL`.
// The payloads bind the credential to what it is sent with: to the words and the body of one request, or to
// the answer to that request.  Each begins with another word, so that neither passes for the other.
//
//   request: "sickbay-request 1" METHOD TARGET IDEMPOTENCY-KEY SHA-256-OF-THE-BODY NONCE
//   answer:  "sickbay-answer 1" STATUS SHA-256-OF-THE-BODY NONCE-OF-THE-REQUEST
//
// one a line, each line ended by '\n'.  Source: doc/design/decisions.md 4, doc/formats/api.md.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace sickbay {

/// The two payloads, by their lines.
struct RequestSignature {
  std::string method, target;  ///< as on the wire, percent-encoded
  std::string key;             ///< Idempotency-Key; may be empty
  std::string body_digest;     ///< 64 hexadecimal digits
  std::string nonce;           ///< 32 hexadecimal digits

  std::string text() const;
  /// Errors: bad_input.
  static Result<RequestSignature> parse(std::string_view text);
  friend bool operator==(const RequestSignature&, const RequestSignature&) = default;
};
struct AnswerSignature {
  int status = 0;
  std::string body_digest;
  std::string nonce;

  std::string text() const;
  static Result<AnswerSignature> parse(std::string_view text);
  friend bool operator==(const AnswerSignature&, const AnswerSignature&) = default;
};

/// The credential in the value of a header, "Munge CREDENTIAL".  Errors: denied (none, or another scheme).
Result<std::string> credential_of(std::string_view header_value);
/// 128 random bits as 32 hexadecimal digits.
std::string new_nonce();

}  // namespace sickbay
