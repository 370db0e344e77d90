// SPDX-License-Identifier: Apache-2.0
// How ten thousand suspects, and the fifty million links between them, stay cheap: suspects that were in the
// same trials are alike.  A suspect's trials are a mask with a bit for each different set of nodes that was
// tried, and the weight of a node, or of a link, hangs on its mask alone.  How many links have which mask is
// counted without looking at links: N(m) nodes were in all sets of m at least, so C(N(m), 2) links were, and
// taking away those of larger masks (Moebius' inversion over subsets) leaves those of exactly m.
#include "engine/further/posterior.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/robust.h"

namespace sickbay::further {
namespace {

using Mask = std::uint32_t;

struct Counts {
  int failed = 0, ok = 0;
};

// The trials, sorted by the set of suspects that they included.
struct Sets {
  std::vector<Mask> masks;      // by suspect: the sets that it was in
  std::vector<Counts> of_mask;  // by mask: trials on the sets in it
  Counts all;

  Mask count() const { return static_cast<Mask>(of_mask.size()); }
};

Sets sets_of(const Record& record) {
  Sets sets;
  sets.masks.assign(static_cast<std::size_t>(std::max(0, record.suspects)), 0);
  std::map<std::vector<int>, std::size_t> bits;
  std::vector<Counts> of_bit;
  for (const Trial& trial : record.trials) {
    Counts* counts = nullptr;
    if (!trial.nodes.empty()) {
      const auto known = bits.find(trial.nodes);
      // A new set beyond the bound is left out whole, its success or failure too: one that counted in `all`
      // but in no mask would look like a run without any suspect.
      if (known == bits.end() && bits.size() == kMostSets) continue;
      const std::size_t bit = known == bits.end() ? bits.size() : known->second;
      if (known == bits.end()) {
        bits.emplace(trial.nodes, bit);
        of_bit.emplace_back();
        for (const int node : trial.nodes)
          if (node >= 0 && node < record.suspects)
            sets.masks[static_cast<std::size_t>(node)] |= Mask{1} << bit;
      }
      counts = &of_bit[bit];
    }
    (trial.failed ? sets.all.failed : sets.all.ok) += 1;
    if (counts != nullptr) (trial.failed ? counts->failed : counts->ok) += 1;
  }
  // A mask without its lowest bit, m & (m - 1), is counted already.
  sets.of_mask.resize(std::size_t{1} << of_bit.size());
  for (Mask m = 1; m < sets.count(); ++m) {
    const Counts& rest = sets.of_mask[m & (m - 1)];
    const Counts& lowest = of_bit[static_cast<std::size_t>(std::countr_zero(m))];
    sets.of_mask[m] = {rest.failed + lowest.failed, rest.ok + lowest.ok};
  }
  return sets;
}

// By mask: suspects that were in all of its sets at least.
std::vector<double> suspects_within(const Sets& sets) {
  std::vector<double> within(sets.count(), 0);
  for (const Mask m : sets.masks) ++within[m];
  // The sum over all supersets, one bit after the other: sets * 2^sets steps and not 4^sets.
  for (Mask bit = 1; bit < sets.count(); bit <<= 1)
    for (Mask m = 0; m < sets.count(); ++m)
      if (!(m & bit)) within[m] += within[m | bit];
  return within;
}

// By mask: links both of whose ends were in exactly these sets together.
std::vector<double> links_of(const Sets& sets) {
  std::vector<double> links = suspects_within(sets);
  for (double& n : links) n = n * (n - 1) / 2;
  // The same steps backwards: what stays at m is of exactly m.
  for (Mask bit = 1; bit < sets.count(); bit <<= 1)
    for (Mask m = 0; m < sets.count(); ++m)
      if (!(m & bit)) links[m] -= links[m | bit];
  return links;
}

double weight_of(const std::set<Evidence>& evidence, const Prior& prior) {
  double weight = 1;
  for (const Evidence e : evidence) weight *= prior.weights[static_cast<std::size_t>(e)];
  return weight;
}

// Links that are alike.
struct Class {
  Mask mask = 0;
  double log_weight = 0;  // of each
  double count = 0;
};

// Suspects that were in the same trials, by their mask.
using Alike = std::map<Mask, std::vector<int>>;

Alike alike_of(const Sets& sets) {
  Alike alike;
  for (std::size_t i = 0; i < sets.masks.size(); ++i) alike[sets.masks[i]].push_back(static_cast<int>(i));
  return alike;
}

// Adds the links of exactly mask `m`, which are few, but for those that are told apart already.
void list_links(const Alike& alike, Mask m, const std::map<Pair, std::set<Evidence>>& told, double share,
                std::vector<Link>& list) {
  for (auto a = alike.begin(); a != alike.end(); ++a)
    for (auto b = a; b != alike.end(); ++b) {
      if ((a->first & b->first) != m) continue;
      for (const int i : a->second)
        for (const int j : b->second)
          if (const Pair ends = std::minmax(i, j); (a != b || i < j) && !told.contains(ends))
            list.push_back({ends, share});
    }
}

bool is_link(const Record& record, const Pair& ends) {
  return ends.first >= 0 && ends.first < ends.second && ends.second < record.suspects;
}

}  // namespace

// Bayes' rule in logarithms: prior times likelihood of the program, of each suspect and of each class of
// links, then normalised.  The formulas are those of doc/design/identify.md, "Further identification".
Posterior posterior(const Record& record, const Prior& prior) {
  const Sets sets = sets_of(record);
  const auto n = sets.masks.size();
  const double suspects = static_cast<double>(n), pairs = suspects * (suspects - 1) / 2;
  // One suspect has no link: then all of the system's share is its own.
  const double of_links = n < 2 ? 0 : prior.system * prior.links;
  const double of_nodes = n == 0 ? 0 : prior.system - of_links;

  // By failures and successes with a hypothesis, of which there are few; and by mask, for as many suspects.
  const auto columns = static_cast<std::size_t>(sets.all.ok) + 1;
  std::vector<double> by_counts((static_cast<std::size_t>(sets.all.failed) + 1) * columns);
  for (int failed = 0; failed <= sets.all.failed; ++failed)
    for (int ok = 0; ok <= sets.all.ok; ++ok)
      by_counts[static_cast<std::size_t>(failed) * columns + static_cast<std::size_t>(ok)] =
          // The runs with the guilty one by Beta(1, 1), the others by `stray` (posterior.h). ln_beta is
          // dear, and few counts occur.
          ln_beta(1 + failed, 1 + ok) + (sets.all.failed - failed) * std::log(prior.stray) +
          (sets.all.ok - ok) * std::log1p(-prior.stray);
  std::vector<double> log_guilty(sets.count());
  for (Mask m = 0; m < sets.count(); ++m) {
    const Counts& with = sets.of_mask[m];
    log_guilty[m] =
        by_counts[static_cast<std::size_t>(with.failed) * columns + static_cast<std::size_t>(with.ok)];
  }

  // Under c each run fails with the same chance, wherever it is: all trials count alike.
  const double program = std::log(1 - of_nodes - of_links) + ln_beta(1 + sets.all.failed, 1 + sets.all.ok);
  std::vector<double> nodes(n);
  for (std::size_t i = 0; i < n; ++i) nodes[i] = std::log(of_nodes / suspects) + log_guilty[sets.masks[i]];
  for (const auto& [node, evidence] : record.of_node)
    if (node >= 0 && node < record.suspects)
      nodes[static_cast<std::size_t>(node)] += std::log(weight_of(evidence, prior));

  // Links with evidence of their own are told apart; the rest go by mask.
  std::vector<Class> links;
  std::vector<std::pair<Pair, double>> told;
  if (of_links > 0) {
    const double each = std::log(of_links / pairs);
    std::vector<double> counts = links_of(sets);
    for (const auto& [ends, evidence] : record.of_link) {
      if (!is_link(record, ends)) continue;
      const Mask m = sets.masks[static_cast<std::size_t>(ends.first)] &
                     sets.masks[static_cast<std::size_t>(ends.second)];
      // Taken out of its class, or it would have its share twice.
      counts[m] -= 1;
      told.emplace_back(ends, each + log_guilty[m] + std::log(weight_of(evidence, prior)));
    }
    for (Mask m = 0; m < sets.count(); ++m)
      // (The inversion adds and subtracts floating-point numbers, of which the counts are whole ones.)
      if (counts[m] > 0.5) links.push_back({m, each + log_guilty[m], std::round(counts[m])});
  }

  // Sums of exponentials are taken relative to the largest: log weights of -700 and less would vanish.
  double most = program;
  for (const double w : nodes) most = std::max(most, w);
  for (const Class& c : links) most = std::max(most, c.log_weight);
  for (const auto& [ends, w] : told) most = std::max(most, w);
  double sum = std::exp(program - most);
  for (const double w : nodes) sum += std::exp(w - most);
  for (const Class& c : links) sum += c.count * std::exp(c.log_weight - most);
  for (const auto& [ends, w] : told) sum += std::exp(w - most);

  Posterior now;
  now.log_evidence = most + std::log(sum);
  const auto share = [&](double log_weight) { return std::exp(log_weight - now.log_evidence); };
  const auto open = [](double p) { return p > 0 ? -p * std::log(p) : 0; };
  now.program = share(program);
  now.entropy = open(now.program);
  now.nodes.reserve(n);
  for (const double w : nodes) {
    now.nodes.push_back(share(w));
    now.entropy += open(now.nodes.back());
  }
  for (const Class& c : links) {
    now.links += c.count * share(c.log_weight);
    now.entropy += c.count * open(share(c.log_weight));
  }
  for (const auto& [ends, w] : told) {
    now.links += share(w);
    now.entropy += open(share(w));
    now.top_links.push_back({ends, share(w)});
  }
  // Masks by their share of one link; one that stands for more links than are listed tells none apart, nor
  // does what comes behind it.
  std::sort(links.begin(), links.end(), [](const Class& a, const Class& b) {
    return a.log_weight != b.log_weight ? a.log_weight > b.log_weight : a.mask < b.mask;
  });
  const Alike alike = alike_of(sets);
  const std::size_t room = now.top_links.size() + kMostLinks;
  for (const Class& c : links) {
    if (c.count > static_cast<double>(kMostLinks) || now.top_links.size() >= room) break;
    list_links(alike, c.mask, record.of_link, share(c.log_weight), now.top_links);
  }
  std::sort(now.top_links.begin(), now.top_links.end(), [](const Link& a, const Link& b) {
    return a.share != b.share ? a.share > b.share : a.ends < b.ends;
  });
  if (now.top_links.size() > kMostLinks) now.top_links.resize(kMostLinks);
  return now;
}

int failures_with(const Record& record, std::initializer_list<int> nodes) {
  int failures = 0;
  for (const Trial& trial : record.trials)
    failures += trial.failed && std::ranges::all_of(nodes, [&](int node) {
                  return std::ranges::binary_search(trial.nodes, node);
                });
  return failures;
}

namespace {

bool has_telling(const std::set<Evidence>* evidence, const Prior& prior, const Certainty& certainty) {
  return evidence != nullptr && std::ranges::any_of(*evidence, [&](Evidence e) {
           return prior.weights[static_cast<std::size_t>(e)] >= certainty.telling;
         });
}

template <class Key>
const std::set<Evidence>* evidence_on(const std::map<Key, std::set<Evidence>>& all, const Key& key) {
  const auto it = all.find(key);
  return it == all.end() ? nullptr : &it->second;
}

bool may_name(double share, int failures, bool telling, const Certainty& certainty) {
  return telling ? share >= certainty.sure : share >= certainty.bare && failures >= certainty.failures;
}

}  // namespace

Finding finding(const Record& record, const Posterior& now, const Prior& prior, const Certainty& certainty) {
  // The program first: it needs no name of a node, so `sure` is enough, but a failure that came once is not
  // yet "now and then".
  if (now.program >= certainty.sure)
    return failures_with(record, {}) >= certainty.failures ? Finding{Answer::program, -1, -1, now.program}
                                                           : Finding{};
  if (const auto best = std::ranges::max_element(now.nodes); best != now.nodes.end()) {
    const int node = static_cast<int>(best - now.nodes.begin());
    if (may_name(*best, failures_with(record, {node}),
                 has_telling(evidence_on(record.of_node, node), prior, certainty), certainty))
      return {Answer::node, node, -1, *best};
  }
  if (!now.top_links.empty()) {
    const auto& [ends, share] = now.top_links.front();
    if (may_name(share, failures_with(record, {ends.first, ends.second}),
                 has_telling(evidence_on(record.of_link, ends), prior, certainty), certainty))
      return {Answer::link, ends.first, ends.second, share};
  }
  return {};
}

Finding last_word(const Record& record, const Posterior& now, const Prior& prior,
                  const Certainty& certainty) {
  const Finding found = finding(record, now, prior, certainty);
  // With no more run to come, that it is the system at all may be said, at the price of a bare name.
  if (found.answer != Answer::open || !may_name(now.system(), failures_with(record, {}), false, certainty))
    return found;
  return {Answer::system, -1, -1, now.system()};
}

}  // namespace sickbay::further
