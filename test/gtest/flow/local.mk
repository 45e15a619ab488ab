# SPDX-License-Identifier: BSD-3-Clause
if HAVE_GTEST
check_PROGRAMS += test/gtest_flow
test_gtest_flow_SOURCES = $(flow_driver) test/gtest/flow/flow_test.h \
                          test/gtest/flow/flow_test.cc \
                          test/gtest/flow/test_flow_alarm.cc \
                          test/gtest/flow/test_flow_assert.cc \
                          test/gtest/flow/test_flow_wire.cc \
                          test/gtest/flow/test_flow_pool.cc \
                          test/gtest/flow/test_flow_bounds.cc \
                          test/gtest/flow/test_flow_ends.cc \
                          test/gtest/flow/test_flow_hash.cc \
                          test/gtest/flow/test_flow_image.cc \
                          test/gtest/flow/test_flow_held.cc \
                         test/gtest/flow/test_flow_hello.cc \
                          test/gtest/flow/test_flow_lost.cc \
                          test/gtest/flow/test_flow_tx.cc \
                          test/gtest/flow/resend_test.h \
                          test/gtest/flow/test_flow_resend.cc \
                          test/gtest/flow/test_flow_resend_ctl.cc \
                          test/gtest/flow/test_flow_ring.cc \
                          test/gtest/flow/test_flow_rx.cc \
                          test/gtest/flow/test_flow_ctl.cc \
	test/gtest/flow/test_flow_drain.cc \
                          test/gtest/flow/test_flow_turn.cc \
                          test/gtest/flow/test_flow_reserve.cc \
                          test/gtest/flow/test_flow_stranger.cc \
                          test/gtest/flow/test_flow_backoff.cc \
                          test/gtest/flow/test_flow_grant.cc \
                          test/gtest/flow/test_flow_hand.cc \
                          test/gtest/flow/test_flow_lap.cc \
                          test/gtest/flow/test_flow_look.cc \
                          test/gtest/flow/test_flow_pair.cc \
                          test/gtest/flow/test_flow_peer.cc
test_gtest_flow_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/test
test_gtest_flow_LDADD   = $(flow_objects) $(GTEST_LIBS)
test_gtest_flow_DEPENDENCIES = $(flow_objects)
gtest_objects += $(test_gtest_flow_OBJECTS)
endif
