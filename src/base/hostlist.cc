// SPDX-License-Identifier: Apache-2.0
#include "base/hostlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>

#include "base/text.h"

namespace sickbay {
namespace {

// A number has at most this many digits, so that it and its successor fit in 64 bits.  Digits before these
// belong to the prefix.
constexpr std::size_t kMaxDigits = 18;
// Slurm refuses a longer range ("Too many hosts in range", 22.05, tried).
constexpr std::uint64_t kMaxRange = 65536;

// Writes `value` with at least `width` digits.  The caller sees to room for kMaxDigits + 1.
char* put_number(char* out, std::uint64_t value, std::size_t width) {
  char digits[20];
  std::size_t n = 0;
  do digits[n++] = static_cast<char>('0' + value % 10);
  while ((value /= 10) != 0);
  for (; n < width; --width) *out++ = '0';
  while (n > 0) *out++ = digits[--n];
  return out;
}

std::uint64_t to_number(std::string_view digits) {
  std::uint64_t value = 0;
  for (const char c : digits) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  return value;
}

std::size_t count_digits(std::uint64_t value) {
  std::size_t n = 1;
  while ((value /= 10) != 0) ++n;
  return n;
}

// ---- reading ----------------------------------------------------------------------------------------------

struct Range {
  std::uint64_t low, high;
  std::size_t width;
};

// One name of the text: literals and brackets in turn; brackets[i] stands behind literals[i].
struct Term {
  // (Views into the text of the reader: a term lives as long as that does.)
  std::vector<std::string_view> literals;
  std::vector<std::vector<Range>> brackets;
  std::size_t column = 1;
  std::size_t names = 1;

