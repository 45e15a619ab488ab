#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check_srdrun.sh ROOT BUILD: srdrun puts the module first and keeps what the
# caller preloads, touches neither arguments nor other variables, and reports
# what it cannot do in one line with the status that shells use.
set -u
build=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/srd-srdrun.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
status=0

if [ ! -x "$build/bin/srdrun" ]; then
    echo "nothing to check was found: bin/srdrun"
    exit 1
fi
# A module that does nothing: only the way into the process matters here.
mkdir -p "$work/b/bin" "$work/b/lib" "$work/empty/bin" "$work/with space/bin"
cp "$build/bin/srdrun" "$work/b/bin"
cp "$build/bin/srdrun" "$work/empty/bin"
${CC:-gcc} -shared -o "$work/b/lib/libuct_srd.so.0" -x c - <<<'int srd_test;' ||
    exit 1
cp -r "$work/b/." "$work/with space"
ln -s ../b/bin/srdrun "$work/empty/link"
module=$work/b/bin/../lib/libuct_srd.so.0

# expect NAME STATUS OUTPUT COMMAND...: both streams together, one line.
expect() {
    local name=$1 want=$2 text=$3 output got
    shift 3
    output=$(env -u LD_PRELOAD "$@" 2>&1 </dev/null)
    got=$?
    # A sanitizer's runtime may stand first.
    output=${output//*libasan.so*([!:]):/}
    # shellcheck disable=SC2053  # patterns
    if [[ $got != $want ]] || [[ $output != $text ]]; then
        echo "$name: status $got (expected $want): '$output' (expected '$text')"
        status=1
    fi
}
shopt -s extglob

run=$work/b/bin/srdrun
show='echo "$LD_PRELOAD"'
expect preload 0 "$module" "$run" sh -c "$show"
expect keeps_callers 0 "$module:libm.so.6:libdl.so.2" \
    sh -c "LD_PRELOAD=libm.so.6:libdl.so.2; export LD_PRELOAD; exec $run sh -c '$show'"
expect twice 0 "$module:$module" "$run" "$run" sh -c "$show"
expect symlink 0 "*/b/bin/../lib/libuct_srd.so.0" "$work/empty/../empty/link" \
    --print-path
expect from_path 0 "$module" env PATH="$work/b/bin:$PATH" srdrun --print-path
expect interpreted 0 "*/b/bin/./../lib/libuct_srd.so.0" sh -c \
    "cd $work/b/bin && sh srdrun --print-path"
expect arguments 0 '<a><b c><><\*><$x><--version>' "$run" \
    printf '<%s>' a 'b c' '' '*' '$x' --version
expect double_dash 0 'x' "$run" -- echo x
expect exit_status 7 '' "$run" sh -c 'exit 7'
variables='env | grep -E "^(UCX|EFA|FI|OMPI|LD_LIBRARY)_" | sort'
expect environment 0 "$({ sh -c "$variables"
    printf 'OMPI_MCA_pml_ucx_%s=any\n' devices tls; } | sort)" \
    env -u OMPI_MCA_pml_ucx_tls -u OMPI_MCA_pml_ucx_devices "$run" sh -c "$variables"
pml='echo "$OMPI_MCA_pml,$OMPI_MCA_pml_ucx_tls"'
expect mpi 0 'ucx,any' env UCX_TLS=sm,srd "$run" sh -c "$pml"
expect mpi_other 0 ',any' env UCX_TLS=sm,tcp "$run" sh -c "$pml"
expect mpi_users 0 'ob1,ib' env UCX_TLS=ud OMPI_MCA_pml=ob1 OMPI_MCA_pml_ucx_tls=ib \
    "$run" sh -c "$pml"
expect version 0 'srdrun [0-9]*.[0-9]*' "$run" --version
expect help 0 'Usage: srdrun *' "$run" --help
expect no_command 2 'srdrun: no command given*' "$run"
expect bad_option 2 "srdrun: unknown option '--nope'*" "$run" --nope
expect not_found 127 'srdrun: no_such_command: *' "$run" no_such_command
expect variable 127 'srdrun: UCX_TLS=srd: variables go in front of srdrun: *' \
    "$run" UCX_TLS=srd true
expect no_file 127 'srdrun: /no/such: *' "$run" /no/such
expect folder 126 'srdrun: /etc: is a directory: *' "$run" /etc
expect not_executable 126 'srdrun: /etc/passwd: not executable*' "$run" \
    /etc/passwd

# A static program is told of and run, whatever its kind; nothing else is: not a
# dynamic one whose linker is named far behind its headers, a script, the linker
# itself, a file that only begins like a program.
told='srdrun: */static* is a static program, which loads no module: *dynamically'
echo 'int main(void) { return 3; }' >"$work/main.c"
for kind in static static-pie; do
    ${CC:-gcc} "-$kind" -o "$work/$kind" "$work/main.c" || exit 1
    expect "$kind" 3 "$told" "$run" "$work/$kind"
    expect "path_$kind" 3 "srdrun: $kind is a static *" \
        env PATH="$work:$PATH" "$run" "$kind"
done
${CC:-gcc} -o "$work/dynamic" "$work/main.c" || exit 1
expect dynamic 3 '' "$run" "$work/dynamic"
python3 - "$work/dynamic" "$work/far" <<'END' || exit 1
import struct, sys
data = bytearray(open(sys.argv[1], 'rb').read())
phoff, = struct.unpack_from('<Q', data, 32)
count, = struct.unpack_from('<H', data, 56)
for at in range(phoff, phoff + count * 56, 56):
    if struct.unpack_from('<I', data, at)[0] == 3:           # PT_INTERP
        start, = struct.unpack_from('<Q', data, at + 8)
        size, = struct.unpack_from('<Q', data, at + 32)
        name = bytes(data[start:start + size])
        data[start:start + size] = bytes(size)
        data += b'\n' * 4096
        struct.pack_into('<Q', data, at + 8, len(data))
        data += name
open(sys.argv[2], 'wb').write(data)
END
chmod +x "$work/far"
expect far_linker 3 '' "$run" "$work/far"
printf '#!/bin/sh\nexit 4\n' >"$work/script"
printf '\177ELF' >"$work/short"
chmod +x "$work/script" "$work/short"
expect script 4 '' "$run" "$work/script"
expect short_file '@(126|127|2)' '!(*static*)' "$run" "$work/short"
linker=$(readlink -f /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 |
    while read -r file; do [ ! -e "$file" ] || echo "$file"; done | head -n 1)
expect linker 3 '' "$run" "$linker" "$work/dynamic"
chmod u+s "$work/dynamic"
expect setuid 3 '' "$run" "$work/dynamic"
expect no_module 1 'srdrun: libuct_srd.so.0 is neither in *' \
    "$work/empty/bin/srdrun" true
expect space 1 'srdrun: LD_PRELOAD cannot hold a path with a space*' \
    "$work/with space/bin/srdrun" true
exit $status
