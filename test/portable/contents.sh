# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# The contents of each package beside programs, and the files of a release. Sourced by
# suite portable.

# contents_has FILE: a list of paths, which must have all that every package has:
# license, each page of docs, examples, completions.
contents_has() {
    local list=$1 name page
    for name in README.md NEWS LICENSE contrib/examples/mpi_ring.c \
        contrib/deploy/slurm.sbatch; do
        grep -q "share/doc/ucx-efa-srd/$name\$" "$list" || fail "no $name"
    done
    for page in "$TOP"/docs/*.md; do
        grep -q "share/doc/ucx-efa-srd/docs/${page##*/}\$" "$list" ||
            fail "no docs/${page##*/}"
    done
    for name in srd_info srdrun efasim; do
        grep -q "share/bash-completion/completions/$name\$" "$list" ||
            fail "no completion of $name"
        grep -q "share/man/man1/$name\.1\$" "$list" || fail "no manual of $name"
    done
    grep -q 'ucx_efa_srd/examples/ucxx_pingpong.py$' "$list" || fail "no examples"
}

# In archive, wheel and RPM of ARCH; and the wheel's metadata.
contents() {
    local file list=$CHECK_LOG.list
    file=$(tarball_of "$1") || { echo "$file"; exit "$SKIPPED"; }
    tar -tf "$file" >"$list" && contents_has "$list"
    file=$(wheel_of "$1") || { echo "$file"; exit "$SKIPPED"; }
    python3 -m zipfile -l "$file" | awk '{ print $1 }' >"$list"
    contents_has "$list"
    python3 - "$file" <<'END' || fail "the wheel's metadata"
import email
import sys
import zipfile
wheel = zipfile.ZipFile(sys.argv[1])
info, = (n for n in wheel.namelist() if n.endswith('dist-info/METADATA'))
told = email.message_from_bytes(wheel.read(info))
print(told)
license = info.replace('METADATA', 'licenses/' + told['License-File'])
sys.exit(told['License-Expression'] != 'BSD-3-Clause' or
         b'Redistribution' not in wheel.read(license))
END
    command -v rpm >/dev/null || return 0
    file=$(rpm_of "$1") || return 0
    rpm -qlp "$file" >"$list" && contents_has "$list"
}

# The examples of a wheel, as its user starts them.
wheel_examples() {
    wheel_venv python3
    local name
    for name in ucxx_pingpong dask_cluster nixl_transfer; do
        "$VENV/bin/python" -m "ucx_efa_srd.examples.$name" --help \
            >"$CHECK_LOG.out" 2>&1
        cat "$CHECK_LOG.out"
        grep -qE "^$name.py: No module named .*: pip install" "$CHECK_LOG.out" ||
            fail "$name does not say what it needs"
        [ "$(grep -c . "$CHECK_LOG.out")" = 1 ] || fail "$name: not one line"
    done
}

# Checksums and SBOM of what was built here, as release.sh leaves them.
release() {
    local dir=$CHECK_LOG.release status=0
    rm -rf "$dir"
    tarball_of x86_64 >/dev/null || { tarball_of x86_64; exit "$SKIPPED"; }
    "$TOP/contrib/package/release.sh" --have "$BUILD/portable" --dir "$dir" ||
        status=$?
    [ "$status" != "$SKIPPED" ] || exit "$SKIPPED"
    [ "$status" = 0 ] || fail "status $status"
    (cd "$dir" && sha256sum --strict -c SHA256SUMS) || fail "checksums"
    [ "$(find "$dir" -type f ! -name SHA256SUMS | wc -l)" = \
        "$(wc -l <"$dir/SHA256SUMS")" ] || fail "something has no checksum"
    python3 - "$dir" <<'END' || fail "the SBOM"
import glob
import hashlib
import json
import os
import sys
path, = glob.glob(f'{sys.argv[1]}/*.spdx.json')
told = {package['packageFileName']: package
        for package in json.load(open(path))['packages']
        if 'packageFileName' in package}
here = set(os.listdir(sys.argv[1])) - {'SHA256SUMS', os.path.basename(path)}
if set(told) != here or not here:
    sys.exit(f'told {sorted(told)}, here {sorted(here)}')
for name, package in told.items():
    digest = hashlib.sha256(open(f'{sys.argv[1]}/{name}', 'rb').read())
    if digest.hexdigest() not in (c['checksumValue']
                                  for c in package['checksums']):
        sys.exit(f'{name}: another checksum')
END
}
