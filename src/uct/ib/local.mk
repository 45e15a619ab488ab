# SPDX-License-Identifier: BSD-3-Clause
# The transports: the part of the module that calls verbs and serves UCT. Linked into
# lib/libuct_srd.so.0 by src/ucp_hooks/local.mk.
uct_ib_sources = \
	src/uct/ib/component.c src/uct/ib/variables.def \
	src/uct/ib/efa/efa_ah.c src/uct/ib/efa/efa_ah.h \
	src/uct/ib/efa/efa_block.h \
	src/uct/ib/efa/efa_chunk.c src/uct/ib/efa/efa_chunk.h \
	src/uct/ib/efa/efa_clock.h \
	src/uct/ib/efa/efa_config.h \
	src/uct/ib/efa/efa_cpus.c src/uct/ib/efa/efa_cpus.h \
	src/uct/ib/efa/efa_device.c src/uct/ib/efa/efa_device.h \
	src/uct/ib/efa/efa_barrier.h \
	src/uct/ib/efa/efa_device_mem.c src/uct/ib/efa/efa_device_mem.h \
	src/uct/ib/efa/efa_direct.c src/uct/ib/efa/efa_direct.h \
	src/uct/ib/efa/efa_direct_poll.h src/uct/ib/efa/efa_direct_post.h \
	src/uct/ib/efa/efa_direct_test.c src/uct/ib/efa/efa_direct_test.h \
	src/uct/ib/efa/efa_io.h \
	src/uct/ib/efa/efa_events.c src/uct/ib/efa/efa_events.h \
	src/uct/ib/efa/efa_gid.c src/uct/ib/efa/efa_gid.h \
	src/uct/ib/efa/efa_gpu.c src/uct/ib/efa/efa_gpu.h \
	src/uct/ib/efa/efa_md.c src/uct/ib/efa/efa_md.h \
	src/uct/ib/efa/efa_memh.c src/uct/ib/efa/efa_mr_priv.h \
	src/uct/ib/efa/efa_mr.c src/uct/ib/efa/efa_mr.h \
	src/uct/ib/efa/efa_network.c src/uct/ib/efa/efa_network.h \
	src/uct/ib/efa/efa_promise.c src/uct/ib/efa/efa_promise.h \
	src/uct/ib/efa/efa_qp.c src/uct/ib/efa/efa_qp.h \
	src/uct/ib/efa/efa_speed.c src/uct/ib/efa/efa_speed.h \
	src/util/efa_status.h \
	src/uct/ib/efa/efa_queue.c src/uct/ib/efa/efa_queue.h \
	src/uct/ib/efa/efa_random.h \
	src/uct/ib/efa/efa_rcache.c src/uct/ib/efa/efa_rcache.h \
	src/uct/ib/efa/efa_rkey.c src/uct/ib/efa/efa_rkey.h \
	src/uct/ib/efa/efa_segments.c \
	src/uct/ib/efa/efa_self.c src/uct/ib/efa/efa_self.h \
	src/uct/ib/efa/efa_trial.c src/uct/ib/efa/efa_trial.h \
	src/uct/ib/efa/efa_verbs.c src/uct/ib/efa/efa_verbs.h \
	src/uct/ib/base/base_address.c src/uct/ib/base/base_address.h \
	src/uct/ib/base/base_ah.c src/uct/ib/base/base_ah.h \
	src/uct/ib/base/base_am.c src/uct/ib/base/base_am.h \
	src/uct/ib/base/base_arm.c src/uct/ib/base/base_arm.h \
	src/uct/ib/base/base_checked.c src/uct/ib/base/base_checked.h \
	src/uct/ib/base/base_complete.c src/uct/ib/base/base_complete.h \
	src/uct/ib/base/base_config.c src/uct/ib/base/base_config.h \
	src/uct/ib/base/base_core_events.c src/uct/ib/base/base_core_events.h \
	src/uct/ib/base/base_counters.c src/uct/ib/base/base_counters.h \
	src/uct/ib/base/base_ctl.c src/uct/ib/base/base_ctl.h \
	src/uct/ib/base/base_device_lost.c src/uct/ib/base/base_device_lost.h \
	src/uct/ib/base/base_ep.c src/uct/ib/base/base_ep.h \
	src/uct/ib/base/base_ep_list.c src/uct/ib/base/base_ep_list.h \
	src/uct/ib/base/base_fail.c src/uct/ib/base/base_fail.h \
	src/uct/ib/base/base_flow.c src/uct/ib/base/base_flow.h \
	src/uct/ib/base/base_flush.c src/uct/ib/base/base_flush.h \
	src/uct/ib/base/base_iface.c src/uct/ib/base/base_iface.h \
	src/uct/ib/base/base_lock.h \
	src/uct/ib/base/base_op.c src/uct/ib/base/base_op.h \
	src/uct/ib/base/base_ops.h \
	src/uct/ib/base/base_outstanding.c src/uct/ib/base/base_outstanding.h \
	src/uct/ib/base/base_pending.c src/uct/ib/base/base_pending.h \
	src/uct/ib/base/base_polled.c src/uct/ib/base/base_polled.h \
	src/uct/ib/base/base_post.c src/uct/ib/base/base_post.h \
	src/uct/ib/base/base_probe.c src/uct/ib/base/base_probe.h \
	src/uct/ib/base/base_progress.c src/uct/ib/base/base_progress.h \
	src/uct/ib/base/base_reclaim.c src/uct/ib/base/base_reclaim.h \
	src/uct/ib/base/base_record.c src/uct/ib/base/base_record.h \
	src/uct/ib/base/base_report.c src/uct/ib/base/base_report.h \
	src/uct/ib/base/base_retry.c src/uct/ib/base/base_retry.h \
	src/uct/ib/base/base_rx.c src/uct/ib/base/base_rx.h \
	src/uct/ib/base/base_rxq.c src/uct/ib/base/base_rxq.h \
	src/uct/ib/base/base_sizing.c src/uct/ib/base/base_sizing.h \
	src/uct/ib/base/base_top.c src/uct/ib/base/base_top.h \
	src/uct/ib/base/base_top_bytes.c src/uct/ib/base/base_top_bytes.h \
	src/uct/ib/base/base_top_look.c src/uct/ib/base/base_top_look.h \
	src/uct/ib/base/base_top_page.h \
	src/uct/ib/base/base_trace.c src/uct/ib/base/base_trace.h \
	src/uct/ib/base/base_tx.c src/uct/ib/base/base_tx.h \
	src/uct/ib/base/base_types.h \
	src/uct/ib/base/base_vfs.c src/uct/ib/base/base_vfs.h \
	src/uct/ib/base/base_wireup.c src/uct/ib/base/base_wireup.h \
	src/uct/ib/srd/srd.h \
	src/uct/ib/srd/srd_am.c src/uct/ib/srd/srd_am.h \
	src/uct/ib/srd/srd_direct.c src/uct/ib/srd/srd_direct.h \
	src/uct/ib/srd/srd_estimate.c \
	src/uct/ib/srd/srd_get.c \
	src/uct/ib/srd/srd_iface.c \
	src/uct/ib/srd/srd_list.c src/uct/ib/srd/srd_list.h \
	src/uct/ib/srd/srd_put.c \
	src/uct/ib/srd/srd_query.c \
	src/uct/ib/srd/srd_rma.c src/uct/ib/srd/srd_rma.h \
	src/uct/ib/srd/srd_segments.c src/uct/ib/srd/srd_segments.h \
	src/uct/ib/srd/srd_status.c \
	src/uct/ib/srd_gpu/srd_gpu.h src/uct/ib/srd_gpu/srd_gpu_d2p.h \
	src/uct/ib/srd_gpu/srd_gpu_count.c \
	src/uct/ib/srd_gpu/srd_gpu_cuda.c src/uct/ib/srd_gpu/srd_gpu_cuda.h \
	src/uct/ib/srd_gpu/srd_gpu_iface.c \
	src/uct/ib/srd_gpu/srd_gpu_memory.c \
	src/uct/ib/srd_gpu/srd_gpu_order.c \
	src/uct/ib/srd_gpu/srd_gpu_peer.c \
	src/uct/ib/srd_gpu/srd_gpu_proxy.c \
	src/uct/ib/srd_gpu/srd_gpu_ring.h \
	src/uct/ib/srd_gpu/srd_gpu_thread.c src/uct/ib/srd_gpu/srd_gpu_thread.h \
	src/uct/ib/ud/ud.h \
	src/uct/ib/ud/ud_acks.c \
	src/uct/ib/ud/ud_iface.c \
	src/uct/ib/ud/ud_lock.c src/uct/ib/ud/ud_lock.h \
	src/uct/ib/ud/ud_mtu.c src/uct/ib/ud/ud_mtu.h \
	src/uct/ib/ud/ud_query.c \
	src/uct/ib/ud/ud_timer.c src/uct/ib/ud/ud_timer.h

mod_PROGRAMS += lib/libuct_srd.so.0
