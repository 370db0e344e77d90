// SPDX-License-Identifier: Apache-2.0
// Job ids and job states: what one word of sacct says in several fields of a row.
#include <array>
#include <charconv>

#include "base/text.h"
#include "model/slurm_state.h"
#include "workload/job/values.h"
#include "workload/read/reader.h"

namespace sickbay::workload {
namespace {

// ---- states -----------------------------------------------------------------------------------------------

// A word of a state: a base, or a flag with the base that it stands for alone, where it does.
struct Word {
  const JobBaseRow* base = nullptr;
  const JobFlagRow* flag = nullptr;
};

// "BIT27": a flag of a newer Slurm, as model/slurm_state.cc prints it.
bool is_bit(std::string_view word) {
  if (word.size() < 4 || word.size() > 5 || !equal_ignoring_case(word.substr(0, 3), "BIT")) return false;
  unsigned number = 0;
  const char* end = word.data() + word.size();
  if (auto [p, ec] = std::from_chars(word.data() + 3, end, number); p != end || ec != std::errc())
    return false;
  return number <= 31 && (1U << number) > static_cast<std::uint32_t>(job_flags().back().flag);
}

bool read_word(std::string_view text, Word& word) {
  for (const JobBaseRow& row : job_bases())
    if (equal_ignoring_case(text, row.name) || equal_ignoring_case(text, row.short_name)) {
      word.base = &row;
      return true;
    }
  for (const JobFlagRow& row : job_flags())
    if (equal_ignoring_case(text, row.name) ||
        (!row.short_name.empty() && equal_ignoring_case(text, row.short_name))) {
      word.flag = &row;
      return true;
    }
  if (is_bit(text)) return true;
  // sacct cuts a word that is wider than its column and puts a '+' there; it must fit one word only.
  if (text.size() < 4 || text.back() != '+') return false;
  const std::string_view head = text.substr(0, text.size() - 1);
  int fits = 0;
  for (const JobBaseRow& row : job_bases())
    if (equal_ignoring_case(row.name.substr(0, head.size()), head)) word.base = &row, ++fits;
  for (const JobFlagRow& row : job_flags())
    if (equal_ignoring_case(row.name.substr(0, head.size()), head)) word.flag = &row, ++fits;
  return fits == 1;
}

// "COMPLETED,COMPLETING": the base, or nullptr.  The rules are those of parse_job_state.
const JobBaseRow* read_state(std::string_view text) {
  const JobBaseRow *base = nullptr, *alone = nullptr;
  while (true) {
    const std::size_t comma = text.find(',');
    Word word;
    if (!read_word(trimmed(text.substr(0, comma)), word)) return nullptr;
    if (word.base != nullptr) {
      if (base != nullptr) return nullptr;  // two bases
      base = word.base;
    } else if (word.flag != nullptr && word.flag->alone && alone == nullptr) {
      alone = &job_base_row(*word.flag->alone);
    }
    if (comma == std::string_view::npos) return base != nullptr ? base : alone;
    text.remove_prefix(comma + 1);
  }
}

// ---- job ids ----------------------------------------------------------------------------------------------

bool take_id(std::string_view& text, std::int64_t& id) {
  std::size_t n = 0;
  std::int64_t number = 0;
  while (n < text.size() && is_digit(text[n]) && n < 18) number = number * 10 + (text[n++] - '0');
  if (n == 0 || (n < text.size() && is_digit(text[n]))) return false;
  text.remove_prefix(n);
  id = number;
  return true;
}

// "9-11,13%2": the number of tasks; -1 where the text was cut ("1,3,5,...") and nobody knows; -2: no list.
std::int64_t count_tasks(std::string_view text) {
  if (const std::size_t percent = text.find('%'); percent != std::string_view::npos)
    text = text.substr(0, percent);  // how many may run at once
  std::int64_t count = 0;
  while (true) {
    if (text.substr(0, 3) == "...") return -1;
    std::int64_t first = 0, last = 0, step = 1;
    if (!take_id(text, first)) return -2;
    last = first;
    if (!text.empty() && text.front() == '-') {
      text.remove_prefix(1);
      if (!take_id(text, last) || last < first) return -2;
      if (!text.empty() && text.front() == ':') {
        text.remove_prefix(1);
        if (!take_id(text, step) || step == 0) return -2;
      }
    }
    count += (last - first) / step + 1;
    if (count > 1'000'000'000) return -2;
    if (text.empty()) return count;
    if (text.front() != ',') return -2;
    text.remove_prefix(1);
  }
}

// Slurm's own numbers for steps that have a name, in an sacct that did not know the name yet
// (slurm.h, SLURM_EXTERN_CONT and its neighbours; before 20.11 the upper two).
struct StepNumber {
  std::string_view number, name;
};
constexpr std::array<StepNumber, 5> kStepNumbers = {{{"4294967295", "extern"},
                                                     {"4294967294", "batch"},
                                                     {"4294967292", "extern"},
                                                     {"4294967291", "batch"},
                                                     {"4294967290", "interactive"}}};

// A name of a step, also cut ("ext+"): whole and in one spelling.
std::string_view step_name(std::string_view step) {
  for (const std::string_view name : {"batch", "extern", "interactive"}) {
    if (step == name) return name;
    if (step.size() >= 2 && step.back() == '+' && name.starts_with(step.substr(0, step.size() - 1)))
      return name;
  }
  if (step.size() == 10 && step.starts_with("42949672"))
    for (const StepNumber& row : kStepNumbers)
      if (step == row.number) return row.name;
  return step;
}

}  // namespace

void parse_state(std::string_view text, Row& row) {
  if (text.empty()) return;
  // The usual words, exactly; the literals of the table outlive every row.
  for (const JobBaseRow& base : job_bases())
    if (text == base.name) {
      row.set(Text::state, base.name);
      return;
    }
  constexpr std::string_view kBy = "CANCELLED by ";
  if (text.starts_with(kBy)) {
    row.set(Text::state, job_base_row(JobBase::cancelled).name);
    std::int64_t uid = 0;
    if (parse_integer(trimmed(text.substr(kBy.size())), uid) && uid >= 0 && uid <= 0xffffffff)
      row.set(Num::cancelled_by, uid);
    else
      row.set(Text::state_text, text);
    return;
  }
  if (const auto uid = cancelled_by(text)) {  // in other letters
    row.set(Text::state, job_base_row(JobBase::cancelled).name);
    row.set(Num::cancelled_by, *uid);
    return;
  }
  if (const JobBaseRow* base = read_state(text)) {
    row.set(Text::state, base->name);
    if (!equal_ignoring_case(text, base->name)) row.set(Text::state_text, text);
    return;
  }
  row.set(Text::state, text);
  row.add_bits(Num::flaws, bit(Flaw::unknown_state));
}

bool parse_job_id(std::string_view text, Row& row) {
  const std::string_view job = job_part(text);
  std::string_view rest = job;
  std::int64_t id = 0;
  if (!take_id(rest, id)) return false;
  // What an id may go on with, before anything is set.
  std::int64_t part = 0, tasks = 0;
  enum class Form { plain, task, list, het } form = Form::plain;
  if (!rest.empty()) {
    const char mark = rest.front();
    rest.remove_prefix(1);
    if (mark == '+' && take_id(rest, part) && rest.empty()) {
      form = Form::het;
    } else if (mark == '_' && !rest.empty() && rest.front() == '[') {
      form = Form::list;
      const bool whole = rest.back() == ']' && rest.size() > 1;
      tasks = whole ? count_tasks(rest.substr(1, rest.size() - 2)) : rest.back() == '+' ? -1 : -2;
      if (tasks == -2) return false;
    } else if (mark == '_' && take_id(rest, part) && rest.empty()) {
      form = Form::task;
    } else {
      return false;
    }
  }
  std::string_view step;
  if (job.size() < text.size()) {
    step = text.substr(job.size() + 1);
    if (step.empty()) return false;
    step = step_name(step);
    row.kind = step == "batch" ? RowKind::batch : step == "extern" ? RowKind::extern_ : RowKind::step;
    row.set(Text::step, step);
  } else {
    row.kind = RowKind::job;
  }
  row.set(Text::job_id, job);
  switch (form) {
    case Form::plain:
      row.set(Num::job_id_raw, id);
      break;
    case Form::task:
      row.set(Num::array_job_id, id);
      if (part < 0xfffffffe) row.set(Num::array_task_id, part);  // NO_VAL: the tasks that wait
      break;
    case Form::list:
      row.set(Num::array_job_id, id);
      if (tasks >= 0) row.set(Num::array_tasks, tasks);
      break;
    case Form::het:
      row.set(Num::het_job_id, id);
      row.set(Num::het_offset, part);
      break;
  }
  return true;
}

std::uint64_t hash_job(std::string_view cluster, std::string_view job) {
  // Eight bytes at a time, each mixed by a multiplication and a fold: ids are short, and differ in their
  // last digits, which must reach every bit.
  std::uint64_t hash = 0x9e3779b97f4a7c15U;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdU;
    hash ^= hash >> 32;
  };
  const auto take = [&](std::string_view text) {
    mix(text.size());
    while (!text.empty()) {
      std::uint64_t word = 0;
      const std::size_t n = text.size() < 8 ? text.size() : 8;
      for (std::size_t i = 0; i < n; ++i)
        word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
      mix(word);
      text.remove_prefix(n);
    }
  };
  take(cluster);
  take(job);
  hash *= 0xc4ceb9fe1a85ec53U;
  return hash ^ (hash >> 29);
}

}  // namespace sickbay::workload
