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

lines() {
    local i
    for ((i = 0; i < $1; i++)); do
        echo "$2"
    done
}

sample
expect fail check_size.py 'nothing to check'
lines 600 'int a;' | put src/a.c
expect pass check_size.py
lines 601 'int a;' | put src/a.c
expect fail check_size.py 'src/a.c: 601 lines'
mv "$root/src/a.c" "$root/src/a.inc"
expect fail check_size.py 'src/a.inc: 601 lines'

sample
mkdir -p "$root/venv/lib"
echo 'a = 1' | put venv/lib/a.py
echo 'home = /usr/bin' | put venv/pyvenv.cfg # of README's example
expect fail check_spdx.py 'nothing to check'
printf '#!/bin/sh\n# SPDX-License-Identifier: BSD-3-Clause\n' | put src/a.sh
expect pass check_spdx.py
echo 'int a;' | put src/a.c
expect fail check_spdx.py 'src/a.c: no line'

sample
lines 1 "int a; /* $(printf '%067d' 0) */" | put src/a.c
expect pass check_columns.py
lines 1 "int a; /* $(printf '%068d' 0) */" | put src/a.c
expect fail check_columns.py 'columns, at most 80'
printf '\tint a;\n' | put src/a.c
expect fail check_columns.py 'a tab'
printf 'int a; \n' | put src/a.c
expect fail check_columns.py 'blanks at the end'

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
echo 'int a; /* to do later */' | put src/a.c
expect pass check_words.py
echo "int a; /* TO""DO: later */" | put src/a.c
expect fail check_words.py 'unfinished work'
echo "see /wo""rk/shared" | put README.md
rm "$root/src/a.c"
expect fail check_words.py "a machine's path"
echo "deb https://deb.deb""ian.org/debian bookworm main" | put README.md
expect fail check_words.py 'a package host'

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
expect pass check_abort.py
for call in 'abort()' 'exit(1)' '_exit (1)' 'ucs_fatal("x")' 'assert(x)' \
    'ucs_assert_always(x)'; do
    printf 'void f(int x)\n{\n    %s;\n}\n' "$call" | put src/ucp_hooks/a.c
    expect fail check_abort.py 'src/ucp_hooks/a.c:3: '
done
printf 'void flow_assert_failed(void)\n{\n    abort();\n}\n' |
    put src/ucp_hooks/a.c
expect fail check_abort.py 'src/ucp_hooks/a.c:3: '

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
put src/uct/ib/srd/a.c <<<'#include <infiniband/verbs.h>'
expect fail check_layers.py 'srd/a.c:1: includes infiniband/verbs.h'
put src/uct/ib/srd/a.c <<<'int a = IBV_WR_SEND;'
expect fail check_layers.py 'srd/a.c:1: IBV_WR_SEND: verbs are'
put src/uct/ib/srd/a.c <<<'#include "../efa/../../../ucp_hooks/abi.h"'
expect fail check_layers.py 'is private to ucp_hooks'
put src/uct/ib/srd/a.c <<<'struct uct_component { int a; };'
expect fail check_layers.py 'private to UCX'
put src/uct/ib/srd/a.c <<<'#include <uct/base/uct_iface.h>'
expect fail check_layers.py "a private header of UCX's"
rm "$root/src/uct/ib/srd/a.c"
put src/flow/a.c <<<'int a(flow_core_t *core) { return core->rx_count; }'
expect pass check_layers.py
put src/uct/ib/efa/a.c <<<'int a(efa_t *b) { return b->core->rx_count; }'
expect fail check_layers.py 'is private to src/flow'
put src/uct/ib/efa/a.c <<<'int a(base_ep_t *ep) { return ep->tx->paused; }'
expect fail check_layers.py 'tx->paused: the state of the core is private'
put src/uct/ib/efa/a.c <<<'void *a(void *core) { return flow_core_rx(core, 1); }'
expect fail check_layers.py 'is private to src/flow'
rm "$root/src/uct/ib/efa/a.c"
put src/flow/a.c <<<'#include <time.h>'
expect fail check_layers.py 'the protocol core is freestanding'
put src/flow/a.c <<<'#include "ucp_hooks/host.h"'
expect fail check_layers.py 'flow may not include ucp_hooks'
rm "$root/src/flow/a.c"
put src/uct/ib/efa/a.c <<<'#include "uct/ib/srd/srd_ep.c"'
expect fail check_layers.py 'uct/ib/efa may not include uct/ib/srd'

