# SPDX-License-Identifier: BSD-3-Clause
flow_driver = test/driver/driver.h test/driver/driver.cc

check_PROGRAMS += test/flow_sim test/flow_scale \
                  test/flow_rate test/flow_link
test_flow_sim_SOURCES = $(flow_driver) test/sim/plan.h test/sim/sim.h \
                        test/sim/node.h test/sim/sim.cc test/sim/network.cc \
                        test/sim/node.cc test/sim/user.cc \
                        test/sim/node_report.cc test/sim/plans.cc \
                        test/sim/main.cc $(record_sources)
test_flow_sim_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/test -DDRIVER_RECORDS
test_flow_sim_CFLAGS  = $(AM_CFLAGS)
test_flow_sim_CXXFLAGS = $(BASE_CXXFLAGS) $(FAST_CXXFLAGS) $(SANITIZE_CFLAGS)
test_flow_sim_LDADD   = $(flow_objects)
test_flow_sim_DEPENDENCIES = $(flow_objects)

test_flow_scale_SOURCES = test/sim/scale.cc
test_flow_scale_CXXFLAGS = $(BASE_CXXFLAGS) $(FAST_CXXFLAGS) $(SANITIZE_CFLAGS)
test_flow_scale_LDADD   = $(flow_objects)
test_flow_scale_DEPENDENCIES = $(flow_objects)

test_flow_rate_SOURCES = $(flow_driver) test/sim/timed.h test/sim/timed.cc \
                         test/sim/rate_report.h test/sim/rate_report.cc \
                         test/sim/rate_phases.cc test/sim/rate_trickle.cc \
                         test/sim/rate.cc
test_flow_rate_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/test
test_flow_rate_CXXFLAGS = $(BASE_CXXFLAGS) $(FAST_CXXFLAGS) $(SANITIZE_CFLAGS)
test_flow_rate_LDADD   = $(flow_objects)
test_flow_rate_DEPENDENCIES = $(flow_objects)

test_flow_link_SOURCES = $(flow_driver) test/sim/timed.h test/sim/timed.cc \
                         test/sim/link.h test/sim/link.cc \
                         test/sim/link_network.cc
test_flow_link_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/test
test_flow_link_CXXFLAGS = $(BASE_CXXFLAGS) $(FAST_CXXFLAGS) $(SANITIZE_CFLAGS)
test_flow_link_LDADD   = $(flow_objects)
test_flow_link_DEPENDENCIES = $(flow_objects)
