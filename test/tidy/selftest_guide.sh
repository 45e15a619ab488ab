# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2016
#
# Samples of check_guide.py. Sourced by selftest.sh, whose functions it calls.

# guide FILES: a guide with one row, which names FILES.
guide() {
    printf 'See `a.c`, `a_word` and `a_*`.\n\n| a fence never ends | %s | tests |\n' \
        "$1" | put CONTRIBUTING.md
}
sample
guide '`a.c`'
put src/flow/a.c <<<$'int a_word;\nint fenced;'
expect pass check_guide.py
put src/uct/b.c <<<$'/* a fence */\nint b;'
expect pass check_guide.py
put src/uct/b.c <<<'int is_fenced;'
expect fail check_guide.py 'src/uct/b.c: has a part in a fence'
guide '`a.c` and `b.c`'
expect pass check_guide.py
for name in c.c b_word 'b_*'; do
    guide "\`a.c\`, \`b.c\`, \`$name\`"
    expect fail check_guide.py "$name is nowhere"
done
put CONTRIBUTING.md <<<'nothing'
expect fail check_guide.py 'nothing to check'
