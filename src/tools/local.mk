# SPDX-License-Identifier: BSD-3-Clause
# srd_info: what UCX makes of the EFA devices here. Of the module it has the
# device's own code; UCX is opened at run time, and not needed.
bin_PROGRAMS += bin/srd_info
bin_srd_info_SOURCES = \
	src/tools/check_device.c \
	src/tools/check_mpi.c \
	src/tools/check_system.c \
	src/tools/check_ucx.c \
	src/tools/host_stub.c \
	src/tools/info.h \
	src/tools/places.c \
	src/tools/probe.c src/tools/probe.h \
	src/tools/probe_ucx.c src/tools/probe_ucx.h \
	src/tools/python.c \
	src/tools/srd_info.c \
	src/uct/ib/efa/efa_cpus.c \
	src/uct/ib/efa/efa_device.c \
	src/uct/ib/efa/efa_verbs.c
bin_srd_info_CPPFLAGS = $(AM_CPPFLAGS) -DLIBDIR='"$(libdir)"'
bin_srd_info_LDFLAGS  = $(AM_LDFLAGS)
bin_srd_info_LDADD    = $(HWLOC_LIBS) -ldl -lpthread
