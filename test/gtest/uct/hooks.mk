# Tests of src/ucp_hooks: a module of the same sources with a provider of the
# tests' own (no device, a loopback transport), and programs that load it.
noinst_PROGRAMS += obj/hooks/libuct_hooktest.so.0
obj_hooks_libuct_hooktest_so_0_SOURCES = \
	test/gtest/uct/hooks_provider.c \
	$(ucp_hooks_sources)
obj_hooks_libuct_hooktest_so_0_CFLAGS  = $(ucp_hooks_cflags)
obj_hooks_libuct_hooktest_so_0_LDFLAGS = $(ucp_hooks_ldflags) \
	-Wl,-soname,libuct_hooktest.so.0
obj_hooks_libuct_hooktest_so_0_DEPENDENCIES = $(ucp_hooks_map)
