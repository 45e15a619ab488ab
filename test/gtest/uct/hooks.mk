# SPDX-License-Identifier: BSD-3-Clause
# Tests of src/ucp_hooks: programs that load the module.
check_PROGRAMS += obj/hooks/hooks_late obj/hooks/hooks_fake_user
obj_hooks_hooks_late_SOURCES      = test/gtest/uct/hooks_late.c
obj_hooks_hooks_late_LDADD        = -ldl -lpthread
obj_hooks_hooks_fake_user_SOURCES = test/gtest/uct/hooks_fake_user.c
obj_hooks_hooks_fake_user_LDADD   = -ldl

# UCX's ib module and in-tree srd
check_PROGRAMS += obj/hooks/intree/libuct_ib.so.0
obj_hooks_intree_libuct_ib_so_0_SOURCES = test/gtest/uct/hooks_intree.c
obj_hooks_intree_libuct_ib_so_0_CFLAGS  = $(AM_CFLAGS) -fPIC
obj_hooks_intree_libuct_ib_so_0_LDFLAGS = $(AM_LDFLAGS) -shared \
	-Wl,-soname,libuct_ib.so.0
obj_hooks_intree_libuct_ib_so_0_LDADD   = $(UCT_LIBS)

# compiled by the suite itself
EXTRA_DIST += \
	test/gtest/uct/hooks_fake_ucp.c \
	test/gtest/uct/hooks_fake_uct.c \
	test/gtest/uct/hooks_layout.cc \
	test/gtest/uct/hooks_layout.sh \
	test/gtest/uct/hooks_rows.py \
	test/gtest/uct/hooks_suite.sh
