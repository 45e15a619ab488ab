# SPDX-License-Identifier: BSD-3-Clause
# Black-box verbs programs, run as `efasim run -- gtest_verbs`.
if HAVE_GTEST
check_PROGRAMS += test/gtest_verbs
test_gtest_verbs_SOURCES  = test/gtest/efasim/verbs_test.h \
                            test/gtest/efasim/verbs_test.cc \
                            test/gtest/efasim/verbs_child.cc \
                            test/gtest/efasim/verbs_counters.cc \
                            test/gtest/efasim/verbs_device.cc \
                            test/gtest/efasim/verbs_qp.cc \
                            test/gtest/efasim/verbs_data.cc \
                            test/gtest/efasim/verbs_status.cc \
                            test/gtest/efasim/verbs_overrun.cc \
                            test/gtest/efasim/verbs_event.cc \
                            test/gtest/efasim/verbs_direct.cc \
                            test/gtest/efasim/verbs_dmabuf.cc \
                            test/gtest/efasim/verbs_fault.cc \
                            test/gtest/efasim/verbs_fork.cc \
                            test/gtest/efasim/verbs_newer.cc \
                            test/gtest/efasim/verbs_process.cc \
                            test/gtest/efasim/verbs_rails.cc \
                            test/gtest/efasim/verbs_share.cc \
                            test/gtest/efasim/verbs_signal.cc \
                            test/gtest/efasim/verbs_stopped.cc \
                            test/gtest/efasim/verbs_ud.cc \
                            test/gtest/efasim/verbs_write.cc \
                            test/apps/fill.c test/apps/fill.h
test_gtest_verbs_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)
test_gtest_verbs_LDADD    = -lgtest -lpthread $(VERBS_LIBS)
gtest_objects += $(test_gtest_verbs_OBJECTS)
endif
