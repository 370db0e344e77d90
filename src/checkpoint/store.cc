// SPDX-License-Identifier: Apache-2.0
// Store: what is there, what comes to exist, and what ends.  Saving: store_save.cc; restoring:
// store_restore.cc.
#include "checkpoint/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sickbay::checkpoint {

Result<Store> Store::open(Files& files, std::string folder) {
  if (auto made = files.make_folder(folder); !made) return tl::unexpected<Error>(std::move(made.error()));
  return Store(files, std::move(folder));
}

Result<std::unique_ptr<FileLock>> Store::lock() { return files_->lock(folder_ + "/lock"); }

Result<std::vector<Listed>> Store::list() const {
  const auto names = files_->list(folder_);
  if (!names) return tl::unexpected<Error>(names.error());
  std::vector<Listed> all;
  for (const std::string& name : *names) {
    // Only names that Sickbay gives: what else lies in the folder is nobody's checkpoint.
    const auto number = control_number(name);
    if (!number) continue;
    auto control = read_control(*number);
    if (control)
      all.push_back({*number, std::move(*control), ""});
    else
      // A damaged one is listed, too: it must be told of, and its packs must stay.
      all.push_back({*number, std::nullopt, control.error().line()});
  }
  std::sort(all.begin(), all.end(), [](const Listed& a, const Listed& b) { return a.number < b.number; });
  return all;
}

Result<Control> Store::read_control(std::int64_t number) const {
  const std::string name = control_name(number);
  const auto text = read_whole(*files_, folder_ + "/" + name, kMostControlBytes);
  if (!text) {
    if (text.error().code != ErrorCode::not_found) return tl::unexpected<Error>(text.error());
    return fail(ErrorCode::not_found, fmt::format("there is no checkpoint {} in {}", number, folder_));
  }
  auto control = parse_control(*text);
  if (!control) return tl::unexpected<Error>(std::move(control.error()).in("reading " + name));
  // The digest of a control file that was copied to another name is right, and yet it is another checkpoint.
  if (control->number != number)
    return fail(damaged(fmt::format("{} is the control file of checkpoint {}", name, control->number)));
  return control;
}

Result<std::int64_t> Store::next_number() const {
  const auto names = files_->list(folder_);
  if (!names) return tl::unexpected<Error>(names.error());
  std::int64_t last = 0;
  // Of packs and of *.new, too: a number that was begun once is not used again, or packs of two tries would
  // bear one name.
  for (const std::string& name : *names) last = std::max(last, number_of(name).value_or(0));
  return last + 1;
}

Status Store::publish(const Control& control, std::span<const std::int64_t> own) {
  for (const std::int64_t rank : own) {
    const auto image = std::find_if(control.images.begin(), control.images.end(),
                                    [&](const Image& i) { return i.rank == rank; });
    if (image == control.images.end())
      return fail(ErrorCode::conflict,
                  fmt::format("checkpoint {} has no image of rank {}", control.number, rank));
    // By reading what lies there now: between save() and here another process may have written over it.
    const auto pack = PackReader::open(*files_, folder_, image->pack);
    if (!pack) return tl::unexpected<Error>(pack.error());
    if (pack->digest() != image->digest)
      return fail(ErrorCode::conflict,
                  fmt::format("the pack {} is another one than the checkpoint's", image->pack));
  }
  const std::string text = format_control(control);
  // What this could not read again must not be written: it would be a damaged checkpoint from the beginning.
  if (auto read = parse_control(text); !read) return tl::unexpected<Error>(std::move(read.error()));
  // Saying the same again is no error, since a publisher may have died after the rename.
  if (const auto there = read_control(control.number); there && *there != control)
    return fail(ErrorCode::already_exists, fmt::format("checkpoint {} is there already", control.number));
  return write_whole(*files_, folder_, control_name(control.number), text);
}

Result<std::vector<std::string>> Store::packs_of(const Image& image) const {
  const auto pack = PackReader::open(*files_, folder_, image.pack);
  if (!pack) return tl::unexpected<Error>(pack.error());
  std::vector<std::string> names = {image.pack};
  for (const Base& base : pack->index().bases) names.push_back(base.name);
  return names;
}

Result<std::uint64_t> Store::remove(std::span<const std::int64_t> numbers) {
  // Control files first: a checkpoint ends with it, whatever happens to its packs.
  for (const std::int64_t number : numbers)
    if (auto gone = files_->remove(folder_ + "/" + control_name(number)); !gone)
      return tl::unexpected<Error>(std::move(gone.error()));
  // Before a pack goes: or a crash would leave a checkpoint that exists without it.
  if (auto synced = files_->sync_folder(folder_); !synced)
    return tl::unexpected<Error>(std::move(synced.error()));

  const auto all = list();
  if (!all) return tl::unexpected<Error>(all.error());
  const auto names = files_->list(folder_);
  if (!names) return tl::unexpected<Error>(names.error());
  // The packs that the checkpoints that are left need, as far as it can be known.
  const std::set<std::string> here(names->begin(), names->end());
  std::set<std::string> needed;
  std::int64_t unknown_up_to = 0;  ///< what is damaged may stand on any pack up to its own number
  for (const Listed& one : *all) {
    if (!one.control) unknown_up_to = std::max(unknown_up_to, one.number);
    if (!one.control) continue;
    for (const Image& image : one.control->images) {
      if (!here.contains(image.pack)) continue;  // on another node
      const auto packs = packs_of(image);
      if (packs)
        needed.insert(packs->begin(), packs->end());
      else
        unknown_up_to = std::max(unknown_up_to, one.number);
    }
  }
  // Packs above the newest checkpoint are those of one that is being taken.
  const std::int64_t newest = all->empty() ? 0 : all->back().number;
  std::uint64_t freed = 0;
  for (const std::string& name : *names) {
    const auto number = number_of(name);
    // (Those above the newest are being written, by others.)
    const bool left = name.ends_with(".new") && number && *number <= newest;
    const bool old = name.ends_with(".pack") && number && (*number < newest) && (*number > unknown_up_to);
    const bool ended = name.ends_with(".pack") && number &&
                       std::find(numbers.begin(), numbers.end(), *number) != numbers.end() &&
                       *number > unknown_up_to;
    if ((!left && !old && !ended) || needed.contains(name)) continue;
    if (auto file = files_->open(folder_ + "/" + name))
      if (const auto state = (*file)->state()) freed += state->size;
    if (auto gone = files_->remove(folder_ + "/" + name); !gone)
      return tl::unexpected<Error>(std::move(gone.error()));
  }
  if (auto synced = files_->sync_folder(folder_); !synced)
    return tl::unexpected<Error>(std::move(synced.error()));
  return freed;
}

}  // namespace sickbay::checkpoint
