# SPDX-License-Identifier: BSD-3-Clause
# The transports: what of the module calls verbs and serves UCT. Linked into
# lib/libuct_srd.so.0 by src/ucp_hooks/local.mk.
uct_ib_sources = \
	src/uct/ib/component.c \
	src/uct/ib/efa/efa_addr.h \
	src/uct/ib/efa/efa_ah.c src/uct/ib/efa/efa_ah.h \
	src/uct/ib/efa/efa_arm.c \
	src/uct/ib/efa/efa_break.c \
	src/uct/ib/efa/efa_chores.c \
	src/uct/ib/efa/efa_block.h \
	src/uct/ib/efa/efa_chunk.c src/uct/ib/efa/efa_chunk.h \
	src/uct/ib/efa/efa_config.c \
	src/uct/ib/efa/efa_core.c \
	src/uct/ib/efa/efa_cpus.c src/uct/ib/efa/efa_cpus.h \
	src/uct/ib/efa/efa_device.c src/uct/ib/efa/efa_device.h \
	src/uct/ib/efa/efa_ep.c src/uct/ib/efa/efa_ep.h \
	src/uct/ib/efa/efa_events.c src/uct/ib/efa/efa_events.h \
	src/uct/ib/efa/efa_flush.c \
	src/uct/ib/efa/efa_gpu.c \
	src/uct/ib/efa/efa_iface.c src/uct/ib/efa/efa_iface.h \
	src/uct/ib/efa/efa_again.c \
	src/uct/ib/efa/efa_lent.c \
	src/uct/ib/efa/efa_md.c src/uct/ib/efa/efa_md.h \
	src/uct/ib/efa/efa_mr.c \
	src/uct/ib/efa/efa_numbers.c src/uct/ib/efa/efa_numbers.h \
	src/uct/ib/efa/efa_op.c src/uct/ib/efa/efa_op.h \
	src/uct/ib/efa/efa_pending.c \
	src/uct/ib/efa/efa_poll.c \
	src/uct/ib/efa/efa_post.c \
	src/uct/ib/efa/efa_qp.c src/uct/ib/efa/efa_qp.h \
	src/uct/ib/efa/efa_rcache.c src/uct/ib/efa/efa_rcache.h \
	src/uct/ib/efa/efa_report.c \
	src/uct/ib/efa/efa_rxq.c src/uct/ib/efa/efa_rxq.h \
	src/uct/ib/efa/efa_stash.c \
	src/uct/ib/efa/efa_trace.c src/uct/ib/efa/efa_trace.h \
	src/uct/ib/efa/efa_trial.c \
	src/uct/ib/efa/efa_verbs.c src/uct/ib/efa/efa_verbs.h \
	src/uct/ib/efa/efa_vfs.c src/uct/ib/efa/efa_vfs.h \
	src/uct/ib/efa/efa_wireup.c \
	src/uct/ib/srd/srd.h \
	src/uct/ib/srd/srd_am.c \
	src/uct/ib/srd/srd_checked.c \
	src/uct/ib/srd/srd_config.c \
	src/uct/ib/srd/srd_get.c \
	src/uct/ib/srd/srd_iface.c \
	src/uct/ib/srd/srd_put.c \
	src/uct/ib/srd/srd_query.c \
	src/uct/ib/srd/srd_rma.c src/uct/ib/srd/srd_rma.h

mod_PROGRAMS += lib/libuct_srd.so.0
