#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ucx_versions.py [ROOT]: prints docs/UCX-VERSIONS.md, what differs from one UCX
minor to the next in what this module declares of it, and what was tried how.

Read from the sources: src/ucp_hooks/abi_layout.h (declarations), minors.h (how
a minor is known) and test/matrix/ (which UCX the matrix suite runs). Suite load
compares the result with the page."""

import os
import re
import sys

HEADER = 'src/ucp_hooks/abi_layout.h'
SIZES = ['config field', 'config entry', 'transport', 'component', 'MD ops',
         'internal ops', 'MD attr']

# UCX's names for our structures.
NAMES = {
    'abi_config_parser': 'ucs_config_parser_t',
    'abi_config_field': 'ucs_config_field_t',
    'abi_config_entry': 'ucs_config_global_list_entry_t',
    'abi_component': 'uct_component_t',
    'abi_tl': 'uct_tl_t',
    'abi_tl_device': 'uct_tl_device_resource_t',
    'abi_is_reachable_params': 'uct_iface_is_reachable_params_t',
    'abi_is_connected_params': 'uct_ep_is_connected_params_t',
    'abi_internal_ops': 'uct_iface_internal_ops_t',
    'abi_iface_attr_v2': 'uct_iface_attr_v2_t',
    'abi_md': 'uct_md_t',
    'abi_md_attr': 'uct_md_attr_v2_t (1.13: uct_md_attr_t)',
    'abi_mem_reg_params': 'uct_md_mem_reg_params_t',
    'abi_mem_dereg_params': 'uct_md_mem_dereg_params_t',
    'abi_mkey_pack_params': 'uct_md_mkey_pack_params_t',
    'abi_md_ops': 'uct_md_ops_t',
}

# Against whose private headers the layouts were compiled (hooks_layout.sh); a
# minor that is not here was not.
HEADERS = {13: 'source package, suite load'}
HEADERS.update({minor: 'once, of the release tag' for minor in range(14, 24)})

# Real systems that the matrix suite runs, by the minor of their UCX.
SYSTEMS = {13: 'Debian 12', 18: 'Debian 13', 23: 'Debian sid'}


def read(root, path):
    with open(os.path.join(root, path), encoding='utf-8') as file:
        return file.read()


def preprocess(text, minor):
    """The lines that a compiler sees with UCX_MINOR=minor."""
    stack = []  # [now, any branch was taken]
    for line in text.split('\n'):
        word = re.match(r'#\s*(if|elif|else|endif|ifndef)\b(.*)', line)
        if not word:
            if all(now for now, _ in stack) and not line.startswith('#'):
                yield line
            continue
        kind, rest = word.groups()
        if kind in ('if', 'ifndef'):
            now = kind == 'if' and holds(rest, minor)
            stack.append([now, now])
        elif kind == 'elif':
            stack[-1][0] = not stack[-1][1] and holds(rest, minor)
            stack[-1][1] |= stack[-1][0]
        elif kind == 'else':
            stack[-1][0] = not stack[-1][1]
        else:
            stack.pop()


def holds(condition, minor):
    terms = []
    for term in condition.split('||'):
        found = re.fullmatch(r'\s*UCX_MINOR\s*(==|>=|<=)\s*(\d+)\s*', term)
        if not found:
            sys.exit(f'{HEADER}: condition not understood: {condition}')
        value = int(found.group(2))
        terms.append({'==': minor == value, '>=': minor >= value,
                      '<=': minor <= value}[found.group(1)])
    return any(terms)


def structures(text, minor):
    """{structure or call: {member: its declaration, without spaces}}"""
    code = re.sub(r'/\*.*?\*/', ' ', '\n'.join(preprocess(text, minor)),
                  flags=re.S)
    found = {}
    for match in re.finditer(r'struct (abi_\w+) \{(.*?)\n\}', code, re.S):
        members = {}
        for part in match.group(2).split(';'):
            part = re.sub(r'\s+', ' ', part).strip()
            name = re.search(r'\(\*(\w+)\)', part) or \
                re.search(r'(\w+)(\[\w+\])?$', part)
            if name:
                members[name.group(1)] = part
        found[match.group(1)] = members
    call = re.search(r'\(\*abi_fill_opts_t\)\((.*?)\);', code, re.S)
    if call:
        found['ucs_config_parser_fill_opts()'] = {
            'arguments': re.sub(r'\s+', ' ', call.group(1))}
    return found


def differences(old, new):
    """Lines: what became of each structure."""
    for name in sorted(set(old) | set(new), key=lambda n: NAMES.get(n, n)):
        before, after = old.get(name, {}), new.get(name, {})
        title = f'`{NAMES.get(name, name)}`'
        if not before:
            yield f'{title}: new'
            continue
        parts = [('+', [m for m in after if m not in before]),
                 ('-', [m for m in before if m not in after]),
                 ('changed ', [m for m in after if m in before and
                               after[m] != before[m]])]
        moved = [m for m in before if m in after]
        if moved != [m for m in after if m in before]:
            parts.append(('order of members', ['']))
        text = ', '.join(sign + (f'`{m}`' if m else '')
                         for sign, members in parts for m in members)
        if text:
            yield f'{title}: {text}'


def sizes(text, minor):
    found = re.search(rf'UCX_MINOR == {minor}\n#define ABI_SIZES (.*)', text)
    return [part.strip() for part in found.group(1).split(',')]


def known_by(symbol, stays):
    return f'`{symbol}`' + ('' if stays == '1' else ', which no other has')


def tested(root, minor):
    how = ['private headers: ' + HEADERS.get(minor, 'not yet')]
    if minor in SYSTEMS:
        how.append(f'matrix suite: {SYSTEMS[minor]}')
    wheels = [f'{package} {version}' for _, package, version in
              re.findall(r'^(ci|full) +(\S+) +(\S+)',
                         read(root, 'test/matrix/wheels.txt'), re.M)
              if version.startswith(f'1.{minor}.')]
    if wheels:
        how.append('matrix suite: ' + ', '.join(wheels))
    return how


ADDING = '''## How to add a UCX minor

In this order; what a check in brackets names cannot be forgotten.

1. **How it is known.** Find a symbol that its libuct exports and the one before
   does not (`nm -D --defined-only libuct.so.0` of both), and append a line to
   `src/ucp_hooks/minors.h`. That is the one list: the tables, detection, the
   objects and the tests are made from it. `test/gtest/uct/hooks_fake_uct.c`
   states the symbol once more, as what a release exports (`check_minors.py`).
   (Where there is none, libuct cannot tell the two apart: then `detect.c` has to
   take libucp's word for it, with a case in `refused` of `hooks_suite.sh`.)
2. **What it declares.** Compare the release's headers with those of the one
   before: `git diff v1.%d.x v1.%d.x -- src/uct/base src/uct/api src/ucs
   src/ucm/api src/ucp/core/ucp_types.h src/ucp/wireup`: structures, the
   functions of `calls.c` and `counters.c`, the number of UCP's wire-up message
   and the line that `apart.c` waits for. Each difference in a
   structure above goes to `src/ucp_hooks/abi_layout.h` behind
   `#if UCX_MINOR >= ...`, with the line of sizes (without it the object of the
   minor does not compile). A public structure (`uct_ep_params_t`) is its
   caller's and is read by its field mask: what UCX appends to one needs nothing
   here (but for `uct_rkey_compare_params_t`: `abi_rkey_compare` refuses each bit;
   those without a mask, as `uct_iov_t`, may not grow: head of `host.h`). Where a
   size differs that was the same in all so far (`UCX_BASE_*` in
   `host.h`, 400 and 536 in `hooks_layout.cc`), so does the sentence under the
   table above. Beside the headers, facts of UCX's code: elements of a list
   whose keys UCP resolves at once (its `ucp/rma`; `SRD_LIST_MAX` in
   `srd_list.c`); how it reads UCX_TLS and its aliases (its `ucp_context.c`;
   `tls.c`); transports that are new (its `uct`), by their names in `apart.c`, in
   `opener_kind` of `fallback.c` and, within a host, in `LOCAL_TLS` of
   `srd_info.c`; how many bytes its worker wants before a packet
   (`UCP_WORKER_HEADROOM_SIZE` of its `ucp/core/ucp_worker.h`; `NEED_HEADROOM` of
   `base_sizing.c`); the lines in which it prints lanes (its
   `ucp_ep_print_info`; `probe_ucx.c`, which no test runs under another UCX: try
   `srd_info --check`); how many entries an address may have
   (`UCP_MAX_RESOURCES`; `peer_address.c`) and how many domains of a component it
   takes (`UCX_MAX_COMPONENT_MDS`; `devices.c`); how it fences (`UCX_FENCE_MODE=auto`
   is a flush from 1.16 on: its `ucp_context.c`, `rma/flush.c`,
   `rndv/rndv_put.c`; DESIGN, decision 8, and `base_wireup.c`; suite ucp's
   `order_put*` ask 1.13 and 1.18 alone); and that the first byte of an address
   of its ib says how long it is (its `uct/ib/base`; `near.h`).
3. **What it calls.** New callbacks and changed arguments go to
   `src/ucp_hooks/abi_md.inc`, `abi_iface.inc` and `abi_tables.inc`, again behind
   the minor; no callback may stay NULL, as UCX asserts some and calls others
   (`check_minors.py`). An attribute of a memory domain that may not be 0 is set
   in `abi_md_query`, a flag that UCP newly wants of each network transport as
   `iface_flags` (`abi_tables.inc`). What the transports need goes into `provider.h`, is
   set in `srd_iface.c` and in `ud_iface.c`, there under the lock (`ud_lock.c`), in
   `base_ops.h` where a layer stands before it, which no check looks at, and for the
   glue in `hooks_provider.c`.
4. **Prove the layouts**: a line CALLBACK or FIELD for each new member, VALUE
   for each constant, in `test/gtest/uct/hooks_layout.cc` (`check_minors.py`), a call in
   `hooks_glue_*.cc` where UCT's API has one (of what is not installed the
   declaration: `hooks_glue.h`). Then `hooks_layout.sh DIR` with the
   release's source tree, and the callbacks under its libraries:
   `hooks_matrix.sh build PREFIX` (with `include/`: a whole wheel, unpacked; what
   suite matrix keeps in its cache are libraries alone). Both end with a line for
   each check.
5. **Real data**: build with its headers, `UCX_CFLAGS="-isystem DIR"
   ./contrib/test.sh --build` (as the system's, since UCX's own may warn), once
   sid has it `contrib/ci/anyone.sh bare sid`. A wheel of that minor into
   `test/matrix/wheels.txt`, or a system into `contrib/ci/chroot.sh`, then suite
   matrix. When sid goes on to a minor, the one that it had needs a wheel there.
6. **What is said of it**: what was tried, in `HEADERS` and `SYSTEMS` of
   `contrib/doc/ucx_versions.py` (a structure that is new there: its UCX name
   in `NAMES`), then `contrib/doc/ucx_versions.py >docs/UCX-VERSIONS.md` (suite
   load compares; from then on step 2 above names the next two); which operations
   are refused on it, in "How it is tried" there; the rows and counts of `docs/MATRIX.md`;
   where GPUs are tried with its wheel,
   `NEW` of `test/suite_gpu.sh`, `test/gpu/ucx.sh`, `docs/GPU.md`; the head of
   `test/matrix/wheels.txt`; and each "1.13 to ..." that
   `check_minors.py` names: in the sources it states what is the same in all of
   them, so look there first; the number of builds in README's *What it has run
   on* and in NEWS; in NEWS, which `check_minors.py` leaves out, as long as it is
   not released also the range in its first lines, else a line. Once sid has it,
   what `docs/MATRIX.md` and `docs/DESIGN.md` (what has run)
   say of sid's UCX, and the names `uct_ucx_1_NN*` in `test/suite_uct.sh`.
   `test/portable/ucx.sh` takes sid's
   UCX for the newest, and skips as long as it is not (`test/skips.txt`).
'''

# The counts of a run by hand; how: in the text.
SUITE = '''## UCX's own test-suite

UCX 1.23 (its development branch, 9466d104a3 of 21 August 2026), built with
`--enable-gtest --enable-mt --enable-stats`, assertions and parameter checks, ran
on emulated devices in November 2026: all its tests for transport `srd`, once
with the srd of its own ("in-tree"), once with this module in its place:

    UCX_PLUGIN_PATH=build/lib UCX_MODULES=^efa \\
        efasim run --device efa2 -- gtest --gtest_filter='srd/*'

Its tests by socket address want a connection manager, and EFA has none: they
got transports `srd,tcp` where their source, `test_ucp_sockaddr.cc`, says `srd`
(`UCP_INSTANTIATE_TEST_CASE` and `UCP_INSTANTIATE_CM_TEST_CASE`). Its tests of
lists, `test_ucp_rma_sgl`, got a line more, which instantiates them for `srd`
alone. "Fail" has crashes and what takes more than a minute. Not counted are 39
tests `test_srd`, which look into the memory of the in-tree srd's own interfaces
and endpoints.

**Without RDMA write**, on device efa1 over libefa 44:

| tests | run | pass | skip | fail | in-tree: pass | skip | fail |
|---|---|---|---|---|---|---|---|
| UCT | 300 | 125 | 122 | 53 | 137 | 159 | 4 |
| UCP | 1869 | 969 | 897 | 3 | 946 | 908 | 15 |
| UCP by socket address | 877 | 782 | 91 | 4 | 794 | 83 | 0 |

**With RDMA write**, on device efa2 with rdma-core 65 (Debian sid), over libefa
(`UCX_EFA_DIRECT=n`) and directly (`UCX_EFA_DIRECT=y`, with which no interface
opens that would have to go over libefa):

| tests | run | over libefa: pass | skip | fail | directly: pass | skip | fail \
| in-tree: pass | skip | fail |
|---|---|---|---|---|---|---|---|---|---|---|
| UCT | 300 | 146 | 97 | 57 | 146 | 97 | 57 | 155 | 141 | 4 |
| UCP | 1831 | 941 | 885 | 5 | 941 | 885 | 5 | 901 | 902 | 5 |
| UCP by socket address | 877 | 794 | 79 | 4 | 795 | 79 | 3 | 794 | 83 | 0 |

The 1831 have 32 tests of lists, of which 30 pass and 2, which want CUDA, are
skipped; they lack the 68 `test_ucp_perf.envelope`, which measure and compare
nothing: of 25 of them that ran directly one took more than a minute, 24 pass. Of
the in-tree srd's 1831 there are 23 `stress_connect*` that were not run, since
two before them took more than a minute (they are among its 5). UCT's own tests of
lists are for cuda_ipc alone; in an earlier run the 13,152 writes of UCP's went with
471 doorbells over libefa (rdma-core 56), directly with 876. The device counted, by
the tests by socket address alone, 826,695 packets, 300,537 reads and 208 writes
directly, 824,045, 300,412 and 198 over libefa.

What fails with this module:

| tests | efa1 | efa2 | why |
|---|---|---|---|
| `test_uct_ib_*`, `test_uct_query_ib`, `test_devx_umr_mkey`, `test_uct_event_ib` \
| 15 | 18 | take the interface for one of UCX's ib component (by which two crash), \
or set a variable `UCX_IB_*` of it |
| `*_inlresp`, `uct_p2p_mix_test_mt`, `*_indirect_atomic`, `fence_relaxed_order`, \
`xfer_reg_multithreaded` | 37 | 37 | set variables of the ib component: \
`UCX_IB_TX_INLINE_RESP`, `UCX_IB_REG_MT_THRESH` and so on |
| `test_uct_peer_failure_multiple` | 1 | 1 | opens more memory domains than a \
device has protection domains (256); fails in-tree, too |
| `test_uct_ep.destroy_entity_after_send` | - | once | see below |
| `test_uct_perf.envelope` | - | 1 | directly takes more than a minute; see below |
| `test_ucp_am_psn` | 3 | 3 | send over one lane in error mode FAILOVER; fail \
in-tree, too |
| `test_ucp_modify_uct_cfg.verify_seg_size` | - | 1 | sets `UCX_IB_SEG_SIZE` of the \
ib component and expects it as the largest copied put; here that follows from the \
device's largest message (8900 bytes) |
| `test_proto_reset.rndv_put` | - | 1 | waits until a message of 70 kB has posted \
some of its 70 writes of 1 kB and not all. Here that never shows: the fence behind \
one message's writes holds back the next message's, and 70 fit in the queue of 512. \
With `UCX_SRD_TX_QUEUE_LEN=32` it passes |
| `connect_and_fail_wireup_msg_pack_addr_on_server` | 4 | 3 or 4 | waits for the endpoint \
to fail when a wire-up message cannot be packed; here all its lanes are on srd by \
then, none is sent, and what cannot \
be packed is a keepalive, which UCP passes over. (One of the 4 passed in one run of seven) |

Failures that need more than a variable that does not exist here were repeated
twice alone, but for `test_uct_ib_addr`, `test_uct_ib_pkey` and the crashes, with
the same result but for the two that are told of below.

Two faults of this module showed on efa2 and are mended; the tests that had failed
by them, and all by socket address, ran again since, and are counted so.
`xfer_reg` (2 tests) wants a line in the log (`UCX_LOG_LEVEL=data`) for each
operation, also for one without a byte, for which nothing is posted. And the memory
domain announced that registrations can be invalidated by the two flags that UCX
has for it since 1.15, one for RMA and one for atomics, but not by the old one,
which means both: UCP asks for the new ones, 16 tests by socket address ask for
the old one, and were skipped.

Passed in-tree, skipped here, on efa2: 4 that want messages to be under way still
when the endpoint closes, 1 that wants a limit on receive buffers. (On efa1 also 8
by socket address that want a lane with put_zcopy.) Passed here, skipped in-tree,
on efa2: 42 that want `ep_check` (keepalive), wakeup, put_short, a bcopy larger
than the largest header, a flush that reaches the other side's memory, or a
rendezvous by RDMA in error mode PEER.

`test_uct_ep.destroy_entity_after_send` expects that `uct_ep_destroy` ends
whatever is outstanding. It does, since it waits for the device, but for half a
second at most: a transport with a queue pair for each endpoint stops that one,
here it is everybody's, and until the device is done it may send what is in the
user's memory, or write into it. So behind a device that takes longer, or in the
5 s after such a wait in vain, a zcopy operation ends later, from progress. Suite
uct has the same test of its own, on a device that is 30 ms behind:
`UctEnd.destroy__ends_zcopy_of_a_slow_device`. Upstream's makes 300 endpoints each
time, and many of their messages meet a receiver that is not ready. Of 38 runs on
efa2 one failed, over libefa, while seven programs ran on the machine's two cores:
one operation of the 300 endpoints was not over when the call returned. It did not
come again, neither with a CPU shared by four.

`test_uct_perf.envelope` measures, with two threads of one process, for which the
emulated device is one. Over libefa it takes 10 s on a quiet machine, directly 47 to
99 s, with `--eager` more than 90 s: whoever reads the queues himself does not call
the device by his polls, so it works when a doorbell calls it, else each 100 to
200 µs ([EMULATOR](EMULATOR.md)).

On efa1 what passes with this module does so, too, with the module under ASan and
UBSan, and, tests of speed apart, with `--reorder 0.3`, and with a window of 2 and
the smallest queues (`UCX_SRD_TX_QUEUE_LEN=16`, `UCX_SRD_RX_QUEUE_LEN=128`).
'''


def main(root):
    text = read(root, HEADER)
    known = {int(minor): known_by(symbol, stays) for minor, symbol, stays in
             re.findall(r'^ *X\((\d+), "(\w+)", ([01])\)',
                        read(root, 'src/ucp_hooks/minors.h'), re.M)}
    minors = list(known)
    print('''# UCX versions

Written by `contrib/doc/ucx_versions.py` from the sources; not by hand.

One file serves all these versions: what the module declares of UCX's private
structures is compiled once for each minor (`src/ucp_hooks/abi.c`), and the
one for the UCX at hand is taken when it is found. A minor is known by a symbol
that its libuct has and the one before has not; the sizes of three data objects
of libuct (transport, component, config field) and the version of libucp must
agree, else the module stays out and says why. Beside UCX the file needs
glibc 2.34 (Debian 12, RHEL 9, Ubuntu 22.04), no other library, which
`test/tidy/check_glibc.sh` and `check_needed.sh` check; built by
`contrib/package/portable.sh` it needs glibc 2.17.

UCX 1.12 (Ubuntu 22.04's) is refused. It has no `uct_component_register` and
`uct_tl_register`, by which a module enters a libuct that is loaded already; no
`uct_ep_invalidate`, by which UCP makes an endpoint fail; and its `mkey_pack` is
not told whether a key is to be revocable. One warning says that it is too old,
and the program goes on without srd (suite portable, `--full`: `ucx_1_12`, with
1.12.1 built from its tag, where `contrib/ci/ucx_source.sh 1.12.1` has the tree).

## A UCX newer than the newest table

It is refused with one line, and the program goes on without srd. The line names
the newest minor that this UCX looks like, 1.%d, and `UCX_EFA_ABI=1.%d`
tries it, at your own risk; another value is refused. What is tried then has
passed this probe, of the libuct at hand, before anything of it is called:

- it exports every symbol by which the minors up to that one are known, and all
  functions that the module calls;
- its transport, its component and its configuration field have that minor's
  sizes (a member more in them would move all that lies behind it);
- its base classes of interface and endpoint are no larger than the room that
  the module leaves for them;
- its parsers of configuration values are all there.

What the probe cannot see is a callback that was added to a table of operations,
in the middle or at its end (UCX then reads behind ours), or one whose arguments
changed: none of these tables has a size in the file. That is the risk. A libuct
without libucp in its process tells no version: there the probe alone decides.
Suite portable (`ucx_newer`), once sid has UCX 1.%d, has that say that it is
1.%d: it is refused, carries data with `UCX_EFA_ABI`, and is refused with it,
too, once a size differs.

## Sizes in bytes
''' % (minors[-1], minors[-1], minors[-1], minors[-1] + 1))
    print('| UCX | ' + ' | '.join(SIZES) + ' |')
    print('|---' * (len(SIZES) + 1) + '|')
    for minor in minors:
        print(f'| 1.{minor} | ' + ' | '.join(sizes(text, minor)) + ' |')
    print('''
"MD attr" of 1.13 is the first version of that structure. The same through all
of them: `uct_iface_ops_t` 400, `uct_iface_attr_t` 536, `uct_base_iface_t` 1280
(1288 in builds with statistics), its table of handlers at 424.

## Minor by minor
''')
    for minor in minors:
        print(f'### 1.{minor}\n')
        print(f'- known by {known[minor]}')
        if minor != minors[0]:
            changes = list(differences(structures(text, minor - 1),
                                       structures(text, minor)))
            for change in changes or ['nothing of what is declared differs']:
                print(f'- {change}')
        print('- tried: ' + '; '.join(tested(root, minor)) + '\n')
    print('''## Builds that check parameters, or keep statistics

UCX made with `--enable-params-check`, which is `configure`'s default and
Debian's, refuses to pack a key without a place for it, and says nothing: so such
a build is recognised when an interface opens (`ucx_host_checks_params`). There
`src/uct/ib/base/base_checked.c` stands before the operations of both transports
and checks a length and the id of an active message with UCX's words. Elsewhere
(wheels) it is not on the way. What a foreign memory handle would crash is
checked in all builds.

UCX made with `--enable-stats` has a pointer more at the end of its interface
(1288 bytes) and endpoint (16), the same in all sources from 1.13 to 1.%d; by
these sizes such a build is recognised when it is found, and its counters by
their names (`src/ucp_hooks/counters.c`). There `base_checked.c` counts, too, and
follows a log level that changes while the program runs.

## How it is tried

- **Layouts against private headers** (`test/gtest/uct/hooks_layout.cc`): sizes,
  offsets and types of all callbacks, by a compiler. Of 1.13 on every run of
  suite load, from the source package (skipped with a line where it cannot be
  had); of the others the headers are in no package, and the check was made once
  from the release tags: `test/gtest/uct/hooks_layout.sh DIR` repeats it.
- **Callbacks of the tables under a real UCX** (`hooks_glue_*.cc`, by
  `test/gtest/uct/hooks_matrix.sh build PREFIX...`): UCT's own API calls them
  with values that are compared, so a member at a wrong place shows. Neither
  headers nor debug information of the release are needed for it. No
  test calls the private operations that we do not support
  (`ep_connect_to_ep_v2`, `ep_get_device_ep`, `ep_outstanding_purge`) and the
  `iface_query_v2` of 1.20: of these the layout is compared.
- **Data between two emulated nodes** with every byte compared: suite ucp here,
  suite matrix with the systems and wheels above.
''' % minors[-1])
    print(ADDING % (minors[-1], minors[-1] + 1))
    print(SUITE, end='')


if __name__ == '__main__':
    if len(sys.argv) > 2 or sys.argv[1:2] in (['--help'], ['-h']):
        sys.exit(__doc__)
    main(sys.argv[1] if len(sys.argv) > 1 else
         os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                      os.pardir))
