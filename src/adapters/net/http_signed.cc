// SPDX-License-Identifier: Apache-2.0
#include "adapters/net/http_signed.h"

#include "adapters/net/http_signature.h"
#include "base/digest/sha256.h"

namespace sickbay {
namespace {

// Sends `response` with a credential over it and over the caller's nonce.
void send_signed(Credentials& credentials, std::uint32_t reader, const std::string& nonce,
                 const std::shared_ptr<HttpReply>& reply, HttpResponse response) {
  AnswerSignature signature{response.status, sha256_hex(response.body), nonce};
  // Bound to the question by its nonce and readable by its sender alone.
  credentials.encode(signature.text(), reader,
                     [reply, response = std::move(response)](Result<std::string> credential) mutable {
                       if (!credential) return reply->respond(error_response(credential.error()));
                       response.headers.emplace_back("Authentication-Info", "Munge " + *credential);
                       reply->respond(std::move(response));
                     });
}

class SignedReply final : public HttpReply, public std::enable_shared_from_this<SignedReply> {
 public:
  SignedReply(Loop& loop, Credentials& credentials, std::chrono::milliseconds part_time, std::uint32_t reader,
              std::string nonce, std::shared_ptr<HttpReply> inner)
      : loop_(loop),
        credentials_(credentials),
        part_time_(part_time),
        reader_(reader),
        nonce_(std::move(nonce)),
        inner_(std::move(inner)) {}
  ~SignedReply() override {
    if (!answered_)
      respond(error_response(Error(ErrorCode::internal, "the request was left without an answer")));
  }
  SignedReply(const SignedReply&) = delete;

  void respond(HttpResponse response) override {
    SB_CHECK(!answered_, "a request is answered once");
    answered_ = true;
    loop_.cancel(timer_);
    send_signed(credentials_, reader_, nonce_, inner_, std::move(response));
  }
  void begin_stream(std::string content_type) override {
    SB_CHECK(!answered_ && part_.content_type.empty(), "a request is answered once");
    part_.content_type = std::move(content_type);
    // A stream is sent in parts that are signed each, since a signature needs the whole: after this time, or
    // with what was written in one go.
    timer_ = loop_.at(loop_.now() + part_time_, sending());
  }
  bool write(std::string chunk) override {
    if (answered_ || !inner_->is_open()) return false;
    // What is written in one go belongs together, and is not yet all.
    if (part_.body.empty() && !chunk.empty()) loop_.post(sending());
    part_.body += chunk;
    if (part_.body.size() <= kUnsentBound) return true;
    send_part();
    return false;
  }
  void end() override { send_part(); }
  void on_close(std::function<void()> closed) override { inner_->on_close(std::move(closed)); }
  bool is_open() const override { return !answered_ && inner_->is_open(); }

 private:
  void send_part() {
    if (!answered_) respond(std::move(part_));
  }
  std::function<void()> sending() {
    return [self = weak_from_this()] {
      if (const auto reply = self.lock()) reply->send_part();
    };
  }

  Loop& loop_;
  Credentials& credentials_;
  const std::chrono::milliseconds part_time_;
  const std::uint32_t reader_;
  const std::string nonce_;
  const std::shared_ptr<HttpReply> inner_;
  HttpResponse part_{200, "", "", {}};  // of a stream: what was written so far
  Loop::TimerId timer_ = 0;
  bool answered_ = false;
};

Result<RequestSignature> signature_for(const Credential& said, const IncomingRequest& incoming) {
  auto signature = RequestSignature::parse(said.payload);
  const auto denied = [](std::string what) {
    return fail(Error(ErrorCode::denied, std::move(what))
                    .because("it may have been changed on its way")
                    .remedied_by("sign what is sent, as doc/formats/api.md says"));
  };
  if (!signature) return denied("the credential signs no request");
  // All that makes a request is compared: a credential that was copied must not serve for another one.
  if (signature->method != incoming.request.method || signature->target != incoming.target ||
      signature->key != incoming.request.idempotency_key)
    return denied("the credential is for another request");
  if (signature->body_digest != sha256_hex(incoming.request.body))
    return denied("the request's body is not the one that was signed");
  return signature;
}

}  // namespace

void check_signed_request(Loop& loop, Credentials& credentials, std::chrono::milliseconds part_time,
                          IncomingRequest incoming, std::shared_ptr<HttpReply> reply,
                          std::function<void(HttpRequest, std::shared_ptr<HttpReply>)> pass) {
  auto take = [&loop, &credentials, part_time, reply = std::move(reply), pass = std::move(pass)](
                  IncomingRequest request, Result<Credential> said) {
    if (!said) return reply->respond(error_response(said.error()));
    auto signature = signature_for(*said, request);
    if (!signature) return reply->respond(error_response(signature.error()));
    request.request.caller.uid = said->uid;
    request.request.caller.gid = said->gid;
    auto signing = std::make_shared<SignedReply>(loop, credentials, part_time, said->uid,
                                                 std::move(signature->nonce), reply);
    pass(std::move(request.request), std::move(signing));
  };
  // Looked at before its body came (http_connection.cc); munged would refuse it a second time.
  if (incoming.credential) {
    Credential said = std::move(*incoming.credential);
    return take(std::move(incoming), std::move(said));
  }
  auto credential = credential_of(incoming.authorization);
  if (!credential) return take(std::move(incoming), fail(std::move(credential.error())));
  credentials.decode(std::move(*credential),
                     [take = std::move(take), incoming = std::move(incoming)](
                         Result<Credential> said) mutable { take(std::move(incoming), std::move(said)); });
}

}  // namespace sickbay
