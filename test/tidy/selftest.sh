#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# selftest.sh: each tidy check passes a good sample and fails a bad one, for the
# reason given. A check that cannot fail is worth nothing.

set -u
here=$(cd "$(dirname "$0")" && pwd -P) || exit 1
top=$(cd "$here/../.." && pwd -P) || exit 1
work=$(mktemp -d "${TMPDIR:-/tmp}/srd-tidy.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cc=${CC:-gcc}
python=$(command -v python3)
bad=0 cases=0
covered=' '

# sample: empties the tree $root and the build folder $build.
root=$work/root build=$work/build
sample() {
    rm -rf "$root" "$build"
    mkdir -p "$root"/{src/flow,src/uct/ib/efa,src/uct/ib/srd,src/ucp_hooks} \
        "$root"/{test/tidy,docs} "$build"/{lib,obj/flow}
}

# put FILE: standard input becomes $root/FILE.
put() {
    cat >"$root/$1"
}

# object FILE: standard input, C, becomes the object $build/FILE.
object() {
    "$cc" -x c -c -O1 -fPIC -fno-stack-protector -o "$build/$1" -
}

# shared FILE [FLAG...]: standard input, C, becomes the shared object.
shared() {
    local file=$1
    shift
    "$cc" -x c -shared -fPIC -o "$build/$file" - -x none "$@"
}

# expect pass|fail CHECK [TEXT]: runs the check; a failure must say TEXT.
expect() {
    local want=$1 check=$2 text=${3-} output status got=fail
    if [ -z "$python" ] && [[ $check = *.py ]]; then
        return
    fi
    output=$("$here/$check" "$root" "$build" 2>&1)
    status=$?
    cases=$((cases + 1))
    [ $status = 77 ] && return
    [ $status = 0 ] && got=pass
    if [ $got != "$want" ]; then
        echo "$check: expected to $want (${text:-good sample}), but: $got" \
            "$output"
        bad=$((bad + 1))
    elif [ "$want" = fail ] && ! grep -qF -- "$text" <<<"$output"; then
        echo "$check: failed for another reason than '$text': $output"
        bad=$((bad + 1))
    fi
    covered="$covered$want:$check "
}

# passes CHECK FILE, fails CHECK TEXT FILE: with standard input as that file.
passes() {
    put "$2" && expect pass "$1"
}

fails() {
    put "$3" && expect fail "$1" "$2"
}

lines() {
    local i
    for ((i = 0; i < $1; i++)); do
        echo "$2"
    done
}

license='SPDX-License-Identifier: BSD-3-Clause'

# licensed FILE [LINE...]: the file, of C, begins with the license.
licensed() {
    put "$1" < <(printf '%s\n' "/* $license */" "${@:2}")
}

sample
mkdir -p "$root/venv/lib"
put venv/lib/a.py <<<'a = 1'
put venv/pyvenv.cfg <<<'home = /usr/bin' # of README's example
expect fail check_lines.py 'nothing to check'
mapfile -t many < <(lines 599 'int a;')
licensed src/a.c "${many[@]}" && expect pass check_lines.py
licensed src/a.c "${many[@]}" 'int a;' && expect fail check_lines.py 'src/a.c: 601 lines'
mv "$root/src/a.c" "$root/src/a.inc"
expect fail check_lines.py 'src/a.inc: 601 lines'
rm "$root/src/a.inc"
fails check_lines.py 'src/a.c: no line' src/a.c <<<'int a;'
rm "$root/src/a.c"
passes check_lines.py src/a.sh <<<"#!/bin/sh"$'\n'"# $license"
licensed src/a.c "int a; /* $(printf '%067d' 0) */" && expect pass check_lines.py
while IFS='|' read -r line text; do
    licensed src/a.c "$(printf '%b' "$line")" && expect fail check_lines.py "$text"
done <<END
int a; /* $(printf '%068d' 0) */|columns, at most 80
\\tint a;|a tab
int a; |blanks at the end
int a; /* TO$(echo DO): later */|unfinished work
END
licensed src/a.c 'int a; /* to do later */' && expect pass check_lines.py
fails check_lines.py "a machine's path" README.md <<<"see /wo""rk/shared"
fails check_lines.py 'a package host' README.md \
    <<<"deb https://deb.deb""ian.org/debian bookworm main"

sample
{
    echo 'int f(void)'
    echo '{'
    lines 66 '    ;'
    printf '    return 0;\n}\n'
} | put src/a.c
expect pass check_functions.py
{
    echo 'int f(void)'
    echo '{'
    lines 67 '    ;'
    printf '    return 0;\n}\n'
} | put src/a.c
expect fail check_functions.py 'f has 71 lines'
put src/a.c <<<'int f(int a, int b, int (*c)(int, int), int d, int e, int f, int g)
{ return 0; }
int srd_ep_am_zcopy(int a, int b, int c, int d, int e, int f, int g, int h)
{ return 0; }'
expect pass check_functions.py
put src/a.c <<<'int f(int a, int b, int c, int d, int e, int f, int g, int h)
{ return 0; }'
expect fail check_functions.py 'f has 8 parameters'
mv "$root/src/a.c" "$root/src/a.inc"
expect fail check_functions.py 'src/a.inc:1: f has 8 parameters'
{
    echo 'TEST(suite, name)'
    echo '{'
    lines 80 '    ;'
    echo '}'
} | put test/a.cc
rm "$root/src/a.inc"
expect fail check_functions.py 'lines, at most 70'

sample
put src/uct/ib/efa/a.c <<'END'
/* never abort() here */
void flow_assert_failed(const char *expr, const char *file, int line)
{
#ifdef __SANITIZE_ADDRESS__
    abort();
#endif
}
const char *f(void) { _Static_assert(1, "x"); return "exit(1)"; }
END
expect pass check_layers.py
for call in 'abort()' 'exit(1)' '_exit (1)' 'ucs_fatal("x")' 'assert(x)' \
    'ucs_assert_always(x)'; do
    printf 'void f(int x)\n{\n    %s;\n}\n' "$call" | put src/ucp_hooks/a.c
    expect fail check_layers.py 'src/ucp_hooks/a.c:3: '
done
printf 'void flow_assert_failed(void)\n{\n    abort();\n}\n' |
    put src/ucp_hooks/a.c
expect fail check_layers.py 'src/ucp_hooks/a.c:3: '

sample
put src/flow/psn.h <<<'#include <stdint.h>'
put src/ucp_hooks/host.h <<<'#include <uct/api/uct.h>'
put src/ucp_hooks/abi.h <<<'struct uct_component { int a; };'
put src/uct/ib/efa/efa_md.h <<<'#include <infiniband/verbs.h>'
put src/uct/ib/srd/srd_ep.c <<'END'
#include "srd_iface.h"
#include <uct/ib/efa/efa_md.h>
#include <ucp_hooks/host.h>
#include "flow/psn.h"
END
expect pass check_layers.py
fails check_layers.py 'srd/a.c:1: includes infiniband/verbs.h' src/uct/ib/srd/a.c \
    <<<'#include <infiniband/verbs.h>'
fails check_layers.py 'srd/a.c:1: IBV_WR_SEND: verbs are' src/uct/ib/srd/a.c \
    <<<'int a = IBV_WR_SEND;'
fails check_layers.py 'is private to ucp_hooks' src/uct/ib/srd/a.c \
    <<<'#include "../efa/../../../ucp_hooks/abi.h"'
fails check_layers.py 'private to UCX' src/uct/ib/srd/a.c <<<'struct uct_component { int a; };'
fails check_layers.py "a private header of UCX's" src/uct/ib/srd/a.c \
    <<<'#include <uct/base/uct_iface.h>'
rm "$root/src/uct/ib/srd/a.c"
passes check_layers.py src/flow/a.c <<<'int a(flow_core_t *core) { return core->rx_count; }'
fails check_layers.py 'is private to src/flow' src/uct/ib/efa/a.c \
    <<<'int a(efa_t *b) { return b->core->rx_count; }'
fails check_layers.py 'tx->paused: the state of the core is private' src/uct/ib/efa/a.c \
    <<<'int a(base_ep_t *ep) { return ep->tx->paused; }'
fails check_layers.py 'is private to src/flow' src/uct/ib/efa/a.c \
    <<<'void *a(void *core) { return flow_core_rx(core, 1); }'
rm "$root/src/uct/ib/efa/a.c"
fails check_layers.py 'the protocol core is freestanding' src/flow/a.c <<<'#include <time.h>'
fails check_layers.py 'flow may not include ucp_hooks' src/flow/a.c <<<'#include "ucp_hooks/host.h"'
rm "$root/src/flow/a.c"
fails check_layers.py 'uct/ib/efa may not include uct/ib/srd' src/uct/ib/efa/a.c \
    <<<'#include "uct/ib/srd/srd_ep.c"'

# good_build: a module, an emulator and a protocol core.
good_build() {
    shared lib/libuct_srd.so.0 <<<'int puts(const char *);
        int uct_query_components(void) { return puts(""); }'
    put test/tidy/exports.libuct_srd.so.0 <<<'uct_query_components # why'
    shared lib/libefasim.so <<<'int puts(const char *);
        int open(void) { return puts(""); }'
    put test/tidy/exports.libefasim.so <<<'open'
    object obj/flow/a.o <<'END'
void *memcpy(void *, const void *, unsigned long);
void flow_assert_failed(const char *, const char *, int);
void b(void);
void a(void *p, void *q, unsigned long n)
{ memcpy(p, q, n); b(); flow_assert_failed("", "", 0); }
END
    object obj/flow/b.o <<<'void b(void) {}'
}

# module TEXT [FLAG...]: such a module, of standard input, is refused.
module() {
    shared lib/libuct_srd.so.0 "${@:2}"
    expect fail check_objects.py "$1"
}
sample
expect fail check_objects.py 'nothing to check was found: obj/flow'
expect fail check_objects.py 'nothing to check was found: lib/libefasim.so'
good_build
expect pass check_objects.py
module 'exports uct_srd_tl' <<<'int uct_query_components, uct_srd_tl;'
module 'needs libm.so' -Wl,--no-as-needed -lm <<<'int a;'
module 'leaves ibv_open_device undefined' <<<'void ibv_open_device(void);
    void a(void) { ibv_open_device(); }'
# Symbol versions are what the linker read from libc: a stand-in has new ones.
printf 'GLIBC_2.99 { global: future; __isoc23_strtol; };\n' >"$work/map"
"$cc" -x c -shared -fPIC -o "$work/libc_new.so" - \
    -Wl,--version-script="$work/map",-soname,libc.so.new <<<'
    void future(void) {}
    void __isoc23_strtol(void) {}'
shared lib/libuct_srd.so.0 "$work/libc_new.so" <<<'int puts(const char *);
    void __isoc23_strtol(void);
    int uct_query_components(void) { __isoc23_strtol(); return puts(""); }'
expect pass check_objects.py
module 'needs glibc 2.99' "$work/libc_new.so" <<<'void future(void);
    void a(void) { future(); }'
good_build
fails check_objects.py 'does not export close' test/tidy/exports.libefasim.so <<<'close'
good_build
object obj/flow/b.o <<<'long time(long *); void b(void) { time(0); }'
expect fail check_objects.py 'b.o: needs time'

sample
expect fail check_limits.sh 'nothing to check'
cp "$top"/src/flow/*.[ch] "$root/src/flow/"
expect pass check_limits.sh
sed -i 's/FLOW_WINDOW_MAX <= FLOW_MAP_BITS/1/
    s/^FLOW_LIMIT_BITS(FLOW_WINDOW_MAX, /FLOW_LIMIT_BITS(1, /' \
    "$root/src/flow/limits.c"
expect fail check_limits.sh 'FLOW_WINDOW_MAX may be doubled'

# calls FILE OTHER [FOLDER]: a file of the transports that calls the other.
calls() {
    local folder=src/uct/ib/${3:-efa}
    mkdir -p "$build/$folder"
    touch "$root/$folder/$1.c"
    object "$folder/libuct_srd_so_0-$1.o" <<<"void $2(void);
        void $1(void); void $1(void) { $2(); }"
}
sample
expect fail check_circles.py 'nothing to check'
calls a b
calls b c
calls c elsewhere
expect pass check_circles.py
calls c a
expect fail check_circles.py 'src/uct/ib/efa/a.c: in a circle of calls'
fails check_circles.py 'circles.txt:1: not' test/tidy/circles.txt \
    <<<'a of src/uct/ib/efa/a.c'
passes check_circles.py test/tidy/circles.txt <<<'a of src/uct/ib/efa/a.c: a sample'
calls c elsewhere
expect fail check_circles.py 'nobody calls a of src/uct/ib/efa/a.c'
fails check_circles.py 'src/uct/ib/efa/a.c has no b' test/tidy/circles.txt \
    <<<'b of src/uct/ib/efa/a.c: a sample'
sample
mkdir -p "$root/src/uct/ib/base" "$root/docs"
calls base_b base_a base
calls base_a elsewhere base
printf '| `base_a` | first |\n| `base_b` | second |\n' | put docs/DESIGN.md
expect pass check_circles.py
printf '| `base_b`, `base_a` | the wrong way round |\n' | put docs/DESIGN.md
expect fail check_circles.py 'base_b.c: calls src/uct/ib/base/base_a.c, which stands behind'
fails check_circles.py 'DESIGN.md: no row has src/uct/ib/base/base_b.c' docs/DESIGN.md \
    <<<'| `base_a` | alone |'

# shellcheck source=test/tidy/selftest_tables.sh
. "$here/selftest_tables.sh"

# twice NAME...: files that have five common lines, and one more before the last.
twice() {
    local name
    for name; do
        printf '#include <a.h>\nint %s;\n\n{\n1\n2\n3\n4\n' "$name" |
            put "src/flow/$name.c"
    done
}
sample
expect fail check_twice.py 'nothing to check'
twice a b
expect pass check_twice.py
echo '    5' | tee -a "$root/src/flow/a.c" >>"$root/src/flow/b.c"
expect fail check_twice.py 'src/flow/b.c:4: 6 lines as at src/flow/a.c:4: {'
rm "$root/src/flow/b.c"
{ printf '1\n2\n3\n4\n5\n6\n' && printf '1\n2\n3\n4\n5\n6\n'; } |
    put src/flow/a.c
expect fail check_twice.py 'src/flow/a.c:7: 6 lines as at src/flow/a.c:1: 1'

sample
expect fail check_headers.sh 'nothing to check'
put src/flow/a.h <<'END'
#ifndef A_H
#define A_H
#include <stddef.h>
static inline size_t a(void) { return 0; }
#endif
END
expect pass check_headers.sh
fails check_headers.sh 'src/flow/b.h: does not compile alone' src/flow/b.h <<<'size_t b(void);'
fails check_headers.sh 'src/flow/b.h: does not compile alone' src/flow/b.h \
    <<<'static inline int b(void) { return 0; }'

fails check_headers.sh 'src/flow/b.h: does not compile alone' src/flow/b.h \
    <<<'/* Part of a.h */ static int b(size_t size);'
printf '#include <stddef.h>\n#include "b.h"\n' | put src/flow/a.h
expect fail check_headers.sh 'src/flow/a.h: does not compile alone'
passes check_headers.sh src/flow/b.h <<<'/* Part of a.h */ int b(size_t size);'

sample
expect fail check_shell.sh 'nothing to check'
printf '#!/bin/sh\necho a\n' | put test/a.sh
expect pass check_shell.sh
printf '#!/bin/sh\nif true; then\n' | put test/a.sh
expect fail check_shell.sh 'a.sh'
if command -v shellcheck >/dev/null 2>&1; then
    printf '#!/bin/sh\ncd /nowhere\na=1\n' | put test/a.sh
    expect fail check_shell.sh 'SC2164'
fi

sample
put configure <<'END'
#!/bin/sh
printf 'test-programs:\nall:\n\t%s -Wall -Wextra -Werror -c %s\n' \
    "$CC" "$(dirname "$0")/src/flow/a.c" >Makefile
touch config.status
END
chmod +x "$root/configure"
passes check_clang.sh src/flow/a.c <<<'int a(int b) { return b; }'
# gcc accepts this one.
fails check_clang.sh 'a.c:1:' src/flow/a.c <<<'int a(int b) { b = b; return b; }'

sample
printf '## Messages of this module\n- `cannot open … today`: why\n' |
    put docs/TROUBLESHOOTING.md
put src/flow/a.c <<'END'
const char *a = "we cannot "
                "open %-3.2lu files today";
END
expect pass check_messages.py
fails check_messages.py 'docs/TROUBLESHOOTING.md:2: nothing prints' src/flow/a.c \
    <<<'const char *a = "we can open %d files today";'

sample
echo 'int a;' | put src/flow/a.c
echo 'See [this](docs/A.md#part), `src/flow/a.c`, `src/flow`.' | put README.md
mkdir -p "$root/docs" && echo '[up](../README.md)' | put docs/A.md
expect pass check_links.py
fails check_links.py 'docs/A.md:1: no docs/README.md here' docs/A.md \
    <<<'[up](README.md)'
rm "$root/docs/A.md"
expect fail check_links.py 'README.md:1: no docs/A.md here'
fails check_links.py 'README.md:1: no src/flow/b.c here' README.md \
    <<<'See `src/flow/b.c`.'
echo 'See [this](src/flow/a.c).' | put README.md
echo '`tidy/`, `tidy/*.sh`' | put test/README.md
touch "$root/test/tidy/a.sh"
expect pass check_links.py
fails check_links.py 'test/README.md:1: no test/tidy/b.sh here' test/README.md \
    <<<'`tidy/b.sh`'
rm "$root/test/README.md"
printf '**1. Out of tree.** Why.\n' | put docs/DESIGN.md
printf '| P1 | promise |\n' | put docs/TESTING.md
printf '# EFA-FACTS: all\n## Queues\n' | put docs/EFA-FACTS.md
passes check_links.py src/flow/a.c <<<'/* decision 1 (P1), as it is (EFA-FACTS: queues). */'
for citation in 'decision 2' 'decisions 1 and 2' '(P2)' 'promise P2' \
    'EFA-FACTS: memory;'; do
    fails check_links.py 'src/flow/a.c:1: no ' src/flow/a.c <<<"/* $citation */"
done

put src/flow/a.c <<<'int a_word;'
passes check_links.py CONTRIBUTING.md <<<'See `a.c`, `a_word` and `a_*`.'
for name in c.c b_word 'b_*'; do
    fails check_links.py "$name is nowhere" CONTRIBUTING.md <<<"\`a.c\`, \`$name\`"
done

sample
expect fail check_srdrun.sh 'nothing to check'
mkdir -p "$build/bin"
sed -e 's/%[A-Z_]*%/0.1/' -e "s/^runtime=.*/runtime=''/" \
    "$top/src/tools/srdrun.in" >"$work/srdrun"
cp "$work/srdrun" "$build/bin/srdrun"
chmod +x "$build/bin/srdrun"
expect pass check_srdrun.sh
sed 's/${preload:+:$preload}//' "$work/srdrun" >"$build/bin/srdrun"
expect fail check_srdrun.sh keeps_callers
sed 's/^exec "$@"/exec $*/' "$work/srdrun" >"$build/bin/srdrun"
expect fail check_srdrun.sh arguments
sed 's/die 127 "$1: command/: "/' "$work/srdrun" >"$build/bin/srdrun"
expect fail check_srdrun.sh not_found

sample
expect fail check_testsh.sh 'nothing to check'
cp -r "$top/contrib" "$root"
expect pass check_testsh.sh
sed -i 's/^\[ "$failed" = 0 \]$/true/' "$root/contrib/test.sh"
expect fail check_testsh.sh failing

for program in "$here"/check_*; do
    name=${program##*/}
    [ -n "$python" ] || [[ $name != *.py ]] || continue
    case $name in
    check_clang.sh) command -v clang clang-14 >/dev/null || continue ;;
    check_functions.py) command -v ctags >/dev/null || continue ;;
    esac
    for want in pass fail; do
        case $covered in
        *" $want:$name "*) ;;
        *)
            echo "$name: no sample that it should $want"
            bad=$((bad + 1))
            ;;
        esac
    done
done
[ "$bad" != 0 ] || echo "$cases samples"
[ "$bad" = 0 ]
