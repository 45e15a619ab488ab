# SPDX-License-Identifier: BSD-3-Clause
# UCT tests. gtest_uct drives the module through UCT's public API and runs under
# 'efasim run -- srdrun'; gtest_efa has what needs no device.
if HAVE_GTEST
check_PROGRAMS += test/gtest_uct test/gtest_uct_fault test/gtest_efa

test_gtest_uct_SOURCES = \
	test/gtest/uct/transport.cc test/gtest/uct/transport.h \
	test/gtest/uct/uct_entity.cc test/gtest/uct/uct_entity.h \
	test/gtest/uct/test_uct_am.cc \
	test/gtest/uct/test_uct_arm.cc \
	test/gtest/uct/test_uct_contract.cc \
	test/gtest/uct/test_uct_delayed.cc \
	test/gtest/uct/test_uct_destroy.cc \
	test/gtest/uct/test_uct_failure.cc \
	test/gtest/uct/test_uct_hostile.cc \
	test/gtest/uct/module_clock.cc test/gtest/uct/module_clock.h \
	test/gtest/uct/list_test.h test/gtest/uct/test_uct_list.cc \
	test/gtest/uct/test_uct_list_end.cc \
	test/gtest/uct/test_uct_load.cc \
	test/gtest/uct/test_uct_nested.cc \
	test/gtest/uct/mapping.h test/gtest/uct/test_uct_memory.cc \
	test/gtest/uct/fence_test.h test/gtest/uct/test_uct_fence.cc \
	test/gtest/uct/test_uct_fence_end.cc \
	test/gtest/uct/test_uct_order.cc test/gtest/uct/test_uct_scarce.cc \
	test/gtest/uct/test_uct_place.cc \
	test/gtest/uct/test_uct_query.cc \
	test/gtest/uct/test_uct_rma.cc \
	test/gtest/uct/test_uct_segments.cc \
	test/gtest/uct/test_uct_status.cc \
	test/gtest/uct/test_uct_ud.cc \
	test/gtest/uct/test_uct_vfs.cc \
	test/gtest/uct/vfs_files.cc test/gtest/uct/vfs_files.h
# A hostile peer: a core and bare verbs, of their own tests.
test_gtest_uct_LDADD = \
	test/driver/gtest_flow-driver.$(OBJEXT) $(flow_objects) \
	test/gtest/efasim/verbs-verbs_test.$(OBJEXT) \
	test/apps/gtest_verbs-fill.$(OBJEXT) \
	$(GTEST_LIBS) $(UCT_LIBS) $(VERBS_LIBS) -lpthread -ldl

# Faults: the program stands before libc and verbs, as fault.h says.
test_gtest_uct_fault_SOURCES = \
	test/gtest/uct/transport.cc test/gtest/uct/transport.h \
	test/gtest/uct/uct_entity.cc test/gtest/uct/uct_entity.h \
	test/gtest/uct/fault.cc test/gtest/uct/fault.h \
	test/gtest/uct/fault_verbs.inc \
	test/gtest/uct/module_clock.cc test/gtest/uct/module_clock.h \
	test/gtest/uct/test_data_path.cc \
	test/gtest/uct/test_fault_plan.cc \
	test/gtest/uct/test_fault_sweep.cc
test_gtest_uct_fault_LDFLAGS = -rdynamic
test_gtest_uct_fault_LDADD = $(GTEST_LIBS) $(UCT_LIBS) -libverbs -ldl

test_gtest_efa_SOURCES = \
	test/gtest/c11.h test/gtest/uct/test_efa_rcache.cc \
	src/uct/ib/efa/efa_rcache.c \
	test/gtest/uct/test_counters.cc \
	src/ucp_hooks/counters.c \
	test/gtest/uct/test_efa_speed.cc \
	src/uct/ib/efa/efa_speed.c \
	test/gtest/uct/test_srd_gpu.cc \
	test/gtest/uct/srd_gpu_shim.c \
	src/uct/ib/srd_gpu/srd_gpu_order.c \
	test/gtest/uct/test_near.cc \
	src/ucp_hooks/near.c
test_gtest_efa_LDADD = $(GTEST_LIBS)
gtest_objects += $(test_gtest_uct_OBJECTS) $(test_gtest_uct_fault_OBJECTS) $(test_gtest_efa_OBJECTS)
endif
