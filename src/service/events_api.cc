// SPDX-License-Identifier: Apache-2.0
// The stream of events: what a caller may see of the journal, past and to come.  Its row stands in api.cc.
#include "model/event_kinds.h"
#include "model/ids.h"
#include "service/api_call.h"

namespace sickbay {
namespace {

constexpr std::size_t kStreamBurst = 5000;  // events of the past given to a stream in one go
constexpr std::string_view kPost = "post", kOldKey = "idempotency_key";  // (before there was `post`)
constexpr std::string_view kJobs = "jobs";                               // of a finding

std::string line_without_post(const Event& event) {
  Event shown = event;
  shown.body = Json::object();
  for (const auto& [name, value] : event.body.members())
    if (name != kPost && name != kOldKey && !(event.kind == kFinding && name == kJobs))
      shown.body.set(name, value);
  return shown.text() + "\n";
}

}  // namespace

struct Api::Stream {
  std::shared_ptr<HttpReply> reply;
  Caller caller;
  std::string subject;
  std::int64_t after = 0;
  bool live = false;
};

void EventEndpoints::events(Api& api, Call& c) {
  auto stream = std::make_shared<Api::Stream>();
  stream->reply = c.reply;
  stream->caller = c.request.caller;
  stream->subject = c.request.query_value("subject").value_or("");
  const std::string after(c.request.query_value("after").value_or("0"));
  for (char digit : after)
    if (digit < '0' || digit > '9' || after.size() > 18)
      return c.refuse(Error(ErrorCode::bad_input, "'after' must be a number"));
  stream->after = after.empty() ? 0 : std::stoll(after);
  const bool follow = c.request.query_value("follow").value_or("0") == "1";
  c.reply->begin_stream("application/x-ndjson");
  bool open = true;
  std::string chunk;
  std::size_t given = 0;
  std::int64_t shown = stream->after;
  auto each = [&](const Event& event) {
    if (api.may_see(stream->caller, event)) {
      chunk += api.line_for(stream->caller, event);
      shown = event.seq;
    }
    stream->after = event.seq;
    if (chunk.size() > (64 << 10)) open = c.reply->write(std::exchange(chunk, {}));
    return open && ++given < kStreamBurst;
  };
  // A long past is given in parts: whoever wants more asks again with after=.
  const Status read = stream->subject.empty()
                          ? api.controller_.journal().read(stream->after, each)
                          : api.controller_.journal().read_subject(stream->subject, stream->after, each);
  // Behind a part that ends with events of others, the caller must still learn where to go on.  Over TCP each
  // part of a stream is one.
  const bool is_part = given >= kStreamBurst || (follow && !stream->caller.address.empty());
  if (read && is_part && shown < stream->after)
    chunk += Json::object({{"position", stream->after}}).dump() + "\n";
  if (open && !chunk.empty()) open = c.reply->write(std::move(chunk));
  if (!read || !open || !follow || given >= kStreamBurst) return c.reply->end();
  stream->live = true;
  api.streams_.push_back(stream);
  c.reply->on_close(api.lifetime_.guard([&api, stream] { api.streams_.remove(stream); }));
}

bool Api::may_see(const Caller& caller, const Event& event) const {
  // What everybody's jobs came to, with their names, is for operators.
  if (event.kind == kJobsEnded || event.kind == kJobsKept) return is_operator(caller);
  auto no = parse_case_name(event.subject);
  const bool of_job = is_job_subject(event.subject);
  if (!no && !of_job) return true;  // of nodes and the cluster everybody may know
  if (is_operator(caller)) return true;
  // Whose job it is, and that somebody looks into it, is its owner's matter: the case that claims it is his.
  if (of_job) no = parse_case_name(event.body["by"].as_string());
  if (!no) return false;
  auto it = controller_.seats().cases().state().cases.find(*no);
  return it != controller_.seats().cases().state().cases.end() && it->second.owner.uid == caller.uid;
}

// What was done everybody may know; who posted it and under which key is for him and for operators.  So is
// whose jobs were on a node where something was found.
bool Api::hides_post(const Caller& caller, const Event& event) const {
  const bool others = (event.body.has(kPost) && event.body[kPost]["uid"].as_int() != caller.uid) ||
                      (event.body.has(kOldKey) && !parse_case_name(event.subject)) ||
                      (event.kind == kFinding && event.body.has(kJobs));
  return others && !is_operator(caller);
}

std::string Api::line_for(const Caller& caller, const Event& event) const {
  return hides_post(caller, event) ? line_without_post(event) : event.text() + "\n";
}

void Api::publish(const Event& event) {
  const auto streams = streams_;  // a cut stream leaves the list while we walk
  std::string whole, hidden;      // the same for all who follow, so made once
  for (const auto& stream : streams) {
    if (event.seq <= stream->after || (!stream->subject.empty() && stream->subject != event.subject) ||
        !may_see(stream->caller, event))
      continue;
    stream->after = event.seq;
    const bool hides = hides_post(stream->caller, event);
    std::string& line = hides ? hidden : whole;
    if (line.empty()) line = hides ? line_without_post(event) : event.text() + "\n";
    if (!stream->reply->write(line)) streams_.remove(stream);
  }
}

}  // namespace sickbay
