# SPDX-License-Identifier: BSD-3-Clause
# srd_info: what UCX makes of the EFA devices here. Of the module it has the
# device's own code; UCX is opened at run time, and not needed.
bin_PROGRAMS += bin/srd_info
bin_srd_info_SOURCES = \
	src/tools/check_device.c \
	src/tools/check_gpu.c \
	src/tools/check_mpi.c \
	src/tools/check_system.c \
	src/tools/check_ucx.c \
	src/tools/data_path.c \
	src/tools/host_stub.c \
	src/tools/info.h \
	src/tools/places.c \
	src/tools/plan.c src/tools/plan.h \
	src/tools/probe.c src/tools/probe.h \
	src/tools/probe_ucx.c src/tools/probe_ucx.h \
	src/tools/python.c \
	src/tools/selftest.c src/tools/selftest.h \
	src/tools/selftest_limits.c \
	src/tools/selftest_link.c src/tools/selftest_link.h \
	src/tools/selftest_memory.c \
	src/tools/selftest_order.c \
	src/tools/selftest_pair.c src/tools/selftest_pair.h \
	src/tools/selftest_qp.c src/tools/selftest_qp.h \
	src/tools/selftest_queues.c \
	src/tools/selftest_report.c \
	src/tools/selftest_run.h \
	src/tools/selftest_serve.c src/tools/selftest_serve.h \
	src/tools/selftest_speed.c \
	src/tools/selftest_status.c \
	src/tools/selftest_ucx.c \
	src/tools/srd_info.c \
	src/uct/ib/base/base_config.c \
	src/uct/ib/base/base_need.c \
	src/uct/ib/srd/srd_config.c \
	src/uct/ib/efa/efa_ah.c \
	src/uct/ib/efa/efa_chunk.c \
	src/uct/ib/efa/efa_cpus.c \
	src/uct/ib/efa/efa_device.c \
	src/uct/ib/efa/efa_direct.c \
	src/uct/ib/efa/efa_direct_test.c \
	src/uct/ib/efa/efa_gid.c \
	src/uct/ib/efa/efa_gpu.c \
	src/uct/ib/efa/efa_promise.c \
	src/uct/ib/efa/efa_qp.c \
	src/uct/ib/efa/efa_queue.c \
	src/uct/ib/efa/efa_self.c \
	src/uct/ib/efa/efa_verbs.c
bin_srd_info_CPPFLAGS = $(AM_CPPFLAGS) -DLIBDIR='"$(libdir)"'
bin_srd_info_LDFLAGS  = $(AM_LDFLAGS)
bin_srd_info_LDADD    = $(HWLOC_LIBS) -ldl -lpthread
