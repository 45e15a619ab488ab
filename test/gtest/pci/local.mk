# SPDX-License-Identifier: BSD-3-Clause
# test/gtest/pci: hostile machines and guests, which speak to a started efapci.
if HAVE_GTEST
check_PROGRAMS += test/gtest_efapci
test_gtest_efapci_SOURCES = \
	test/gtest/pci/client.cc test/gtest/pci/client.h \
	test/gtest/pci/test_descriptor.cc test/gtest/pci/test_guest.cc \
	test/gtest/pci/test_memory.cc test/gtest/pci/test_message.cc
test_gtest_efapci_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
test_gtest_efapci_LDADD = $(GTEST_LIBS)
gtest_objects += $(test_gtest_efapci_OBJECTS)
endif
