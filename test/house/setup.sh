#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tools/setup on a machine of stand-ins: what it asks apt and npm for, and what it leaves behind.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
export SB_SETUP_POLICY=$work/policy-rc.d PATH=$work/bin:$PATH WORK=$work
fail() { echo "setup.sh: $*" >&2; exit 1; }
# All but jq is installed; jq's name is in the file `missing`.
cat > "$work/bin/dpkg-query" <<'E2'
#!/bin/bash
shift 2
for p in "$@"; do grep -qx "$p" "$WORK/missing" || echo "installed $p"; done
E2
cat > "$work/bin/apt-get" <<'E2'
#!/bin/bash
echo "$*" >> "$WORK/asked"
[ ! -x "$SB_SETUP_POLICY" ] || sh "$SB_SETUP_POLICY" || echo "policy $?" >> "$WORK/asked"
exit "$(cat "$WORK/code")"
E2
printf '#!/bin/sh\necho 0\n' > "$work/bin/id"
# This Debian has all but the compiler's runtime of version 14.
printf '#!/bin/sh\n[ "$2" != libclang-rt-14-dev ]\n' > "$work/bin/apt-cache"
chmod +x "$work"/bin/*
# A tree of its own, whose npm list is known; npm brings what lies in tarball.tgz.
mkdir -p "$work/tree/tools" "$work/made/package/dist"
cp "$SICKBAY_SOURCE/tools/setup" "$SICKBAY_SOURCE/tools/packages.txt" "$work/tree/tools/"
setup=$work/tree/tools/setup
echo 'chart()' > "$work/made/package/dist/chart.js"
echo 'exit 1' > "$work/made/package/install.sh"
tar -czf "$work/tarball.tgz" -C "$work/made" package
cat > "$work/bin/npm" <<'E2'
#!/bin/bash
echo "$*" >> "$WORK/asked_npm"
while [ $# -gt 0 ]; do [ "$1" = --pack-destination ] && to=$2; shift; done
cp "$WORK/tarball.tgz" "$to/chart-1.2.3.tgz"
exit "$(cat "$WORK/code_npm")"
E2
chmod +x "$work/bin/npm"
echo 0 > "$work/code_npm"
list_npm() { printf '# comment\nany chart @some/chart 1.2.3 %s dist/chart.js\nno_machine none none 1 0 none\n' "$1" > "$work/tree/tools/npm-packages.txt"; }
: > "$work/tree/tools/npm-packages.txt"
echo 0 > "$work/code"

: > "$work/missing"
[ -z "$("$setup" --quiet)" ] || fail "--quiet is not quiet"
"$setup" | grep -q '^setup: nothing to do' || fail "nothing to do, not said"
[ ! -e "$work/asked" ] || fail "apt was asked for nothing"

echo jq > "$work/missing"
"$setup" > "$work/out"
grep -q ' update$' "$work/asked" || fail "no update"
grep -q 'install --no-install-recommends jq$' "$work/asked" || fail "not jq alone: $(cat "$work/asked")"
grep -q 'policy 101' "$work/asked" || fail "services were free to start"
[ ! -e "$SB_SETUP_POLICY" ] || fail "policy-rc.d is left behind"

# A|B: one that is installed is enough; else the first that this Debian has.
echo libclang-rt-14-dev > "$work/missing"
[ -z "$("$setup" --quiet)" ] || fail "of A|B one is not enough"
echo libclang-rt-dev >> "$work/missing"
"$setup" > "$work/out"
grep -q 'install --no-install-recommends libclang-rt-dev$' "$work/asked" || fail "of A|B not the one there is: $(cat "$work/asked")"
# --lab wants nothing of the desk.
[ -z "$("$setup" --quiet --lab)" ] || fail "--lab asks for packages of the desk"
echo jq > "$work/missing"

echo 100 > "$work/code"
if "$setup" > "$work/out" 2> "$work/err"; then fail "a failure of apt is not told"; fi
grep -q 'remedy:.*network' "$work/err" || fail "no remedy: $(cat "$work/err")"
[ ! -e "$SB_SETUP_POLICY" ] || fail "policy-rc.d is left behind after a failure"

echo 0 > "$work/code"
echo '#!/bin/sh' > "$SB_SETUP_POLICY"
"$setup" > "$work/out"
[ "$(cat "$SB_SETUP_POLICY")" = '#!/bin/sh' ] || fail "a policy-rc.d of the machine's own was changed"

# npm: asked once for what is pinned, runs no scripts, and only the files of the list are taken.
: > "$work/missing"
rm -f "$work/asked"
list_npm "$(sha512sum < "$work/tarball.tgz" | cut -d' ' -f1)"
"$setup" --quiet > "$work/out"
[ "$(wc -l < "$work/asked_npm")" = 1 ] || fail "npm was not asked once: $(cat "$work/asked_npm")"
grep -q -- '--ignore-scripts.* @some/chart@1.2.3$' "$work/asked_npm" || fail "npm was asked otherwise: $(cat "$work/asked_npm")"
[ "$(cat "$work/tree/third_party/chart/chart.js")" = 'chart()' ] || fail "chart.js is not there"
[ "$(find "$work/tree/third_party" -type f | wc -l)" = 2 ] || fail "more than chart.js and its stamp: $(find "$work/tree/third_party")"
[ -z "$("$setup" --quiet)" ] || fail "not quiet once npm's files are there"
[ "$(wc -l < "$work/asked_npm")" = 1 ] || fail "npm was asked for what is there"
[ ! -e "$work/asked" ] || fail "apt was asked for nothing"

# Another tarball than the pinned one is an error and leaves nothing; what is there stays.
list_npm "$(printf '%0128d' 0)"
if "$setup" > "$work/out" 2> "$work/err"; then fail "a wrong checksum is not told"; fi
grep -q 'is not what was pinned' "$work/err" || fail "not told as a wrong checksum: $(cat "$work/err")"
[ "$(find "$work/tree/third_party" -type f | wc -l)" = 2 ] || fail "a wrong tarball left something behind"
echo 1 > "$work/code_npm"
if "$setup" > "$work/out" 2> "$work/err"; then fail "a failure of npm is not told"; fi
grep -q 'remedy:.*network' "$work/err" || fail "no remedy: $(cat "$work/err")"
