// SPDX-License-Identifier: Apache-2.0
// What every HTTP answer has in common: the JSON body, and an Error on the wire, both ways.
#include "ports/http.h"

#include "base/error_json.h"
#include "base/text.h"

namespace sickbay {

std::optional<std::string_view> HttpRequest::query_value(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return value;
  return std::nullopt;
}

HttpResponse json_response(int status, const Json& body) {
  HttpResponse response;
  response.status = status;
  response.body = body.dump() + "\n";  // the line end is for people with curl
  return response;
}

HttpResponse error_response(const Error& error) {
  const ErrorRow& row = error_row(error.code);
  HttpResponse response = json_response(row.http_status, error_json(error));
  // Seconds.  What answers 503 passes by itself (Slurm is away, say).
  if (row.http_status == 503) response.headers.emplace_back("Retry-After", "5");
  return response;
}

Error error_from_response(int status, std::string_view body) {
  const auto parsed = Json::parse(body);
  if (!parsed || !(*parsed)["code"].is_string() || !(*parsed)["what"].is_string())
    return Error(ErrorCode::internal, "answer " + std::to_string(status) + " with a body that is no error: " +
                                          quote_for_message(trimmed(body)));
  return error_from_json(*parsed);
}

}  // namespace sickbay
