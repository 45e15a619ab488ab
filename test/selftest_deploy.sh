# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Checks of contrib/deploy, as far as it runs here. Sourced by suite_selftest.sh.

# for_deploy RELEASE: or skip.
for_deploy() {
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers want their runtime first"
    "$TEST_DIR/../contrib/ci/chroot.sh" --made "$1" ||
        skip_here "Debian $1 is not made here: contrib/ci/chroot.sh $1 makes it"
}

# contrib/deploy for Slurm: its script, submitted to Slurm itself, whose two nodes are
# emulated hosts.
deploy_slurm() {
    need test/mpi_check
    for_deploy 13
    local status=0 bytes
    "$TEST_DIR/../contrib/ci/chroot.sh" --bind "$BUILD" 13 -- bash \
        "$TEST_DIR/slurm_inside.sh" "$BUILD" "$BUILD/test/mpi_check" all 4096 ||
        status=$?
    [ "$status" != 77 ] || skip_here "packages cannot be had here"
    [ "$status" = 0 ] || fail "status $status"
    [ "$(grep -c ' 0 failed, ' "$CHECK_LOG")" = 2 ] || fail "no two --checks"
    grep -q '^ok 4 ranks' "$CHECK_LOG" || fail "no ok line"
    bytes=$(sed -n 's/^pair src=0 dst=1 bytes=//p' "$EFASIM_STAT" |
        awk '{ sum += $1 } END { print sum + 0 }')
    at_least "bytes from host 0 to 1" "$bytes" 16384
    note "$(grep '^Slurm' "$CHECK_LOG"): $bytes bytes from host 0 to 1"
}

# The Dockerfile's steps, in a system of that release; its command, and the
# self-test, on an emulated device and without one.
deploy_container() {
    local file=$TEST_DIR/../contrib/deploy/Dockerfile release steps status=0
    local script=$CHECK_LOG.steps
    release=$(sed -n 's/^FROM debian://p' "$file")
    for_deploy "$release"
    rm -rf "$BUILD/image"
    make -C "$BUILD" install DESTDIR="$BUILD/image" prefix=/usr/local \
        >/dev/null || fail "make install"
    steps=$(sed -nE "s|^RUN (.*)|\\1 >/dev/null 2>\&1 \|\| exit 77|p
        s|^COPY image/ /|cp -r $BUILD/image/. /|p
        s/^ENV (.*)/export \\1/p
        s/^CMD .*\"(srd_info)\", \"(--check)\".*/no_device \\1 \\2/p" "$file")
    [ "$(grep -c . <<<"$steps")" = "$(grep -cE '^(RUN|COPY|ENV|CMD) ' "$file")" ] ||
        fail "steps that this check does not know"
    cat >"$script" <<END
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin # an image's
no_device() { ! "\$@" | grep -E '^FAIL +device +.*no EFA device' || echo none; }
$steps
efasim run -- srd_info --check || exit 1
srd_info --top --json - | grep '"headline"' || exit 1
efasim run --timeout-ms $SELFTEST_TIME -- srd_info --selftest --facts | grep " same, "
END
    "$TEST_DIR/../contrib/ci/chroot.sh" --bind "$BUILD" "$release" -- bash \
        "$script" || status=$?
    rm -rf "$BUILD/image"
    [ "$status" != 77 ] || skip_here "packages cannot be had here"
    [ "$status" = 0 ] || fail "status $status"
    grep -qx none "$CHECK_LOG" || fail "without a device: not said"
    grep -qE '^[0-9]+ same, [0-9]+ not asked, 0 differ$' "$CHECK_LOG" ||
        fail "the self-test is not content"
}