  void clear() {
    literals.clear();
    brackets.clear();
    names = 1;
  }
};

constexpr bool is_separator(char c) { return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Letters, digits and these: what a host name may hold, and '_' and ':' which sites use too.  Everything
// else would be a surprise on a command line that gets the name later.
constexpr bool is_name_char(char c) {
  const char lower = to_lower(c);
  return is_digit(c) || (lower >= 'a' && lower <= 'z') || c == '-' || c == '.' || c == '_' || c == ':';
}

class HostlistReader {
 public:
  HostlistReader(std::string_view text, std::size_t most) : text_(text), most_(most) {}

  // Reads the next name into `term`; false at the end of the text.
  Result<bool> next(Term& term) {
    while (at_ < text_.size() && is_separator(text_[at_])) ++at_;
    if (at_ == text_.size()) return false;
    term.clear();
    term.column = at_ + 1;
    std::size_t length = 0;
    while (true) {
      const std::size_t begin = at_;
      while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
      term.literals.push_back(text_.substr(begin, at_ - begin));
      length += at_ - begin;
      if (at_ == text_.size() || is_separator(text_[at_])) break;
      if (text_[at_] != '[') return refuse_char();
      if (auto ok = read_bracket(term, length); !ok) return fail(std::move(ok).error());
    }
    if (length > kMaxHostNameLength)
      return refuse(term.column, fmt::format("a name of {} bytes", length),
                    fmt::format("names have at most {} bytes", kMaxHostNameLength));
    total_ += term.names;
    // Counted from the ranges alone: "n[0-999999999]" is refused before a name of it is made.
    if (total_ > most_) return refuse_count(term.column);
    return true;
  }

 private:
  // `at_` stands on '['.  Leaves it behind ']'.  Adds the longest number's width to `length`.
  Status read_bracket(Term& term, std::size_t& length) {
    const std::size_t open = at_++;
    std::vector<Range> ranges;
    std::size_t numbers = 0, widest = 0;
    while (true) {
      std::uint64_t low = 0;
      std::size_t width = 0;
      const std::size_t column = at_ + 1;
      if (auto ok = read_number(open, low, width); !ok) return ok;
      std::uint64_t high = low;
      if (at_ < text_.size() && text_[at_] == '-') {
        ++at_;
        std::size_t ignored = 0;
        if (auto ok = read_number(open, high, ignored); !ok) return ok;
      }
      if (high < low)
        return refuse(column, fmt::format("the range {}-{} runs backwards", low, high),
                      fmt::format("write {}-{}", high, low));
      // Both are below 10^18, so this cannot wrap; the sums below stay under `most_`.
      if (high - low >= most_) return refuse_count(column);
      numbers += static_cast<std::size_t>(high - low + 1);
      if (numbers > most_) return refuse_count(column);
      ranges.push_back({low, high, width});
      widest = std::max({widest, width, count_digits(high)});
      if (at_ == text_.size()) return refuse_open(open);
      const char c = text_[at_++];
      if (c == ']') break;
      if (c != ',') {
        --at_;
        return refuse_char();
      }
    }
    // Divided, not multiplied: the product of several brackets could wrap.
    if (term.names > most_ / numbers) return refuse_count(open + 1);
    term.names *= numbers;
    length += widest;
    term.brackets.push_back(std::move(ranges));
    return {};
  }

  Status read_number(std::size_t open, std::uint64_t& value, std::size_t& width) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    width = at_ - begin;
    if (width == 0) {
      if (at_ == text_.size()) return refuse_open(open);
      return refuse(at_ + 1,
                    fmt::format("{} where a number must stand", quote_for_message(text_.substr(at_, 1))),
                    "inside brackets write numbers and ranges without blanks: [1-3,7]");
    }
    if (width > kMaxDigits)
      return refuse(begin + 1, fmt::format("a number of {} digits", width),
                    fmt::format("numbers have at most {} digits", kMaxDigits));
    value = to_number(text_.substr(begin, width));
    return {};
  }

  tl::unexpected<Error> refuse(std::size_t column, std::string cause, std::string remedy) const {
    return fail(Error(ErrorCode::bad_input,
                      fmt::format("hostlist {}, column {}: {}", quote_for_message(text_), column, cause))
                    .remedied_by(std::move(remedy)));
  }
  tl::unexpected<Error> refuse_open(std::size_t open) const {
    return refuse(open + 1, "'[' is never closed",
                  "close it with ']'; in a shell put the hostlist in quotes");
  }
  tl::unexpected<Error> refuse_count(std::size_t column) const {
    return refuse(column, fmt::format("more than {} names", most_), "name fewer nodes, or shorten the range");
  }
  tl::unexpected<Error> refuse_char() const {
    const std::string shown = quote_for_message(text_.substr(at_, 1));
    if (text_[at_] == ']')
      return refuse(at_ + 1, "']' without '['", "open the bracket before the numbers: n[1-3]");
    return refuse(at_ + 1, fmt::format("{} cannot stand in a node name", shown),
                  "names hold letters, digits, '-', '.', '_' and ':', and are parted by commas");
  }

  std::string_view text_;
  std::size_t most_;
  std::size_t at_ = 0;
  std::size_t total_ = 0;
};

// Appends the names of `term` from its bracket `depth` on; `head` holds the bytes before it.
void append_names(const Term& term, std::size_t depth, char* name, char* head,
                  std::vector<std::string>& names) {
  const std::string_view literal = term.literals[depth];
  head = std::copy(literal.begin(), literal.end(), head);
  if (depth == term.brackets.size()) {
    names.emplace_back(name, head);
    return;
  }
  for (const Range& range : term.brackets[depth])
    for (std::uint64_t value = range.low; value <= range.high; ++value)
      append_names(term, depth + 1, name, put_number(head, value, range.width), names);
}

// ---- order ------------------------------------------------------------------------------------------------

// A name cut at its number.  No digits: width 0, which sorts before all numbers.
struct Cut {
  std::string_view prefix;
  std::size_t width;
  std::uint64_t number;
};

Cut cut(std::string_view name) {
  std::size_t begin = name.size();
  while (begin > 0 && name.size() - begin < kMaxDigits && is_digit(name[begin - 1])) --begin;
  return {name.substr(0, begin), name.size() - begin, to_number(name.substr(begin))};
}

// Byte order, but with runs of digits compared by width and then by value: rack2n before rack10n.
int compare_prefix(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  if (i == a.size() && i == b.size()) return 0;
  const auto run = [&](std::string_view text) {  // the end of the digits around text[i]
    std::size_t end = i;
    while (end < text.size() && is_digit(text[end])) ++end;
    return end;
  };
  // Where the difference lies inside a run of digits (or at the end of one), the longer run is greater.
  const std::size_t end_a = run(a), end_b = run(b);
  const bool inside = i > 0 && is_digit(a[i - 1]);
  if (end_a != end_b && (inside || (end_a > i && end_b > i))) return end_a < end_b ? -1 : 1;
  if (i == a.size() || i == b.size()) return i == a.size() ? -1 : 1;
  return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[i]) ? -1 : 1;
}

bool cut_less(const Cut& a, const Cut& b) {
  if (a.prefix != b.prefix) return compare_prefix(a.prefix, b.prefix) < 0;
  if (a.width != b.width) return a.width < b.width;
  return a.number < b.number;
}

// What a big sort compares: the prefix by its rank among the prefixes of this list, so that a million names
// of a few prefixes are sorted as integers.
struct SortKey {
  // The rank above the lowest byte, the width in it: a width is at most kMaxDigits.
  std::uint64_t rank_and_width;
  std::uint64_t number;
  std::uint32_t index;
  bool operator<(const SortKey& other) const {
    if (rank_and_width != other.rank_and_width) return rank_and_width < other.rank_and_width;
    return number < other.number;
  }
  bool same_name(const SortKey& other) const {
    return rank_and_width == other.rank_and_width && number == other.number;
  }
};

// The first bytes of a prefix, written so that they compare as compare_prefix does: a run of digits gets its
// length before it.  Decides most comparisons of a sort without a look at the names.
struct PrefixKey {
  std::array<std::uint64_t, 2> head{};
  std::uint32_t id = 0;

