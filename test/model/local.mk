# SPDX-License-Identifier: BSD-3-Clause
check_PROGRAMS += test/flow_model
test_flow_model_SOURCES = test/model/model.h test/model/seen.h \
                          test/model/model.cc test/model/effect.cc \
                          test/model/start.cc test/model/world.cc \
                          test/model/state.cc test/model/memory.cc \
                          test/model/error.cc test/model/rival.cc \
                          test/model/credit.cc
test_flow_model_CXXFLAGS = $(BASE_CXXFLAGS) $(FAST_CXXFLAGS) $(SANITIZE_CFLAGS)
test_flow_model_LDADD   = $(flow_objects)
test_flow_model_DEPENDENCIES = $(flow_objects)
