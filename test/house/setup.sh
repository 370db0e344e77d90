#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tools/setup on a machine of stand-ins: what it asks apt for, and what it leaves behind.
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
chmod +x "$work"/bin/*
setup=$SICKBAY_SOURCE/tools/setup
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

echo 100 > "$work/code"
if "$setup" > "$work/out" 2> "$work/err"; then fail "a failure of apt is not told"; fi
grep -q 'remedy:.*network' "$work/err" || fail "no remedy: $(cat "$work/err")"
[ ! -e "$SB_SETUP_POLICY" ] || fail "policy-rc.d is left behind after a failure"

echo 0 > "$work/code"
echo '#!/bin/sh' > "$SB_SETUP_POLICY"
"$setup" > "$work/out"
[ "$(cat "$SB_SETUP_POLICY")" = '#!/bin/sh' ] || fail "a policy-rc.d of the machine's own was changed"
