# SPDX-License-Identifier: BSD-3-Clause
# src/efasim: the emulated device. The engine and the fabric are compiled once,
# for the preloaded library, the command and the engine's tests. The library
# is built without sanitizers, so that it goes into any program; the engine
# runs under them in its tests, which then compile it for themselves.
efasim_engine_sources = \
	src/efasim/engine/again.c src/efasim/engine/check.c \
	src/efasim/engine/cntr.c src/efasim/engine/cntr.h \
	src/efasim/engine/complete.c src/efasim/engine/efa_io.h \
	src/efasim/engine/cq.c src/efasim/engine/cq.h \
	src/efasim/engine/dev.c src/efasim/engine/dev.h \
	src/efasim/engine/dir.c src/efasim/engine/dir.h \
	src/efasim/engine/engine.h src/efasim/engine/env_ops.h \
	src/efasim/engine/fail.c src/efasim/engine/heap.c \
	src/efasim/engine/fault.c src/efasim/engine/fault.h \
	src/efasim/engine/knobs.c src/efasim/engine/knobs.h \
	src/efasim/engine/knobs.def src/efasim/engine/late.c \
	src/efasim/engine/limits.h src/efasim/engine/list.h \
	src/efasim/engine/log.c src/efasim/engine/log.h \
	src/efasim/engine/mr.c src/efasim/engine/mr.h \
	src/efasim/engine/named.c src/efasim/engine/named.h \
	src/efasim/engine/op.c src/efasim/engine/op.h \
	src/efasim/engine/opcode.c src/efasim/engine/objects.h \
	src/efasim/engine/pages.h \
	src/efasim/engine/pd.c src/efasim/engine/pd.h \
	src/efasim/engine/path.c src/efasim/engine/peer.c \
	src/efasim/engine/plan.c src/efasim/engine/plan.h \
	src/efasim/engine/profile.c src/efasim/engine/profile.h \
	src/efasim/engine/qp.c src/efasim/engine/qp.h \
	src/efasim/engine/poll.c src/efasim/engine/rdma.c \
	src/efasim/engine/ring.c src/efasim/engine/ring.h \
	src/efasim/engine/rng.h src/efasim/engine/rx.c \
	src/efasim/engine/send.c src/efasim/engine/steps.h \
	src/efasim/engine/timer.c src/efasim/engine/tx.c

efasim_fabric_sources = \
	src/efasim/fabric/clock.h \
	src/efasim/fabric/env.c src/efasim/fabric/env.h \
	src/efasim/fabric/fabric.c src/efasim/fabric/fabric.h \
	src/efasim/fabric/folder.c src/efasim/fabric/folder.h \
	src/efasim/fabric/host.c src/efasim/fabric/host.h \
	src/efasim/fabric/plan_file.c src/efasim/fabric/plan_file.h \
	src/efasim/fabric/process.c src/efasim/fabric/process.h \
	src/efasim/fabric/slot.c src/efasim/fabric/slot.h \
	src/efasim/fabric/sysfs.c src/efasim/fabric/sysfs.h \
	src/files/output.c src/files/output.h

efasim_driver_sources = \
	src/efasim/driver/attr.c src/efasim/driver/channel.c \
	src/efasim/driver/backstop.c src/efasim/driver/backstop.h \
	src/efasim/driver/cmds.h src/efasim/driver/cntr_cmds.c \
	src/efasim/driver/config.c src/efasim/driver/config.h \
	src/efasim/driver/context.c src/efasim/driver/context.h \
	src/efasim/driver/control.c src/efasim/driver/cq_cmds.c \
	src/efasim/driver/device_cmds.c src/efasim/driver/efa_uapi.h \
	src/efasim/driver/gpu_fd.h src/efasim/driver/init.c \
	src/efasim/driver/hooks.c src/efasim/driver/hooks.h \
	src/efasim/driver/ioctl.c src/efasim/driver/mr_cmds.c \
	src/efasim/driver/lock.c src/efasim/driver/lock.h \
	src/efasim/driver/netlink.c src/efasim/driver/pd_cmds.c \
	src/efasim/driver/preload.c src/efasim/driver/preload.h \
	src/efasim/driver/qp_cmds.c src/efasim/driver/redirect.c \
	src/efasim/driver/region.c src/efasim/driver/region.h \
	src/efasim/driver/privilege.c \
	src/efasim/driver/standby.c src/efasim/driver/standby.h \
	src/efasim/driver/state.c src/efasim/driver/state.h \
	src/efasim/efasim.h

sim_PROGRAMS += lib/libefasim.so
lib_libefasim_so_SOURCES = $(efasim_engine_sources) \
	$(efasim_fabric_sources) $(efasim_driver_sources)
lib_libefasim_so_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
lib_libefasim_so_CFLAGS = $(BASE_CFLAGS) -fPIC -fvisibility=hidden
lib_libefasim_so_LDFLAGS = -shared -Wl,-z,defs -Wl,-z,nodelete -pthread
lib_libefasim_so_LDADD = -ldl

# Its objects of these sources, for programs without sanitizers.
efasim_objects = $(foreach file,$(filter %.c,$(1)),\
	$(dir $(file))lib_libefasim_so-$(notdir $(file:.c=.o)))

# The same engine behind a PCI function, for virtual machines.
efasim_pci_sources = \
	src/efasim/pci/admin.c src/efasim/pci/admin.h \
	src/efasim/pci/bars.c src/efasim/pci/bars.h \
	src/efasim/pci/efa_regs.h src/efasim/pci/feature.c \
	src/efasim/pci/event.c src/efasim/pci/event.h \
	src/efasim/pci/func.c src/efasim/pci/func.h \
	src/efasim/pci/guest.c src/efasim/pci/guest.h \
	src/efasim/pci/log.c src/efasim/pci/log.h \
	src/efasim/pci/mr.c src/efasim/pci/mr.h \
	src/efasim/pci/objects.c src/efasim/pci/objects.h \
	src/efasim/pci/qp.c \
	src/efasim/pci/world.c src/efasim/pci/world.h

bin_PROGRAMS += bin/efapci
bin_efapci_SOURCES = $(command_sources) $(efasim_pci_sources) \
	src/efasim/cli/rows.c src/efasim/cli/rows.h src/efasim/pci/main.c \
	src/efasim/pci/channel.c src/efasim/pci/channel.h \
	src/efasim/pci/server.c src/efasim/pci/server.h
bin_efapci_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
bin_efapci_CFLAGS = $(BASE_CFLAGS)
bin_efapci_LDFLAGS = -pthread
bin_efapci_LDADD = $(call efasim_objects,$(efasim_engine_sources)) \
	$(call efasim_objects,$(efasim_fabric_sources))
bin_efapci_DEPENDENCIES = $(bin_efapci_LDADD)

dist_man_MANS += src/efasim/efasim.1 src/efasim/efapci.1
bin_PROGRAMS += bin/efasim
bin_efasim_SOURCES = $(command_sources) \
	src/efasim/cli/cli.h src/efasim/cli/join.c src/efasim/cli/main.c \
	src/efasim/cli/program.c src/efasim/cli/rows.c src/efasim/cli/rows.h \
	src/efasim/cli/run.c src/efasim/cli/stat.c
bin_efasim_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -DSIMDIR='"$(simdir)"'
bin_efasim_CFLAGS = $(BASE_CFLAGS)
bin_efasim_LDFLAGS =
bin_efasim_LDADD = $(call efasim_objects,$(efasim_engine_sources)) \
	$(call efasim_objects,$(efasim_fabric_sources))
bin_efasim_DEPENDENCIES = $(bin_efasim_LDADD)
