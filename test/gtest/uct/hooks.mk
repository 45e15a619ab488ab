# SPDX-License-Identifier: BSD-3-Clause
# Tests of src/ucp_hooks: a module of the same objects with a provider of the
# tests' own (no device, a loopback transport), and programs that load it.
check_PROGRAMS += obj/hooks/libuct_hooktest.so.0
obj_hooks_libuct_hooktest_so_0_SOURCES = test/gtest/uct/hooks_provider.c
obj_hooks_libuct_hooktest_so_0_CFLAGS  = $(ucp_hooks_cflags)
obj_hooks_libuct_hooktest_so_0_LDFLAGS = $(ucp_hooks_ldflags) \
	-Wl,-soname,libuct_hooktest.so.0
obj_hooks_libuct_hooktest_so_0_LDADD   = $(ucp_hooks_objects)
obj_hooks_libuct_hooktest_so_0_DEPENDENCIES = $(ucp_hooks_objects) \
	$(ucp_hooks_map)

if HAVE_GTEST
check_PROGRAMS += obj/hooks/hooks_glue
obj_hooks_hooks_glue_SOURCES = \
	test/gtest/uct/hooks_glue.h \
	test/gtest/uct/hooks_glue_iface.cc \
	test/gtest/uct/hooks_glue_md.cc
obj_hooks_hooks_glue_LDADD   = $(UCT_LIBS) $(GTEST_LIBS)
gtest_objects += $(obj_hooks_hooks_glue_OBJECTS)
endif

check_PROGRAMS += obj/hooks/hooks_late obj/hooks/hooks_fake_user
obj_hooks_hooks_late_SOURCES      = test/gtest/uct/hooks_late.c
obj_hooks_hooks_late_LDADD        = -ldl -lpthread
obj_hooks_hooks_fake_user_SOURCES = test/gtest/uct/hooks_fake_user.c
obj_hooks_hooks_fake_user_LDADD   = -ldl

# UCX's ib module and in-tree srd, and a program that meets foreign peers
check_PROGRAMS += obj/hooks/intree/libuct_ib.so.0 obj/hooks/hooks_peer
obj_hooks_intree_libuct_ib_so_0_SOURCES = test/gtest/uct/hooks_intree.c
obj_hooks_intree_libuct_ib_so_0_CFLAGS  = $(AM_CFLAGS) -fPIC
obj_hooks_intree_libuct_ib_so_0_LDFLAGS = $(AM_LDFLAGS) -shared \
	-Wl,-soname,libuct_ib.so.0
obj_hooks_intree_libuct_ib_so_0_LDADD   = $(UCT_LIBS)
obj_hooks_hooks_peer_SOURCES = test/gtest/uct/hooks_peer.c
obj_hooks_hooks_peer_LDADD   = $(UCT_LIBS)

# compiled by the suite itself
EXTRA_DIST += \
	test/gtest/uct/hooks_fake_ucp.c \
	test/gtest/uct/hooks_fake_uct.c \
	test/gtest/uct/hooks_layout.cc \
	test/gtest/uct/hooks_layout.sh \
	test/gtest/uct/hooks_rows.py \
	test/gtest/uct/hooks_matrix.sh \
	test/gtest/uct/hooks_suite.sh
