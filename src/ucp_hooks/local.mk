# SPDX-License-Identifier: BSD-3-Clause
# How we hook into the UCX of the process. The module is linked here, of these
# sources, the transports' (src/uct/ib) and the protocol core's objects. Its
# only needed library is libc; UCX, libibverbs and libefa are looked up in the
# process, so no program fails to start because of it.
ucp_hooks_sources = \
	src/ucp_hooks/abi.h \
	src/ucp_hooks/abi_iface.inc \
	src/ucp_hooks/abi_layout.h \
	src/ucp_hooks/abi_md.inc \
	src/ucp_hooks/abi_tables.inc \
	src/ucp_hooks/apart.c \
	src/ucp_hooks/calls.c \
	src/ucp_hooks/calls.h \
	src/ucp_hooks/components.c \
	src/ucp_hooks/components.h \
	src/ucp_hooks/config.c \
	src/ucp_hooks/config.h \
	src/ucp_hooks/counters.c \
	src/ucp_hooks/fallback.c \
	src/ucp_hooks/fallback.h \
	src/ucp_hooks/find.c \
	src/ucp_hooks/find.h \
	src/ucp_hooks/global.c \
	src/ucp_hooks/global.h \
	src/ucp_hooks/hooks.c \
	src/ucp_hooks/host.c \
	src/ucp_hooks/host.h \
	src/ucp_hooks/iface.c \
	src/ucp_hooks/message.c \
	src/ucp_hooks/message.h \
	src/ucp_hooks/minors.h \
	src/ucp_hooks/near.c \
	src/ucp_hooks/near.h \
	src/ucp_hooks/provider.h \
	src/ucp_hooks/tls.c \
	src/ucp_hooks/tls.h

ucp_hooks_map = $(srcdir)/src/ucp_hooks/hooks.map

# nodelete: UCX keeps pointers to our tables. A shared object that is built
# with clang's sanitizers leaves their symbols undefined, hence no -z defs.
ucp_hooks_cflags  = $(AM_CFLAGS) -fPIC -fvisibility=hidden
ucp_hooks_ldflags = $(AM_LDFLAGS) -shared -Wl,-z,nodelete -Wl,-z,relro \
	-Wl,--as-needed -Wl,--version-script=$(ucp_hooks_map)
if !SANITIZERS
ucp_hooks_ldflags += -Wl,-z,defs
endif

EXTRA_DIST += src/ucp_hooks/hooks.map src/ucp_hooks/abi.c

# One object for each minor that minors.h lists, all of abi.c. (A parenthesis
# alone would end make's call.)
ucx_minors := $(shell sed -n 's/^ *X.\([0-9]*\),.*/\1/p' \
	$(srcdir)/src/ucp_hooks/minors.h)
ucx_abi_objects = $(patsubst %,\
	src/ucp_hooks/lib_libuct_srd_so_0-abi_1_%.o,$(ucx_minors))

$(ucx_abi_objects): src/ucp_hooks/lib_libuct_srd_so_0-abi_1_%.o: \
		$(srcdir)/src/ucp_hooks/abi.c
	@$(MKDIR_P) src/ucp_hooks
	$(AM_V_CC)$(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) \
		$(ucp_hooks_cflags) $(CFLAGS) -DUCX_MINOR=$* -MMD -MP -c -o $@ $<

-include $(ucx_abi_objects:.o=.d)

CLEANFILES += $(ucx_abi_objects) $(ucx_abi_objects:.o=.d)

# src/uct/ib/local.mk says what is in uct_ib_sources, and that the module is to
# be built.
lib_libuct_srd_so_0_SOURCES      = $(ucp_hooks_sources) $(uct_ib_sources) \
	$(record_sources)
lib_libuct_srd_so_0_CFLAGS       = $(ucp_hooks_cflags)
lib_libuct_srd_so_0_LDFLAGS      = $(ucp_hooks_ldflags) -Wl,-soname,libuct_srd.so.0
lib_libuct_srd_so_0_LDADD        = $(ucx_abi_objects) $(flow_objects)
lib_libuct_srd_so_0_DEPENDENCIES = $(ucx_abi_objects) $(flow_objects) \
	$(ucp_hooks_map)

# Only for src/tools/srd_systemwide.in.
mod_PROGRAMS += lib/srd_shim.so
lib_srd_shim_so_SOURCES = src/ucp_hooks/shim.c
lib_srd_shim_so_CFLAGS  = $(BASE_CFLAGS) -fPIC -fvisibility=hidden
lib_srd_shim_so_LDFLAGS = -shared -Wl,-z,defs -Wl,-z,relro -Wl,--as-needed
lib_srd_shim_so_LDADD   = -ldl
