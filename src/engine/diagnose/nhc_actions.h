// SPDX-License-Identifier: Apache-2.0
// Lines of nhc.conf that act: they change the node instead of looking at it.
//
// NHC runs a line of the site as it stands, also one that reboots.  Here what changes a node is a repair, and
// repairs need a permission (doc/design/diagnose.md, "Permissions").  So a line that names a program which is
// there to act is imported as one.  Told by its words alone: what the functions and programs of a site do
// inside, nobody here can see.  In doubt a line acts, for a check that waits for a permission says so.
#pragma once
#include <string>
#include <string_view>

namespace sickbay::diagnose {

/// What acts in `line`, as "reboot" or "systemctl restart"; "" where nothing does.
std::string nhc_action(std::string_view line);

}  // namespace sickbay::diagnose
