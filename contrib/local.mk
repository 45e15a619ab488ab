# SPDX-License-Identifier: BSD-3-Clause
pythondir    = $(moddir)/python
python_DATA += lib/python/sitecustomize.py
packagedir    = $(pythondir)/ucx_efa_srd
package_DATA = lib/python/ucx_efa_srd/__init__.py \
               lib/python/ucx_efa_srd/__main__.py

# The examples, as programs of the package: python -m ucx_efa_srd.examples.NAME.
pyexamplesdir    = $(packagedir)/examples
pyexamples_DATA  = lib/python/ucx_efa_srd/examples/__init__.py \
                   lib/python/ucx_efa_srd/examples/__main__.py \
                   lib/python/ucx_efa_srd/examples/dask_cluster.py \
                   lib/python/ucx_efa_srd/examples/efa_counters.py \
                   lib/python/ucx_efa_srd/examples/nixl_transfer.py \
                   lib/python/ucx_efa_srd/examples/ucxx_pingpong.py

lib/python/ucx_efa_srd/examples/%.py: $(srcdir)/contrib/examples/%.py
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)cp $< $@

dist_doc_DATA      = README.md NEWS LICENSE CONTRIBUTING.md
dist_pages_DATA    = docs/BENCH.md docs/DESIGN.md docs/EFA-FACTS.md \
                     docs/EMULATOR.md docs/GPU.md docs/INSTALL.md docs/MPI.md \
                     docs/PROTOCOL.md docs/PYTHON.md docs/RECORD.md \
                     docs/TESTING.md docs/TROUBLESHOOTING.md \
                     docs/UCX-VERSIONS.md docs/UD.md
dist_pictures_DATA = docs/bench/kv.png docs/bench/trace.png
dist_deploy_DATA   = contrib/deploy/Dockerfile contrib/deploy/README.md \
                     contrib/deploy/efa-metrics.service \
                     contrib/deploy/efa-metrics.timer \
                     contrib/deploy/kubernetes.yaml \
                     contrib/deploy/parallelcluster-install.sh \
                     contrib/deploy/parallelcluster.yaml \
                     contrib/deploy/slurm.sbatch
dist_examples_DATA = contrib/examples/dask_cluster.py \
                     contrib/examples/efa_counters.py \
                     contrib/examples/efa_top_prom.py \
                     contrib/examples/mpi_ring.c \
                     contrib/examples/nixl_transfer.py \
                     contrib/examples/ucxx_pingpong.py

lib/python/%.py: $(srcdir)/contrib/package/python/%.py
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)cp $< $@

EXTRA_DIST += contrib/package/python/sitecustomize.py \
              contrib/package/python/ucx_efa_srd/__init__.py \
              contrib/package/python/ucx_efa_srd/__main__.py \
              contrib/package/python/ucx_efa_srd/examples/__init__.py \
              contrib/package/python/ucx_efa_srd/examples/__main__.py
CLEANFILES += lib/python/sitecustomize.py \
              lib/python/ucx_efa_srd/__init__.py \
              lib/python/ucx_efa_srd/__main__.py $(pyexamples_DATA)

pkgconfigdir    = $(libdir)/pkgconfig
pkgconfig_DATA += lib/ucx-efa-srd.pc

lib/ucx-efa-srd.pc: $(srcdir)/contrib/package/ucx-efa-srd.pc.in config.status
	@$(MKDIR_P) lib
	$(AM_V_GEN)sed -e 's|%VERSION%|$(PACKAGE_VERSION)|g' \
	    -e 's|%PREFIX%|$(prefix)|g' -e 's|%LIBDIR%|$(libdir)|g' \
	    $(srcdir)/contrib/package/ucx-efa-srd.pc.in >$@.tmp && mv -f $@.tmp $@

EXTRA_DIST += contrib/package/ucx-efa-srd.pc.in contrib/package/make_deb.sh \
              contrib/package/make_rpm.sh contrib/package/make_wheel.py contrib/package/portable.sh
CLEANFILES += lib/ucx-efa-srd.pc

# A Debian package for this release, in deb/.
deb:
	@$(srcdir)/contrib/package/make_deb.sh --tools
	$(MAKE) $(AM_MAKEFLAGS) dist
	$(srcdir)/contrib/package/make_deb.sh $(distdir).tar.xz $(PACKAGE_VERSION) deb

# For every Linux with glibc 2.17 or newer, x86-64 and aarch64, in portable/.
portable:
	$(srcdir)/contrib/package/portable.sh --dir portable $(ARCHS)

wheel:
	$(srcdir)/contrib/package/portable.sh --dir portable --wheel $(ARCHS)

rpm:
	$(srcdir)/contrib/package/portable.sh --dir portable --rpm $(ARCHS)

# Files that are no source of a program: whole folders, so that none is forgotten.
dist-hook:
	(cd $(srcdir) && tar -cf - --exclude=__pycache__ docs test bench \
	    contrib .ci .clang-format) | (cd $(distdir) && tar -xf -)
	chmod -R u+w,go-w $(distdir)

# Our own folders; UCX's, and those of the system, only if they are empty.
uninstall-hook:
	-for folder in "$(picturesdir)" "$(pagesdir)" "$(deploydir)" "$(examplesdir)" \
	    "$(docdir)/contrib" "$(docdir)" "$(pyexamplesdir)" "$(packagedir)" \
	    "$(pythondir)" "$(topdir)" "$(moddir)" "$(simdir)"; do \
	    rmdir "$(DESTDIR)$$folder" 2>/dev/null; done

.PHONY: deb portable wheel rpm

EXTRA_DIST += contrib/ci/build.sh \
              contrib/ci/chroot.sh contrib/ci/anyone.sh \
              contrib/ci/common.sh contrib/ci/limit.sh contrib/ci/ports.sh \
              contrib/ci/packages.sh contrib/quickstart.sh contrib/test.sh \
              contrib/ci/lsan.supp autogen.sh

# Programs of the suites, or those in `programs`, beside those of "all"; behind it, as
# "all" is a make of its own, and two would compile the objects that programs share.
programs = $(check_PROGRAMS) $(check_DATA)
test-programs: all
	$(MAKE) $(AM_MAKEFLAGS) $(programs)
list-programs:
	@echo $(programs)

# make check: the suites on this build, all or those in SUITES.
check-local:
	$(srcdir)/contrib/test.sh --in . $(SUITES)

.PHONY: test-programs list-programs check-local distclean-local

# Files that the test command leaves in a build folder.
DISTCLEANFILES = configured-for
distclean-local:
	rm -rf clang sanitize logs deb portable turns
	rm -f suite_*.log suite_*.out suite_*.sum failures.log
	-rmdir bin sbin lib/python/ucx_efa_srd/examples lib/python/ucx_efa_srd lib/python lib/srd_top lib obj/flow obj 2>/dev/null