  PrefixKey(std::string_view text, std::uint32_t the_id) : id(the_id) {
    std::size_t at = 0;
    const auto put = [&](std::size_t byte) {
      if (at < 16) head[at / 8] |= std::uint64_t{byte} << (56 - 8 * (at % 8));
      ++at;
    };
    for (std::size_t i = 0; i < text.size() && at < 16; ++i) {
      if (is_digit(text[i]) && (i == 0 || !is_digit(text[i - 1]))) {
        const std::size_t run = std::min(text.find_first_not_of("0123456789", i), text.size()) - i;
        // A digit before the length, so that a run still sorts among other bytes as a digit does.
        put('0');
        put(std::min<std::size_t>(run, 255));
        if (run >= 255) break;  // the length does not fit: left to the full comparison
      }
      put(static_cast<unsigned char>(text[i]));
    }
  }
};

// The place of each prefix in their natural order.
std::vector<std::uint32_t> ranks(const std::vector<std::string_view>& prefixes) {
  // What they all begin with tells nothing; but a run of digits stays whole.
  std::size_t lead = prefixes.empty() ? 0 : prefixes[0].size();
  for (const std::string_view prefix : prefixes) {
    std::size_t same = 0;
    while (same < std::min(lead, prefix.size()) && prefix[same] == prefixes[0][same]) ++same;
    lead = same;
  }
  while (lead > 0 && is_digit(prefixes[0][lead - 1])) --lead;

  std::vector<PrefixKey> keys;
  keys.reserve(prefixes.size());
  for (std::uint32_t i = 0; i < prefixes.size(); ++i) keys.emplace_back(prefixes[i].substr(lead), i);
  std::sort(keys.begin(), keys.end(), [&](const PrefixKey& a, const PrefixKey& b) {
    if (a.head != b.head) return a.head < b.head;
    return compare_prefix(prefixes[a.id], prefixes[b.id]) < 0;
  });
  std::vector<std::uint32_t> rank(prefixes.size());
  for (std::uint32_t i = 0; i < keys.size(); ++i) rank[keys[i].id] = i;
  return rank;
}

// The places of `names` in sorted order, each name once, empty ones left out.
std::vector<std::uint32_t> sorted_places(std::span<const std::string> names) {
  SB_CHECK(names.size() <= UINT32_MAX, "more names than any hostlist can hold");
  std::unordered_map<std::string_view, std::uint32_t> ids;
  std::vector<std::string_view> prefixes;
  std::vector<SortKey> keys;
  keys.reserve(names.size());
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    const Cut c = cut(names[i]);
    // Neighbours mostly share their prefix, so the map is seldom asked.
    if (prefixes.empty() || prefixes[last] != c.prefix) {
      const auto [it, is_new] = ids.emplace(c.prefix, static_cast<std::uint32_t>(prefixes.size()));
      if (is_new) prefixes.push_back(c.prefix);
      last = it->second;
    }
    // Until all prefixes are known it holds the prefix's number, and its rank only then.
    keys.push_back({(std::uint64_t{last} << 8) | c.width, c.number, i});
  }
  const std::vector<std::uint32_t> rank = ranks(prefixes);
  for (SortKey& key : keys)
    key.rank_and_width = (std::uint64_t{rank[key.rank_and_width >> 8]} << 8) | (key.rank_and_width & 0xff);
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint32_t> places;
  places.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (i == 0 || !keys[i].same_name(keys[i - 1])) places.push_back(keys[i].index);
  return places;
}

