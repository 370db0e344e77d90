// SPDX-License-Identifier: Apache-2.0
#include "service/nonstop/nonstop_listeners.h"

#include <algorithm>
#include <array>

#include "model/ids.h"
#include "model/nonstop_wire.h"

namespace sickbay {
namespace {

using nonstop::Happening;

constexpr auto kTryAgain = std::to_array<std::chrono::seconds>(
    {std::chrono::seconds(1), std::chrono::seconds(5)});  // pauses before a call's second and third try

// What the original tells by a call; the rest only streams have.
std::uint32_t flag_of(Happening::What what) {
  switch (what) {
    case Happening::What::failed:
      return wire::kFailed;
    case Happening::What::failing:
      return wire::kFailing;
    case Happening::What::replaced:
      return wire::kReplace;
    default:
      return 0;
  }
}

}  // namespace

NonstopListeners::NonstopListeners(Loop& loop, Controller& controller, NonstopServer& server, Bounds bounds)
    : loop_(loop), controller_(controller), server_(server), bounds_(bounds) {
  for (const auto& [id, job] : state().jobs)
    if (!job.callbacks.empty()) called_[id] = job.last_happening;
}

NonstopListeners::Counts NonstopListeners::counts() const {
  Counts counts = counts_;
  counts.streams = streams_.size();
  return counts;
}

// --- streams

bool NonstopListeners::has_room(JobId job, std::uint32_t uid) const {
  std::size_t of_job = 0, of_user = 0;
  for (const auto& stream : streams_) {
    of_job += stream->job == job;
    of_user += stream->uid == uid;
  }
  return streams_.size() < bounds_.streams && of_job < bounds_.streams_of_job &&
         of_user < bounds_.streams_of_user;
}

void NonstopListeners::add(std::shared_ptr<NonstopPeer> peer, JobId job, std::uint32_t uid,
                           std::uint64_t after) {
  const nonstop::Job* known = state().job(job);
  if (known == nullptr) return;
  auto stream = std::make_shared<Stream>();
  stream->peer = std::move(peer);
  stream->job = job;
  stream->uid = uid;
  stream->submit = known->submit;
  // A number that never was is of the job's life before a requeue.
  stream->told =
      after > static_cast<std::uint64_t>(known->last_happening) ? 0 : static_cast<std::int64_t>(after);
  if (!feed(*stream)) return;
  stream->peer->on_close(lifetime_.guard([this, weak = std::weak_ptr(stream)] {
    if (const auto gone = weak.lock()) streams_.remove(gone);
  }));
  streams_.push_back(std::move(stream));
  live();
}

bool NonstopListeners::write(Stream& stream, const Happening& happening) {
  Json body = Json::object({{"n", happening.n},
                            {"event", nonstop::to_string(happening.what)},
                            {"nodes", happening.nodes},
                            {"by", happening.by},
                            {"at", to_micros(happening.at)}});
  stream.told = happening.n;
  ++counts_.told;
  return stream.peer->write(body.dump());
}

bool NonstopListeners::feed(Stream& stream) {
  const nonstop::Job* job = state().job(stream.job);
  if (job != nullptr && job->submit == stream.submit) {
    for (const Happening& happening : nonstop::happenings_after(state(), stream.job, stream.told)) {
      if (!write(stream, happening)) return false;
      if (happening.what != Happening::What::ended) continue;
      stream.peer->end();
      return false;
    }
    return true;
  }
  // It ended and was closed between two looks.
  if (write(stream, {stream.told + 1, Happening::What::ended, {}, {}, controller_.now()})) stream.peer->end();
  return false;
}

// A client whose host has died takes nothing more, and is cut when the kernel has given it up.
void NonstopListeners::live() {
  if (living_ || streams_.empty()) return;
  living_ = true;
  loop_.at(loop_.now() + bounds_.sign_of_life, lifetime_.guard([this] {
    living_ = false;
    const std::string body = Json::object({{"at", to_micros(controller_.now())}}).dump();
    for (const auto& stream : std::list(streams_))
      if (!stream->peer->write(body)) streams_.remove(stream);
    live();
  }));
}

// --- what has happened

void NonstopListeners::note(const Event& event) {
  if (event.kind != nonstop::kCallbackSet) return;
  const auto id = parse_running_subject(event.subject);
  const nonstop::Job* job = id ? state().job(*id) : nullptr;
  if (job != nullptr && !job->callbacks.empty()) called_.try_emplace(*id, job->last_happening);
}

void NonstopListeners::tell() {
  for (const auto& stream : std::list(streams_))
    if (!feed(*stream)) streams_.remove(stream);
  for (auto it = called_.begin(); it != called_.end();) {
    const nonstop::Job* job = state().job(it->first);
    if (job == nullptr || job->callbacks.empty()) {
      it = called_.erase(it);
      continue;
    }
    std::uint32_t flags = 0;
    for (const Happening& happening : nonstop::happenings_after(state(), it->first, it->second))
      flags |= flag_of(happening.what);
    it->second = job->last_happening;
    if (flags != 0)
      for (const auto& [address, port] : job->callbacks) queue({address, port}, flags);
    ++it;
  }
}

// --- calls

void NonstopListeners::queue(const Place& place, std::uint32_t flags) {
  Called& called = places_[place];
  const bool waits = called.flags != 0;
  called.flags |= flags;
  called.tries = 0;
  if (waits || called.under_way) return;  // it is told with what waits, or after what is under way
  to_call_.push_back(place);
  call_next();
}

void NonstopListeners::call_next() {
  while (calling_ < bounds_.calls && !to_call_.empty()) {
    const Place place = std::move(to_call_.front());
    to_call_.pop_front();
    const auto it = places_.find(place);
    if (it == places_.end()) continue;
    const std::uint32_t flags = std::exchange(it->second.flags, 0);
    it->second.under_way = true;
    ++calling_;
    ++counts_.calls;
    server_.call(place.first, place.second, wire::callback_message(flags),
                 lifetime_.guard([this, place, flags](const Result<bool>& how) {
                   called(place, flags, how.has_value());
                 }));
  }
}

void NonstopListeners::called(const Place& place, std::uint32_t flags, bool well) {
  --calling_;
  Called& of = places_[place];
  of.under_way = false;
  if (!well) {
    ++counts_.calls_failed;
    if (of.flags != 0) of.flags |= flags;  // more has happened: it is told with that
    if (of.flags == 0 && static_cast<std::size_t>(of.tries) < kTryAgain.size()) {
      of.under_way = true;  // until its pause is over
      const auto pause = kTryAgain[static_cast<std::size_t>(of.tries++)];
      loop_.at(loop_.now() + pause, lifetime_.guard([this, place, flags] {
        Called& again = places_[place];
        again.under_way = false;
        again.flags |= flags;
        to_call_.push_back(place);
        call_next();
      }));
      return call_next();
    }
  }
  if (of.flags != 0)
    to_call_.push_back(place);
  else
    places_.erase(place);
  call_next();
}

}  // namespace sickbay
