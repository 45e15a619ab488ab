#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes ./configure. Needs autoconf and automake; run from anywhere.
set -eu
cd "$(dirname "$0")"
mkdir -p build-aux m4
autoreconf --force --install --verbose >autogen.log 2>&1 || {
    cat autogen.log >&2
    echo "autogen.sh: autoreconf failed (Debian: apt-get install autoconf automake)" >&2
    exit 1
}
rm -f autogen.log