bool strictly_sorted(std::span<const std::string> names) {
  if (names.empty()) return true;
  Cut before = cut(names[0]);
  if (names[0].empty()) return false;
  for (std::size_t i = 1; i < names.size(); ++i) {
    const Cut now = cut(names[i]);
    if (!cut_less(before, now)) return false;
    before = now;
  }
  return true;
}

// ---- writing ----------------------------------------------------------------------------------------------

// Numbers in brackets, as they come: follows() tells whether a number goes on from the last range.
class RangeWriter {
 public:
  void add(std::uint64_t number, std::size_t width) {
    // The next number of a range is written with the width of its first one: 9-10 as well as 09-10.
    const bool follows = count_ > 0 && number == high_ + 1 && number - low_ < kMaxRange &&
                         width == std::max(width_, count_digits(number));
    if (!follows) {
      close();
      low_ = number;
      width_ = width;
    }
    high_ = number;
    ++count_;
  }

  // "3" for one number, else "[1-3,7]".  Starts anew.
  std::string take() {
    const bool one = count_ == 1;
    close();
    std::string text = one ? std::move(text_) : "[" + text_ + "]";
    *this = RangeWriter();
    return text;
  }

 private:
  void close() {
    if (count_ == 0) return;
    char buffer[2 * (kMaxDigits + 2)];
    char* end = put_number(buffer, low_, width_);
    if (high_ != low_) {
      *end++ = '-';
      end = put_number(end, high_, width_);
    }
    if (!text_.empty()) text_ += ',';
    text_.append(buffer, end);
  }

  std::string text_;
  std::uint64_t low_ = 0, high_ = 0;
  std::size_t width_ = 0, count_ = 0;
};

// All names of one prefix: `prefix` and the text of their numbers.
struct Group {
  std::string_view prefix;
  std::string numbers;  // empty: the bare prefix is the name
};

