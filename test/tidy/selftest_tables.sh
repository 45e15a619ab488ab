# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2016,SC2154
#
# Samples of check_minors.py and check_sentences.py. Sourced by selftest.sh, whose
# functions it calls.

# minors: a list of two minors, and files that agree with it.
minors() {
    mkdir -p "$root/test/gtest/uct" "$root/docs"
    printf '#define UCX_MINORS(X) \\\n    X(13, "one", 1) \\\n    X(14, "two", 0)\n' |
        put src/ucp_hooks/minors.h
    : >"$root/src/ucp_hooks/abi_layout.h"
    : >"$root/test/gtest/uct/hooks_layout.cc"
    printf 'typedef struct abi_internal_ops {\n    int (*a)(void);\n%s\n%s\n' \
        '#if UCX_MINOR >= 14' '    int (*b)(void);' >>"$root/src/ucp_hooks/abi_layout.h"
    printf '#endif\n} abi_internal_ops_t;\n' >>"$root/src/ucp_hooks/abi_layout.h"
    printf 'static abi_internal_ops_t ops = {\n    .a = f, .b = g\n};\n' |
        put src/ucp_hooks/abi_iface.inc
}
sample
fails check_minors.py 'nothing to check' src/ucp_hooks/minors.h <<<''
minors
expect pass check_minors.py
sed -i 's/, .b = g//' "$root/src/ucp_hooks/abi_iface.inc"
expect fail check_minors.py 'UCX 1.14: abi_internal_ops_t.b is not set'
minors
printf 'typedef struct abi_tl {\n    int (*c)(void);\n} abi_tl_t;\n' \
    >>"$root/src/ucp_hooks/abi_layout.h"
passes check_minors.py src/ucp_hooks/abi_tables.inc <<<'    tl->c = f;'
fails check_minors.py 'UCX 1.13: abi_tl_t.c is not set' src/ucp_hooks/abi_tables.inc \
    <<<'    tl->c = NULL; entry->c = f;'
minors
printf 'enum {\n    ABI_ONE = 1,\n    ABI_TWO = 2\n};\n' \
    >>"$root/src/ucp_hooks/abi_layout.h"
printf 'VALUE(ABI_TWO, 2);\n' >>"$root/test/gtest/uct/hooks_layout.cc"
expect fail check_minors.py 'UCX 1.14: no line of ABI_ONE'
printf 'VALUE(ABI_ONE, 1);\n' >>"$root/test/gtest/uct/hooks_layout.cc"
expect pass check_minors.py

sample
expect fail check_sentences.py 'nothing to check'
put src/flow/a.c <<'END'
/* Its credits. A (word of praise) is free, and so is what it means. */
const char *a = "What? So. Of"; /* a string is no comment */
END
put test/a.sh <<<$'# shares what it has, so all have some\n# of it.\necho "# So what."'
put test/a.py <<<$'"""Good. The function says what it does."""\n'
expect pass check_sentences.py
for line in '/* What it holds. */' '/* It is so. So all is well. */' 'int a; // Of a' \
    $'/*\n * Good (it is). Who\n * asks is told. */' '/* one (Of two) */' \
    $'/* All:\n * - What one says\n */'; do
    fails check_sentences.py 'src/flow/b.c:1: a sentence begins with "' src/flow/b.c <<<"$line"
done
rm "$root/src/flow/b.c"
put test/a.sh <<<$'# Of the\n# peers.'
expect fail check_sentences.py 'test/a.sh:1: a sentence begins with "Of the peers'
printf 'a=b # %s it is\n' Whoever | put test/a.sh
expect fail check_sentences.py 'test/a.sh:1: a sentence begins with "Whoever it is'
put test/a.sh <<<''
put test/a.py <<<$'def f():\n    """Good. What it does."""\n'
expect fail check_sentences.py 'test/a.py:2: a sentence begins with "What it does'
