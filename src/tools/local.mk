# SPDX-License-Identifier: BSD-3-Clause
# srd_info: what UCX makes of the EFA devices here. It shares the module's code of the
# device; UCX is opened at run time, and not needed.
bin_PROGRAMS += bin/srd_info
bin_srd_info_SOURCES = \
	src/files/output.c src/files/output.h $(command_sources) \
	src/tools/check_device.c \
	src/tools/check_gpu.c \
	src/tools/check_mpi.c \
	src/tools/check_ucx.c \
	src/tools/counters.c \
	src/tools/info.c src/tools/info.h \
	src/tools/map.c \
	src/tools/places.c \
	src/tools/plan.c \
	src/tools/probe.c src/tools/probe.h \
	src/tools/probe_ucx.c \
	src/tools/python.c \
	src/tools/show.c \
	src/tools/srd_info.c \
	src/tools/top.c \
	src/tools/selftest/limits.c \
	src/tools/selftest/link.c src/tools/selftest/link.h \
	src/tools/selftest/memory.c \
	src/tools/selftest/order.c \
	src/tools/selftest/pair.c src/tools/selftest/pair.h \
	src/tools/selftest/qp.c src/tools/selftest/qp.h \
	src/tools/selftest/queues.c \
	src/tools/selftest/report.c \
	src/tools/selftest/run.c \
	src/tools/selftest/selftest.h \
	src/tools/selftest/serve.c src/tools/selftest/serve.h \
	src/tools/selftest/speed.c \
	src/tools/selftest/status.c \
	src/tools/selftest/ucx.c
bin_srd_info_CPPFLAGS = $(AM_CPPFLAGS) -DLIBDIR='"$(libdir)"'
bin_srd_info_LDFLAGS  = $(AM_LDFLAGS)
bin_srd_info_LDADD    = $(srd_info_module) $(HWLOC_LIBS) -ldl -lpthread
bin_srd_info_DEPENDENCIES = $(srd_info_module)

# The viewer of --top, which Python runs as a folder, beside the module.
topdir   = $(moddir)/srd_top
top_DATA = $(addprefix lib/srd_top/,__main__.py headline.py network.py pages.py show.py \
	terminal.py view.py)

lib/srd_top/%.py: $(srcdir)/src/tools/top/%.py
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)cp $< $@

EXTRA_DIST += $(patsubst lib/srd_top/%,src/tools/top/%,$(top_DATA))
CLEANFILES += $(top_DATA)

# The module's objects that it has, too.
srd_info_module = $(patsubst %,src/uct/ib/%.o,\
	base/lib_libuct_srd_so_0-base_config \
	base/lib_libuct_srd_so_0-base_sizing \
	efa/lib_libuct_srd_so_0-efa_ah \
	efa/lib_libuct_srd_so_0-efa_chunk \
	efa/lib_libuct_srd_so_0-efa_cpus \
	efa/lib_libuct_srd_so_0-efa_device \
	efa/lib_libuct_srd_so_0-efa_speed \
	efa/lib_libuct_srd_so_0-efa_direct \
	efa/lib_libuct_srd_so_0-efa_direct_test \
	efa/lib_libuct_srd_so_0-efa_gid \
	efa/lib_libuct_srd_so_0-efa_gpu \
	efa/lib_libuct_srd_so_0-efa_network \
	efa/lib_libuct_srd_so_0-efa_promise \
	efa/lib_libuct_srd_so_0-efa_qp \
	efa/lib_libuct_srd_so_0-efa_queue \
	efa/lib_libuct_srd_so_0-efa_self \
	efa/lib_libuct_srd_so_0-efa_verbs) \
	src/ucp_hooks/lib_libuct_srd_so_0-global.o

# bin/srdrun runs in place from the build tree and is installed as it is: it
# looks for the module beside itself first, then where it is installed.
bin_SCRIPTS += bin/srdrun

bin/srdrun: $(srcdir)/src/tools/srdrun.in config.status
	@$(MKDIR_P) bin
	$(AM_V_GEN)sed -e 's|%VERSION%|$(PACKAGE_VERSION)|g' \
	    -e 's|%LIBDIR%|$(libdir)|g' \
	    -e 's|%SANITIZER_RUNTIME%|$(SANITIZER_RUNTIME)|g' \
	    $(srcdir)/src/tools/srdrun.in >$@.tmp && chmod +x $@.tmp && \
	    mv -f $@.tmp $@

# The opt-in way without srdrun for UCX up to 1.21, and Python's.
sbin_SCRIPTS += sbin/srd_systemwide

sbin/srd_systemwide: $(srcdir)/src/tools/srd_systemwide.in config.status
	@$(MKDIR_P) sbin
	$(AM_V_GEN)sed -e 's|%VERSION%|$(PACKAGE_VERSION)|g' \
	    -e 's|%LIBDIR%|$(libdir)|g' \
	    $(srcdir)/src/tools/srd_systemwide.in >$@.tmp && chmod +x $@.tmp && \
	    mv -f $@.tmp $@

EXTRA_DIST += src/tools/srdrun.in src/tools/srd_systemwide.in
CLEANFILES += bin/srdrun sbin/srd_systemwide

# One completion, of each program's --help, under the name of each.
completions_DATA = $(addprefix completion/,efapci efasim srd_info srd_replay \
	srd_systemwide srdrun)

$(completions_DATA): $(srcdir)/src/tools/completion.bash
	@$(MKDIR_P) completion
	$(AM_V_GEN)sed -e 's|%PROGRAM%|$(@F)|g' $< >$@

EXTRA_DIST += src/tools/completion.bash
CLEANFILES += $(completions_DATA)

# The page of all, of what stands elsewhere.
page_sources = README.md src/flow/limits.h src/uct/ib/base/base_config.h \
	src/uct/ib/variables.def src/ucp_hooks/global.c

man_MANS += ucx-efa-srd.7

ucx-efa-srd.7: $(srcdir)/src/tools/man/ucx-efa-srd.7.awk \
		$(addprefix $(srcdir)/,$(page_sources))
	$(AM_V_GEN)awk -f $^ >$@.tmp && mv -f $@.tmp $@

EXTRA_DIST += src/tools/man/ucx-efa-srd.7.awk
CLEANFILES += ucx-efa-srd.7

dist_man_MANS += src/tools/man/srd_info.1 src/tools/man/srdrun.1 \
                 src/tools/man/srd_systemwide.8