// Writes the groups, folding those that differ in the last number of the prefix only.
std::string write_groups(const std::vector<Group>& groups) {
  std::string text;
  std::size_t i = 0;
  while (i < groups.size()) {
    const std::string_view prefix = groups[i].prefix;
    std::size_t end = prefix.size();
    while (end > 0 && !is_digit(prefix[end - 1])) --end;
    const std::string_view tail = prefix.substr(end);
    const Cut head = cut(prefix.substr(0, end));
    std::size_t next = i + 1;
    RangeWriter racks;
    if (!groups[i].numbers.empty() && head.width > 0 && !tail.empty()) {
      racks.add(head.number, head.width);
      for (; next < groups.size(); ++next) {
        const Group& other = groups[next];
        // Only racks with exactly the same nodes: a product must give the same set again.
        if (other.numbers != groups[i].numbers || !other.prefix.ends_with(tail)) break;
        const Cut rack = cut(other.prefix.substr(0, other.prefix.size() - tail.size()));
        if (rack.prefix != head.prefix || rack.width == 0) break;
        racks.add(rack.number, rack.width);
      }
    }
    if (!text.empty()) text += ',';
    if (next > i + 1) {
      text += head.prefix;
      text += racks.take();
      text += tail;
    } else {
      text += prefix;
    }
    text += groups[i].numbers;
    i = next;
  }
  return text;
}

template <class NameAt>
std::string compress_sorted(std::size_t n, NameAt name_at) {
  std::vector<Group> groups;
  std::size_t i = 0;
  while (i < n) {
    Cut c = cut(name_at(i));
    Group group{c.prefix, ""};
    if (c.width == 0) {  // the bare prefix is a group of its own: "n" before "n[1-3]"
      ++i;
    } else {
      RangeWriter numbers;
      do {
        numbers.add(c.number, c.width);
        if (++i < n) c = cut(name_at(i));
      } while (i < n && c.prefix == group.prefix);
      group.numbers = numbers.take();
    }
    groups.push_back(std::move(group));
  }
  return write_groups(groups);
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text, std::size_t most) {
  std::vector<std::string> names;
  if (const std::string_view bare = trimmed(text); bare == "(null)" || bare == "None assigned") return names;
  // Twice over the text, which is short; the names are many, and so is what a wrong reserve would copy.
  Term term;
  std::size_t total = 0;
  for (HostlistReader reader(text, most);;) {
    auto more = reader.next(term);
    if (!more) return fail(std::move(more).error());
    if (!*more) break;
    total += term.names;
  }
  names.reserve(total);
  char name[kMaxHostNameLength + kMaxDigits + 1];
  // (It was read whole above, so no term of it is an error now.)
  for (HostlistReader reader(text, most); *reader.next(term);) append_names(term, 0, name, name, names);
  return names;
}

std::string compress_hostlist(std::span<const std::string> names) {
  if (strictly_sorted(names))
    return compress_sorted(names.size(), [&](std::size_t i) -> std::string_view { return names[i]; });
  const std::vector<std::uint32_t> places = sorted_places(names);
  return compress_sorted(places.size(), [&](std::size_t i) -> std::string_view { return names[places[i]]; });
}

bool host_less(std::string_view a, std::string_view b) { return cut_less(cut(a), cut(b)); }

std::vector<std::string> sorted_hosts(std::vector<std::string> names) {
  if (strictly_sorted(names)) return names;
  const std::vector<std::uint32_t> places = sorted_places(names);
  std::vector<std::string> sorted;
  sorted.reserve(places.size());
  for (const std::uint32_t place : places) sorted.push_back(std::move(names[place]));
  return sorted;
}

bool has_host(std::span<const std::string> set, std::string_view name) {
  const auto it = std::lower_bound(set.begin(), set.end(), name, host_less);
  return it != set.end() && *it == name;
}

std::vector<std::string> hosts_in_either(std::span<const std::string> a, std::span<const std::string> b) {
  std::vector<std::string> out;
  out.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out), host_less);
  return out;
}

std::vector<std::string> hosts_in_both(std::span<const std::string> a, std::span<const std::string> b) {
  std::vector<std::string> out;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out), host_less);
  return out;
}

std::vector<std::string> hosts_without(std::span<const std::string> a, std::span<const std::string> b) {
  std::vector<std::string> out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out), host_less);
  return out;
}

}  // namespace sickbay
