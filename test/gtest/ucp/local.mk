# SPDX-License-Identifier: BSD-3-Clause
# test/gtest/ucp: UCP programs in one process over the transports of UCX_TLS.
if HAVE_GTEST
check_PROGRAMS += test/gtest_ucp
test_gtest_ucp_SOURCES  = test/gtest/ucp/ucp_test.h \
                          test/gtest/ucp/ucp_test.cc \
                          test/gtest/ucp/test_rma.cc \
                          test/gtest/ucp/test_flow_control.cc \
                          test/gtest/ucp/test_order.cc \
                          test/gtest/ucp/test_threshold.cc \
                          test/gtest/uct/transport.cc \
                          test/gtest/uct/transport.h \
                          test/gtest/uct/vfs_files.cc \
                          test/gtest/uct/vfs_files.h \
                          test/apps/fill.c test/apps/fill.h \
                          test/apps/op.c test/apps/op.h \
                          test/apps/watchdog.c test/apps/watchdog.h
test_gtest_ucp_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)
test_gtest_ucp_LDADD    = -lgtest -lpthread $(UCP_LIBS)
gtest_objects += $(test_gtest_ucp_OBJECTS)
endif