sample
expect fail check_purity.sh 'nothing to check'
object obj/flow/a.o <<'END'
void *memcpy(void *, const void *, unsigned long);
void flow_assert_failed(const char *, const char *, int);
void b(void);
void a(void *p, void *q, unsigned long n)
{ memcpy(p, q, n); b(); flow_assert_failed("", "", 0); }
END
object obj/flow/b.o <<<'void b(void) {}'
expect pass check_purity.sh
object obj/flow/b.o <<<'long time(long *); void b(void) { time(0); }'
expect fail check_purity.sh 'b.o: needs time'

good_module() {
    shared lib/libuct_srd.so.0 <<<'int puts(const char *);
        int uct_query_components(void) { return puts(""); }'
    echo 'uct_query_components # why' | put test/tidy/exports.libuct_srd.so.0
    shared lib/libefasim.so <<<'int puts(const char *);
        int open(void) { return puts(""); }'
    echo 'open' | put test/tidy/exports.libefasim.so
}
sample
expect fail check_exports.sh 'nothing to check'
good_module
expect pass check_exports.sh
shared lib/libuct_srd.so.0 <<<'int uct_query_components, uct_srd_tl;'
expect fail check_exports.sh 'exports uct_srd_tl'
good_module
echo 'close' | put test/tidy/exports.libefasim.so
expect fail check_exports.sh 'does not export close'

sample
expect fail check_limits.sh 'nothing to check'
cp "$top"/src/flow/*.[ch] "$root/src/flow/"
expect pass check_limits.sh
sed -i 's/FLOW_WINDOW_MAX == 8 \* sizeof(_map)/1/
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
put test/tidy/circles.txt <<<'src/uct/ib/efa/c.c -> src/uct/ib/efa/a.c: a sample'
expect pass check_circles.py
calls c elsewhere
expect fail check_circles.py 'src/uct/ib/efa/c.c does not call'
calls c a
calls b elsewhere
expect fail check_circles.py 'closes no circle'
put test/tidy/circles.txt <<<'src/uct/ib/efa/c.c -> src/uct/ib/efa/a.c'
expect fail check_circles.py 'circles.txt:1: not'
calls b c
put test/tidy/circles.txt <<<'a of src/uct/ib/efa/a.c: a sample'
expect pass check_circles.py
calls c elsewhere
expect fail check_circles.py 'nobody calls a of src/uct/ib/efa/a.c'
put test/tidy/circles.txt <<<'b of src/uct/ib/efa/a.c: a sample'
expect fail check_circles.py 'src/uct/ib/efa/a.c has no b'
sample
mkdir -p "$root/src/uct/ib/base" "$root/docs"
calls base_b base_a base
calls base_a elsewhere base
printf '| `base_a` | first |\n| `base_b` | second |\n' | put docs/DESIGN.md
expect pass check_circles.py
printf '| `base_b`, `base_a` | the wrong way round |\n' | put docs/DESIGN.md
expect fail check_circles.py 'base_b.c: calls src/uct/ib/base/base_a.c, which stands behind'
put docs/DESIGN.md <<<'| `base_a` | alone |'
expect fail check_circles.py 'DESIGN.md: no row has src/uct/ib/base/base_b.c'

# shellcheck source=test/tidy/selftest_tables.sh
. "$here/selftest_tables.sh"

sample
put src/flow/a.c <<<'int a_word;'
put CONTRIBUTING.md <<<'See `a.c`, `a_word` and `a_*`.'
expect pass check_guide.py
for name in c.c b_word 'b_*'; do
    put CONTRIBUTING.md <<<"\`a.c\`, \`$name\`"
    expect fail check_guide.py "$name is nowhere"
done
put CONTRIBUTING.md <<<'nothing'
expect fail check_guide.py 'nothing to check'

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
put test/tidy/twice.txt <<<'{: a sample'
expect pass check_twice.py
twice b
expect fail check_twice.py 'twice.txt: stands once, or has no reason: {'
put test/tidy/twice.txt <<<'{'
twice a b
expect fail check_twice.py 'twice.txt: stands once, or has no reason: {'
put test/tidy/twice.txt </dev/null
{ printf '1\n2\n3\n4\n5\n6\n' && printf '1\n2\n3\n4\n5\n6\n'; } |
    put src/flow/a.c
expect fail check_twice.py 'src/flow/a.c:7: 6 lines as at src/flow/a.c:1: 1'

sample
expect fail check_needed.sh 'nothing to check'
good_module
expect pass check_needed.sh
shared lib/libuct_srd.so.0 -Wl,--no-as-needed -lm <<<'int a;'
expect fail check_needed.sh 'needs libm.so'
shared lib/libuct_srd.so.0 <<<'void ibv_open_device(void);
    void a(void) { ibv_open_device(); }'
expect fail check_needed.sh 'leaves ibv_open_device undefined'

sample
expect fail check_glibc.sh 'nothing to check'
good_module
expect pass check_glibc.sh
# Symbol versions are what the linker read from libc: a stand-in has new ones.
printf 'GLIBC_2.99 { global: future; __isoc23_strtol; };\n' >"$work/map"
"$cc" -x c -shared -fPIC -o "$work/libc_new.so" - \
    -Wl,--version-script="$work/map",-soname,libc_new.so <<<'
    void future(void) {}
    void __isoc23_strtol(void) {}'
shared lib/libuct_srd.so.0 "$work/libc_new.so" <<<'int puts(const char *);
    void __isoc23_strtol(void);
    int a(void) { __isoc23_strtol(); return puts(""); }'
expect pass check_glibc.sh
shared lib/libuct_srd.so.0 "$work/libc_new.so" <<<'void future(void);
    void a(void) { future(); }'
expect fail check_glibc.sh 'needs glibc 2.99'

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
put src/flow/b.h <<<'size_t b(void);'
expect fail check_headers.sh 'src/flow/b.h: does not compile alone'
put src/flow/b.h <<<'static inline int b(void) { return 0; }'
expect fail check_headers.sh 'src/flow/b.h: does not compile alone'

put src/flow/b.h <<<'/* Part of a.h */ static int b(size_t size);'
expect fail check_headers.sh 'src/flow/b.h: does not compile alone'
printf '#include <stddef.h>\n#include "b.h"\n' | put src/flow/a.h
expect fail check_headers.sh 'src/flow/a.h: does not compile alone'
put src/flow/b.h <<<'/* Part of a.h */ int b(size_t size);'
expect pass check_headers.sh

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
put src/flow/a.c <<<'int a(int b) { return b; }'
expect pass check_clang.sh
# gcc accepts this one.
put src/flow/a.c <<<'int a(int b) { b = b; return b; }'
expect fail check_clang.sh 'a.c:1:'

