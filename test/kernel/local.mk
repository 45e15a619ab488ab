# SPDX-License-Identifier: BSD-3-Clause
# test/kernel: what runs under the kernel's own driver, in a virtual machine.
check_PROGRAMS += test/kernel/probe
test_kernel_probe_SOURCES = test/kernel/probe.c test/kernel/probe.h \
	test/kernel/device.c test/kernel/device.h \
	test/kernel/probe_counters.c test/kernel/probe_data.c test/kernel/probe_device.c \
	test/kernel/probe_execve.c test/kernel/probe_handles.c \
	test/kernel/probe_huge.c test/kernel/probe_mappings.c \
	test/kernel/probe_memory.c test/kernel/probe_processes.c \
	test/kernel/probe_queues.c test/kernel/probe_states.c
test_kernel_probe_CPPFLAGS = -D_GNU_SOURCE
test_kernel_probe_CFLAGS = $(BASE_CFLAGS)
test_kernel_probe_LDFLAGS =
test_kernel_probe_LDADD = -lefa -libverbs

check_PROGRAMS += test/kernel/far
test_kernel_far_SOURCES = test/kernel/far.c test/kernel/device.c \
	test/kernel/device.h
test_kernel_far_CPPFLAGS = -D_GNU_SOURCE -I$(srcdir)/src
test_kernel_far_CFLAGS = $(BASE_CFLAGS)
test_kernel_far_LDFLAGS =
test_kernel_far_LDADD = -lefa -libverbs
