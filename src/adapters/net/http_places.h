// SPDX-License-Identifier: Apache-2.0
// HttpPlaces: who may hold a connection to sickbayd, and who gives way to whom.
//
// A connection costs its holder nothing, so it must not keep others out.  On the Unix socket the kernel says
// whose it is at once; over TCP it is a stranger's until a credential has held.  What must hold:
//   - a stranger gives way to whoever comes from his address, and to whoever comes at all where no place is
//     left; the oldest goes first, but none whose credential is being looked at;
//   - one uid has so many places, over TCP so many at each address;
//   - a sixteenth of the places, of those of an address, too, is root's alone;
//   - who gets none is told so; so many wait for that, and of whoever has the most of them the oldest goes
//     first: who comes again and again keeps nobody else from hearing it.
// It only counts and names: who holds a connection cuts it.  On the loop's thread.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace sickbay {

class HttpPlaces {
 public:
  using Id = std::uint64_t;  ///< of a connection: rises with each
  struct Limits {
    std::size_t all = 256;         ///< places
    std::size_t of_peer = 64;      ///< of one uid; over TCP at one address
    std::size_t of_address = 256;  ///< over TCP
    std::size_t refused = 64;      ///< who are being told that there is none
  };
  explicit HttpPlaces(Limits limits) : limits_(limits) {}

  struct Admission {
    bool has_place = false;
    std::optional<Id> gives_way;  ///< to be cut first; it has left() already
  };
  /// Somebody comes whose uid is known (the Unix socket).
  Admission come(Id id, std::uint32_t uid);
  /// A stranger comes from `address`.  `may_go` says of a stranger that nothing of his is under way.
  Admission come(Id id, const std::string& address, const std::function<bool(Id)>& may_go);
  /// A stranger, or one who was somebody else, is `uid`.  False: that one has no place left; he stays a
  /// stranger.
  bool is(Id id, std::uint32_t uid);
  /// The connection is over.
  void left(Id id);
  void clear() { *this = HttpPlaces(limits_); }

 private:
  struct Holder {
    std::string address;               ///< "" on the Unix socket
    std::optional<std::uint32_t> uid;  ///< none: a stranger
    std::string refused_peer;          ///< whose refused ones are counted together; "": it has a place
  };
  struct Address {
    std::size_t places = 0, of_others = 0;  ///< of_others: of uids other than root
    std::set<Id> strangers;
  };
  static std::size_t without_roots(std::size_t places) { return places - places / 16; }
  Admission refuse(Id id, std::string address, std::string peer);
  void settle(Id id, Holder& holder, std::uint32_t uid);
  void unsettle(Id id, Holder& holder);
  bool fits(const std::string& address, std::uint32_t uid) const;

  Limits limits_;
  std::map<Id, Holder> holders_;
  std::set<Id> strangers_;
  std::map<std::string, std::set<Id>> refused_by_;  ///< by peer
  std::map<std::string, Address> addresses_;
  std::map<std::pair<std::string, std::uint32_t>, std::size_t> of_uid_;  ///< by address and uid
  std::size_t places_ = 0, of_others_ = 0, refused_ = 0;
};

}  // namespace sickbay