sample
printf '## Messages of this module\n- `cannot open … today`: why\n' |
    put docs/TROUBLESHOOTING.md
put src/flow/a.c <<'END'
const char *a = "we cannot "
                "open %-3.2lu files today";
END
expect pass check_messages.py
put src/flow/a.c <<<'const char *a = "we can open %d files today";'
expect fail check_messages.py 'docs/TROUBLESHOOTING.md:2: nothing prints'

sample
echo 'int a;' | put src/flow/a.c
echo 'See [this](docs/A.md#part), `src/flow/a.c`, `src/flow`.' | put README.md
mkdir -p "$root/docs" && echo '[up](../README.md)' | put docs/A.md
expect pass check_links.py
echo '[up](README.md)' | put docs/A.md
expect fail check_links.py 'docs/A.md:1: no docs/README.md here'
rm "$root/docs/A.md"
expect fail check_links.py 'README.md:1: no docs/A.md here'
echo 'See `src/flow/b.c`.' | put README.md
expect fail check_links.py 'README.md:1: no src/flow/b.c here'
echo 'See [this](src/flow/a.c).' | put README.md
echo '`tidy/`, `tidy/*.sh`' | put test/README.md
touch "$root/test/tidy/a.sh"
expect pass check_links.py
echo '`tidy/b.sh`' | put test/README.md
expect fail check_links.py 'test/README.md:1: no test/tidy/b.sh here'
rm "$root/test/README.md"
printf '**1. Out of tree.** Why.\n' | put docs/DESIGN.md
printf '| P1 | promise |\n' | put docs/TESTING.md
printf '# EFA-FACTS: all\n## Queues\n' | put docs/EFA-FACTS.md
put src/flow/a.c <<<'/* decision 1 (P1), as it is (EFA-FACTS: queues). */'
expect pass check_links.py
for citation in 'decision 2' 'decisions 1 and 2' '(P2)' 'promise P2' \
    'EFA-FACTS: memory;'; do
    put src/flow/a.c <<<"/* $citation */"
    expect fail check_links.py 'src/flow/a.c:1: no '
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
