# SPDX-License-Identifier: BSD-3-Clause
# The protocol core is compiled once, to obj/flow/*.o, and the same objects go
# into the module, the tests, the simulator and the fuzzers. No stack protector
# and no fortify: the objects may need nothing but mem* and flow_assert_failed.
flow_c_files = src/flow/ack.c src/flow/alarm.c src/flow/check.c src/flow/core.c \
               src/flow/ctl.c src/flow/ctl_rx.c src/flow/ctl_wire.c \
               src/flow/drain.c \
               src/flow/drop.c src/flow/due.c src/flow/end.c \
               src/flow/event.c src/flow/grant.c src/flow/hand.c \
               src/flow/hash.c src/flow/image.c src/flow/lap.c \
               src/flow/limits.c src/flow/list.c src/flow/look.c \
               src/flow/owner.c src/flow/pair.c \
               src/flow/path.c \
               src/flow/peer.c src/flow/pool.c src/flow/repost.c \
               src/flow/resend.c src/flow/reserve.c src/flow/ring.c \
               src/flow/rx.c src/flow/rx_life.c src/flow/rx_record.c \
               src/flow/rx_stranger.c src/flow/stranger.c \
               src/flow/time_out.c src/flow/timer.c src/flow/timer_run.c \
               src/flow/trace.c src/flow/turn.c src/flow/tx.c \
               src/flow/tx_life.c
# Headers that transports include, and those of the core alone (flow.h).
flow_h_files = src/flow/assert.h src/flow/check.h src/flow/core.h \
               src/flow/ctl.h src/flow/ctl_wire.h src/flow/drop.h \
               src/flow/event.h src/flow/flow.h src/flow/image.h \
               src/flow/limits.h src/flow/look.h \
               src/flow/peer.h src/flow/pool.h src/flow/psn.h \
               src/flow/resend.h src/flow/reserve.h src/flow/ring.h \
               src/flow/rx.h src/flow/timer.h src/flow/trace.h src/flow/tx.h \
               src/flow/types.h src/flow/wire.h
flow_priv_h_files = src/flow/ack_priv.h src/flow/alarm_priv.h src/flow/ctl_priv.h \
                    src/flow/ctl_rx_priv.h src/flow/drain_priv.h \
                    src/flow/drop_priv.h \
                    src/flow/due_priv.h src/flow/end_priv.h \
                    src/flow/fifo_priv.h src/flow/grant_priv.h \
                    src/flow/hand_priv.h src/flow/hash_priv.h \
                    src/flow/lap_priv.h src/flow/list_priv.h \
                    src/flow/owner_priv.h \
                    src/flow/pair_priv.h src/flow/path_priv.h src/flow/peer_priv.h \
                    src/flow/pool_priv.h src/flow/resend_priv.h src/flow/room_priv.h \
                    src/flow/rx_life_priv.h src/flow/rx_priv.h \
                    src/flow/rx_record_priv.h src/flow/rx_stranger_priv.h \
                    src/flow/state_priv.h src/flow/stranger_priv.h \
                    src/flow/time_out_priv.h src/flow/timer_priv.h \
                    src/flow/trace_priv.h src/flow/turn_priv.h \
                    src/flow/tx_life_priv.h src/flow/tx_priv.h
flow_objects = $(patsubst src/flow/%.c,obj/flow/%.o,$(flow_c_files))
flow_cflags  = $(BASE_CFLAGS) $(SANITIZE_CFLAGS) -O2 -g -fPIC -fvisibility=hidden \
               -fno-stack-protector -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0 \
               -ffreestanding -fno-builtin-printf

obj/flow/%.o: $(srcdir)/src/flow/%.c
	@$(MKDIR_P) obj/flow
	$(AM_V_CC)$(CC) -I$(srcdir)/src $(flow_cflags) -MMD -MP -c -o $@ $<

-include $(flow_objects:.o=.d)

EXTRA_DIST += $(flow_c_files) $(flow_h_files) $(flow_priv_h_files) \
              src/util/keyed_hash.h
CLEANFILES += $(flow_objects) $(flow_objects:.o=.d)
