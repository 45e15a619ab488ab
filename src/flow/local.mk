# SPDX-License-Identifier: BSD-3-Clause
# The protocol core is compiled once, to obj/flow/*.o, and the same objects go
# into the module, the tests, the simulator and the fuzzers. No stack protector
# and no fortify: the objects may need nothing but mem* and flow_assert_failed.
flow_c_files = src/flow/core.c src/flow/pool.c src/flow/hash.c src/flow/peer.c \
               src/flow/list.c src/flow/turn.c src/flow/reserve.c src/flow/stranger.c \
               src/flow/tx.c src/flow/resend.c src/flow/rx.c src/flow/ack.c \
               src/flow/grant.c src/flow/pair.c \
               src/flow/ctl.c src/flow/ctl_rx.c src/flow/ctl_wire.c \
               src/flow/event.c src/flow/timer.c src/flow/trace.c \
               src/flow/check.c src/flow/drop.c
flow_h_files = src/flow/flow.h src/flow/core.h src/flow/core_priv.h \
               src/flow/tx.h src/flow/resend.h src/flow/reserve.h src/flow/rx.h src/flow/ctl.h src/flow/event.h \
               src/flow/types.h src/flow/wire.h src/flow/psn.h \
               src/flow/limits.h src/flow/drop.h src/flow/assert.h \
               src/flow/internal.h src/flow/ctl_wire.h
flow_objects = $(patsubst src/flow/%.c,obj/flow/%.o,$(flow_c_files))
flow_cflags  = $(BASE_CFLAGS) $(SANITIZE_CFLAGS) -O2 -g -fPIC -fvisibility=hidden \
               -fno-stack-protector -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0 \
               -ffreestanding -fno-builtin-printf

obj/flow/%.o: $(srcdir)/src/flow/%.c
	@$(MKDIR_P) obj/flow
	$(AM_V_CC)$(CC) -I$(srcdir)/src $(flow_cflags) -MMD -MP -c -o $@ $<

-include $(flow_objects:.o=.d)

EXTRA_DIST += $(flow_c_files) $(flow_h_files)
CLEANFILES += $(flow_objects) $(flow_objects:.o=.d)
