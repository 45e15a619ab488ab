# SPDX-License-Identifier: BSD-3-Clause
# The accidents that were reproduced against the in-tree transport, one test
# each. Suite uct runs each alone, under
# 'efasim run -- srdrun', and looks at the device's counters.
if HAVE_GTEST
check_PROGRAMS += test/gtest_accident

test_gtest_accident_SOURCES = \
	test/gtest/uct/accident.cc test/gtest/uct/accident.h \
	test/gtest/uct/accident_flow.cc test/gtest/uct/accident_churn.cc \
	test/gtest/uct/accident_variables.cc test/gtest/uct/accident_ud.cc \
	test/gtest/uct/module_clock.cc test/gtest/uct/module_clock.h \
	test/gtest/uct/transport.cc test/gtest/uct/transport.h \
	test/gtest/uct/uct_entity.cc test/gtest/uct/uct_entity.h
test_gtest_accident_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)
test_gtest_accident_LDADD = $(GTEST_LIBS) $(UCT_LIBS)
gtest_objects += $(test_gtest_accident_OBJECTS)
endif
