#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check_testsh.sh ROOT BUILD: contrib/test.sh believes a suite only if its last
# line, its status and its time agree, and sums up correctly.
set -u
root=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/srd-testsh.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
status=0

if [ ! -x "$root/contrib/test.sh" ]; then
    echo "nothing to check was found: contrib/test.sh"
    exit 1
fi
mkdir -p "$work/test" "$work/build"
cp -r "$root/contrib" "$work"
# The suites below are all there are; one gets a small budget.
sed -i "s/^default_suites=.*/default_suites='flow sim efasim uct ucp mpi tidy'/" \
    "$work/contrib/test.sh"
sed -i 's/^    case $profile:$1 in$/&\n    *:uct) budget=1 ;;/' \
    "$work/contrib/ci/suites.sh"
cat >"$work/test/skips.txt" <<'END'
# suite, check, reason
s*  b*  no such thing  # why
END

# suite NAME: standard input becomes test/suite_NAME.sh.
suite() {
    { echo '#!/bin/sh' && cat; } >"$work/test/suite_$1.sh"
    chmod +x "$work/test/suite_$1.sh"
}

# expect NAME STATUS LAST-LINE SUITE...
expect() {
    local name=$1 want=$2 line=$3 output got
    shift 3
    output=$("$work/contrib/test.sh" --in "$work/build" "$@" 2>&1 </dev/null)
    got=$? said=$output
    if [ "$got" != "$want" ] || [ "${output##*$'\n'}" != "$line" ]; then
        echo "$name: status $got (expected $want), last line" \
            "'${output##*$'\n'}' (expected '$line')"
        status=1
    fi
}

suite flow <<<'echo "ok a 1"; echo "suite flow: 2 passed, 0 failed, 1 skipped"'
suite efasim <<<'echo "suite efasim: 3 passed, 1 failed, 0 skipped"; exit 1'
suite ucp <<<'echo "ok a 1"; echo "ok b 1"'
suite mpi <<<'echo "suite mpi: 4 passed, 0 failed, 0 skipped"; exit 3'
suite uct <<<'echo "ok a 1"; sleep 20'
suite tidy <<<'sleep 20 & echo "suite tidy: 1 passed, 0 failed, 0 skipped"'
suite sim <<<'echo "suite sim: 1 passed, 0 failed, 0 skipped"'
suite skips <<<'echo "skip bad: no such thing here"
    echo "suite skips: 1 passed, 0 failed, 1 skipped"'
suite skips-two <<<'echo "skip bad: other"; echo "skip good: no such thing"
    echo "suite skips-two: 1 passed, 0 failed, 2 skipped"'
suite quick <<<'[ "$2" = quick ] && echo "suite quick: 1 passed, 0 failed, 0 skipped"'
suite other <<<'echo "suite flow: 1 passed, 0 failed, 0 skipped"'
suite hang <<<'echo "suite hang: 9 passed, 0 failed, 0 skipped"; echo and more'

expect good 0 '2 passed, 0 failed, 1 skipped' flow
expect twice 0 '2 passed, 0 failed, 1 skipped' flow flow
expect failing 1 '3 passed, 1 failed, 0 skipped' efasim
expect no_last_line 1 '2 passed, 1 failed, 0 skipped' ucp
expect bad_status 1 '4 passed, 1 failed, 0 skipped' mpi
expect over_budget 1 '1 passed, 1 failed, 0 skipped' uct
grep -q 'suite uct was ended at its budget of 1 s' <<<"$said" || {
    echo "over_budget: it was not ended at its budget: $said"
    status=1
}
expect left_process 0 '1 passed, 0 failed, 0 skipped' tidy
grep -q 'suite tidy left processes behind; they were ended' <<<"$said" || {
    echo "left_process: it was not ended: $said"
    status=1
}
expect others_line 1 '0 passed, 1 failed, 0 skipped' other
expect not_last 1 '0 passed, 1 failed, 0 skipped' hang
expect sum 1 '5 passed, 1 failed, 1 skipped' flow efasim
expect all 1 '14 passed, 4 failed, 1 skipped'
expect skip_known 0 '1 passed, 0 failed, 1 skipped' --ci skips
expect skip_unknown 1 '1 passed, 2 failed, 2 skipped' --ci skips-two
expect skip_any 0 '1 passed, 0 failed, 2 skipped' skips-two
expect profile 0 '1 passed, 0 failed, 0 skipped' --quick quick
expect no_profile 1 '0 passed, 1 failed, 0 skipped' quick
names='efasim flow hang mpi other quick sim skips-two skips tidy ucp uct'
expect unknown_suite 1 "test.sh: unknown suite nope; there are: $names" nope
expect unknown_option 1 'test.sh: unknown option --nope' --nope

# A process whose name has two lines, the second of which says that the parent of this
# process is this process.
name=$work/$'\n'"$$ (y"
ln -s "$BASH" "$name"
"$name" -c 'read -r -t 60 _ <> <(:)' &
# shellcheck disable=SC2016 # the shell inside
timeout 20 bash -c '. "$1" && limit_used $PPID' bash "$root/contrib/ci/limit.sh" >/dev/null || {
    echo "name: limit_used has not ended"
    status=1
}
kill $!

# Others listen on every port.
# shellcheck disable=SC2016 # the shell inside
timeout 60 bash -c '. "$1" && port_listens() { :; } && random_port' bash \
    "$root/contrib/ci/ports.sh" >/dev/null 2>&1
[ $? = 1 ] || { echo "ports: random_port has not failed" && status=1; }

# No other user of this machine gets to what anyone.sh builds, and executes as root.
mkdir "$work/bin"
cat >"$work/bin/git" <<'END'
#!/bin/sh
mkdir -p "$4/contrib/ci"
cat >"$4/contrib/ci/chroot.sh" <<'CHROOT'
#!/bin/sh
stat -c %a "${0%/tree/*}"
echo "$*" | sed -n 's/.*useradd .*-u \([0-9]*\) .*/\1/p'
CHROOT
chmod +x "$4/contrib/ci/chroot.sh"
END
chmod +x "$work/bin/git"
{ read -r mode && read -r user; } < <(PATH=$work/bin:$PATH TMPDIR=$work \
    "$work/contrib/ci/anyone.sh" user 13)
if [ "$mode" != 700 ] || [ "${user:-0}" -le 1879048191 ]; then
    echo "anyone: mode '$mode' (expected 700), user '$user' (expected one of nobody)"
    status=1
fi
exit $status
