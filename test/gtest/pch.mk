# SPDX-License-Identifier: BSD-3-Clause
# gtest's header and those of C++ that many tests want, precompiled, for the objects of the programs that append to
# gtest_objects in their local.mk.
gtest_objects =
if GTEST_PCH
gtest_pch     = test/gtest/pch.h.gch
gtest_include = -include test/gtest/pch.h

test/gtest/pch.h.gch: $(srcdir)/test/gtest/pch.mk config.status \
		$(wildcard /usr/include/gtest/gtest.h)
	@$(MKDIR_P) test/gtest
	@printf '#include <%s>\n' gtest/gtest.h algorithm chrono functional map \
	    memory random set string thread vector >test/gtest/pch.h
	$(AM_V_CXX)$(CXX) $(DEFS) $(AM_CPPFLAGS) $(CPPFLAGS) \
	    $(BASE_CXXFLAGS) $(TEST_CXXFLAGS) $(SANITIZE_CFLAGS) $(CXXFLAGS) \
	    $(PCH_CXXFLAGS) -x c++-header -o $@ test/gtest/pch.h
endif
CLEANFILES += test/gtest/pch.h test/gtest/pch.h.gch
