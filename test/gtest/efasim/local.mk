# SPDX-License-Identifier: BSD-3-Clause
# test/gtest/efasim: the engine alone, in one process, without any preload.
if HAVE_GTEST
check_PROGRAMS += test/gtest_efasim_engine
test_gtest_efasim_engine_SOURCES = \
	test/gtest/c11.h test/gtest/efasim/engine_guest.cc \
	test/gtest/efasim/engine_marks.cc \
	test/gtest/efasim/engine_objects.cc \
	test/gtest/efasim/engine_plan.cc \
	test/gtest/efasim/engine_request.cc test/gtest/efasim/engine_rig.h \
	test/gtest/efasim/engine_soak.cc test/gtest/efasim/engine_test.h \
	test/gtest/efasim/engine_time.cc
test_gtest_efasim_engine_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
if SANITIZERS
test_gtest_efasim_engine_SOURCES += $(efasim_engine_sources)
test_gtest_efasim_engine_LDADD = $(GTEST_LIBS)
else
test_gtest_efasim_engine_LDADD = \
	$(call efasim_objects,$(efasim_engine_sources)) $(GTEST_LIBS)
test_gtest_efasim_engine_DEPENDENCIES = \
	$(call efasim_objects,$(efasim_engine_sources))
endif
gtest_objects += $(test_gtest_efasim_engine_OBJECTS)
endif
