# SPDX-License-Identifier: BSD-3-Clause
# test/gpu: an emulated GPU, as the libraries that UCX's CUDA modules want, and a
# program that moves its memory. Built without sanitizers, as what is preloaded.
gpu_cppflags = $(AM_CPPFLAGS) -D_GNU_SOURCE
# (what a call has and an emulation does not need is no mistake)
gpu_cflags   = $(BASE_CFLAGS) -fPIC -fvisibility=hidden -Wno-unused-parameter
gpu_ldflags  = -shared -Wl,-z,defs -pthread

check_PROGRAMS += test/gpu/libcuda.so.1
test_gpu_libcuda_so_1_SOURCES = test/gpu/cuda/cuda_abi.h test/gpu/cuda/gpu.h \
	src/efasim/driver/gpu_fd.h \
	test/gpu/cuda/copy.c test/gpu/cuda/device.c test/gpu/cuda/entry.c \
	test/gpu/cuda/hooked.c test/gpu/cuda/memory.c test/gpu/cuda/pointer.c
test_gpu_libcuda_so_1_CPPFLAGS = $(gpu_cppflags)
test_gpu_libcuda_so_1_CFLAGS   = $(gpu_cflags)
test_gpu_libcuda_so_1_LDFLAGS  = $(gpu_ldflags) -Wl,-soname,libcuda.so.1
test_gpu_libcuda_so_1_LDADD    = -ldl

check_PROGRAMS += test/gpu/libnvidia-ml.so.1
test_gpu_libnvidia_ml_so_1_SOURCES  = test/gpu/cuda/nvml.c
test_gpu_libnvidia_ml_so_1_CPPFLAGS = $(gpu_cppflags)
test_gpu_libnvidia_ml_so_1_CFLAGS   = $(gpu_cflags)
test_gpu_libnvidia_ml_so_1_LDFLAGS  = $(gpu_ldflags) \
	-Wl,-soname,libnvidia-ml.so.1

# The runtime of CUDA 12 and 13: one source, two names and versions of symbols.
test_gpu_cudart_sources = test/gpu/cuda/cudart.c
test_gpu_cudart_ldflags = $(gpu_ldflags) \
	-Wl,--version-script=$(srcdir)/test/gpu/cuda
EXTRA_DIST += test/gpu/cuda/cudart12.map test/gpu/cuda/cudart13.map \
	test/gpu/facts.txt test/gpu/gpu_facts.py test/gpu/on-hardware.sh \
	test/gpu/pictures.py test/gpu/ucx.sh \
	test/gpu/python/device_memory.py test/gpu/python/nixl_vram.py \
	test/gpu/python/ucxx_device.py

check_PROGRAMS += test/gpu/libcudart.so.12
test_gpu_libcudart_so_12_SOURCES  = $(test_gpu_cudart_sources)
test_gpu_libcudart_so_12_CPPFLAGS = $(gpu_cppflags)
test_gpu_libcudart_so_12_CFLAGS   = $(gpu_cflags)
test_gpu_libcudart_so_12_LDFLAGS  = $(test_gpu_cudart_ldflags)/cudart12.map \
	-Wl,-soname,libcudart.so.12
test_gpu_libcudart_so_12_LDADD    = test/gpu/libcuda.so.1

check_PROGRAMS += test/gpu/libcudart.so.13
test_gpu_libcudart_so_13_SOURCES  = $(test_gpu_cudart_sources)
test_gpu_libcudart_so_13_CPPFLAGS = $(gpu_cppflags)
test_gpu_libcudart_so_13_CFLAGS   = $(gpu_cflags)
test_gpu_libcudart_so_13_LDFLAGS  = $(test_gpu_cudart_ldflags)/cudart13.map \
	-Wl,-soname,libcudart.so.13
test_gpu_libcudart_so_13_LDADD    = test/gpu/libcuda.so.1

check_PROGRAMS += test/ucp_gpu
test_ucp_gpu_SOURCES = $(test_apps_common) test/gpu/ucp_gpu.c \
	test/gpu/device.c test/gpu/device.h test/gpu/cuda/cuda_abi.h
test_ucp_gpu_LDADD   = $(UCP_LIBS) -ldl

check_PROGRAMS += test/ucp_device
test_ucp_device_SOURCES = $(test_apps_common) test/gpu/ucp_device.c \
	test/gpu/device_blocks.c test/gpu/device_blocks.h \
	test/gpu/device_host.c test/gpu/device_host.h \
	test/gpu/device_list.c test/gpu/device_list.h \
	test/gpu/device.c test/gpu/device.h test/gpu/cuda/cuda_abi.h
test_ucp_device_LDADD   = $(UCP_LIBS) -ldl
# No GNU hash table tells that it uses the device API, as in small C programs.
test_ucp_device_LDFLAGS = -Wl,--hash-style=sysv

check_PROGRAMS += test/ucp_device_wrong
test_ucp_device_wrong_SOURCES = $(test_apps_common) \
	test/gpu/ucp_device_wrong.c test/gpu/device_list.c \
	test/gpu/device_list.h test/gpu/device.c test/gpu/device.h \
	test/gpu/cuda/cuda_abi.h
test_ucp_device_wrong_LDADD   = $(UCP_LIBS) -ldl

# By MPI's compiler wrapper, hence a rule of its own.
test_mpi_gpu_sources = $(srcdir)/test/gpu/mpi_gpu.c $(srcdir)/test/gpu/device.c \
	$(srcdir)/test/apps/fill.c
if HAVE_MPI
check_DATA += test/mpi_gpu
endif
test/mpi_gpu: $(test_mpi_gpu_sources) $(srcdir)/test/gpu/device.h \
	$(srcdir)/test/gpu/cuda/cuda_abi.h $(srcdir)/test/apps/fill.h
	@$(MKDIR_P) test
	$(AM_V_CC)$(MPICC) $(BASE_CFLAGS) -I$(srcdir) -I$(srcdir)/src -O2 -g -o $@ \
	    $(test_mpi_gpu_sources) -ldl
EXTRA_DIST += test/gpu/mpi_gpu.c test/gpu/accidents.sh test/gpu/device_api.sh
CLEANFILES += test/mpi_gpu