# The manifests are YAML; the containers' commands run on two emulated hosts.
deploy_kubernetes() {
    need python3
    python3 -c 'import yaml' || skip_here "python3-yaml is missing"
    python3 "$TEST_DIR/deploy_yaml.py" "$TEST_DIR/../contrib/deploy" \
        >"$CHECK_LOG.commands" || fail "the manifests are not as they should be"
    cat "$CHECK_LOG.commands"
    local listen peer listener
    read -r listen <"$CHECK_LOG.commands"
    peer=$(sed -n 2p "$CHECK_LOG.commands")
    # shellcheck disable=SC2086 # words
    PATH=$BUILD/bin:$PATH "$EFASIM" run --node 1 --timeout-ms $SELFTEST_TIME -- $listen \
        >"$CHECK_LOG.listen" 2>&1 &
    listener=$!
    wait_until $listener grep -q '^waiting for' "$CHECK_LOG.listen"
    # shellcheck disable=SC2086
    PATH=$BUILD/bin:$PATH "$EFASIM" run --node 0 --timeout-ms $SELFTEST_TIME -- \
        ${peer/ srd-selftest/ localhost} --all >"$CHECK_LOG.peer"
    wait "$listener" || fail "the listener: status $?"
    grep -E '^same +delivery, between hosts' "$CHECK_LOG.peer" ||
        fail "$(tail -n 3 "$CHECK_LOG.peer")"
}

# The script for ParallelCluster, on a node where another user waits for it: he has
# made what it would make in /tmp if its name were known, and replaces what he can
# while packages are installed. Only what came from AWS may be unpacked.
deploy_planted() {
    [ "$(id -u)" -eq 0 ] || skip_here "needs root, as the script does"
    need setpriv unshare xz
    unshare -m true 2>/dev/null || skip_here "no mount namespaces here"
    local bin=$CHECK_LOG.bin mark planted=/tmp/ucx-efa-srd.tar.xz
    rm -rf "$bin" && mkdir -p "$bin"
    for mark in good evil; do
        mkdir -p "$bin/$mark/top" && : >"$bin/$mark/top/$mark" &&
            tar -C "$bin/$mark" -cJf "$bin/$mark.tar.xz" top || fail "no archive"
    done
    cat >"$bin/aws" <<END
#!/bin/sh
cp $bin/good.tar.xz "\$4" && echo "\$4" >$bin/where && stat -c '%a %u' "\${4%/*}"
END
    cat >"$bin/apt-get" <<END
#!/bin/sh
[ "\$2" = update ] || exit 0
file=\$(cat $bin/where)
setpriv --reuid 4242 --regid 4242 --clear-groups \
    sh -c 'mv "\$0" "\$0.away" && cat >"\$0"' "\$file" <$bin/evil.tar.xz
:
END
    printf '#!/bin/sh\n' | tee "$bin/systemctl" >"$bin/srd_info"
    chmod 755 "$bin"/{aws,apt-get,systemctl,srd_info}
    # shellcheck disable=SC2064  # now, not then
    trap "rm -rf '$planted' '$planted.away'" EXIT
    setpriv --reuid 4242 --regid 4242 --clear-groups mkdir -m 777 "$planted" ||
        fail "$planted: status $?"
    # shellcheck disable=SC2016 # for the shell in there
    PATH=$bin:$PATH unshare -m sh -c 'mount -t tmpfs none /etc/systemd &&
        mount -t tmpfs none /usr/local || exit
        umask 000
        bash "$0" s3://bucket/any.tar.xz; echo "status $?"; ls /usr/local
        find /etc/systemd -mindepth 1 -perm /022 -printf "open %p\n"' \
        "$(cd "$TEST_DIR/.." && pwd -P)/contrib/deploy/parallelcluster-install.sh" \
        >"$CHECK_LOG.out" 2>&1
    cat "$CHECK_LOG.out"
    ! grep -qx evil "$CHECK_LOG.out" || fail "another user's archive was unpacked"
    ! grep '^open ' "$CHECK_LOG.out" || fail "another user may write to it"
    grep -qx 'status 0' "$CHECK_LOG.out" && grep -qx good "$CHECK_LOG.out" ||
        fail "the archive was not unpacked"
    grep -qx '700 0' "$CHECK_LOG.out" || fail "it did not lie in a folder of root's alone"
    mark=$(<"$bin/where")
    [ ! -e "${mark%/*}" ] || fail "$mark is left"
}
