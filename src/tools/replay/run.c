/* SPDX-License-Identifier: BSD-3-Clause */
#include "run.h"
#include "run_call.h"
#include "text.h"

#include <flow/image.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The run whose core is called now: an assertion of it has no argument. */
static run_t *run_current;

void run_assertion(const char *expression)
{
    if (run_current != NULL) {
        run_current->assertion = expression;
    }
}

static run_end_t run_damaged(run_t *run, const char *why)
{
    snprintf(run->why, sizeof(run->why), "damaged at call %llu: %s",
             (unsigned long long)run->call, why);
    return RUN_DAMAGED;
}

/* The operations that the core had linked. */
static run_end_t run_load_ops(run_t *run, const record_segment_t *segment)
{
    const uint8_t *at = (const uint8_t*)(segment + 1) + segment->image_size;
    record_op_t    saved;
    run_op_t      *op;
    uint32_t       i;

    for (i = 0; i < segment->ops; ++i, at += sizeof(saved)) {
        memcpy(&saved, at, sizeof(saved));
        op = run_memory_op(run, saved.id);
        if (op == NULL) {
            return RUN_MEMORY;
        }
        if (op->is_cores && (op->in.op.psn != saved.psn)) {
            return run_damaged(run, "an operation of two messages");
        }
        op->is_cores     = 1;
        op->in.op.psn    = saved.psn;
        op->in.op.flags  = saved.flags;
        op->in.op.linked = saved.linked;
        op->in.op.sent   = saved.sent;
        if (!flow_image_put(run->core, &op->in.op, saved.place, saved.tx)) {
            return run_damaged(run, "an operation where there is no place");
        }
    }
    return RUN_SAME;
}

/* The next part of an image, at *at, in memory of its own. */
static run_end_t run_load_part(run_t *run, const uint8_t **at,
                               const uint8_t *end, size_t size, void **mem)
{
    if ((size_t)(end - *at) < size) {
        return run_damaged(run, "no image of a core");
    }
    *mem = run_memory_get(run, size);
    if (*mem == NULL) {
        return RUN_MEMORY;
    }
    memcpy(*mem, *at, size);
    *at += size;
    return RUN_SAME;
}

/* The core as it was when the segment began. */
static run_end_t run_load(run_t *run, const record_segment_t *segment)
{
    const uint8_t *at   = (const uint8_t*)(segment + 1);
    const uint8_t *end  = at + segment->image_size;
    flow_params_t  none = {.grant = 0};
    size_t         size = flow_core_size(&none);
    const char    *error;
    run_end_t      result;
    uint32_t       part;
    void          *mem;

    run->call = segment->first_call - 1;
    result    = run_load_part(run, &at, end, size, &mem);
    if (result != RUN_SAME) {
        return result;
    }
    run->core = flow_image_begin(mem, size, at - size, size);
    if ((run->core == NULL) ||
        (segment->parts != flow_image_parts(run->core))) {
        return run_damaged(run, "no image of a core");
    }
    for (part = 1; part < segment->parts; ++part) {
        result = run_load_part(run, &at, end,
                               flow_image_size(run->core, part), &mem);
        if (result != RUN_SAME) {
            return result;
        }
        flow_image_load(run->core, part, mem);
    }
    result = run_load_ops(run, segment);
    error  = flow_image_end(run->core);
    if ((result == RUN_SAME) && (error != NULL)) {
        return run_damaged(run, error);
    }
    return result;
}

/* A segment follows: is the core what it says? */
static run_end_t run_compare(run_t *run, const record_segment_t *segment)
{
    const uint8_t    *then = (const uint8_t*)(segment + 1);
    size_t            bytes = segment->image_size +
                              segment->ops * sizeof(record_op_t);
    size_t            size = sizeof(*segment) + bytes, same;
    record_segment_t *now  = run_memory_get(run, size);

    if (now == NULL) {
        return RUN_MEMORY;
    }
    if (segment->first_call != run->call + 1) {
        return run_damaged(run, "calls are missing");
    }
    if (!record_file_image(&run->record, now, size) ||
        (now->image_size != segment->image_size) ||
        (now->ops != segment->ops)) {
        snprintf(run->why, sizeof(run->why),
                 "behind call %llu the core is of another size",
                 (unsigned long long)run->call);
        return RUN_DIFFERS;
    }
    for (same = 0; same < bytes; ++same) {
        if (((const uint8_t*)(now + 1))[same] != then[same]) {
            snprintf(run->why, sizeof(run->why),
                     "behind call %llu the core differs, at byte %zu of its "
                     "image, though all answers were the same",
                     (unsigned long long)run->call, same);
            return RUN_DIFFERS;
        }
    }
    return RUN_SAME;
}

/* The first difference of a call, which was recorded between `then` and
 * `end`. */
static run_end_t run_differs(run_t *run, const record_call_t *call,
                             const record_base_t *base, size_t length)
{
    record_base_t  before = *base;
    const uint8_t *at     = run->again;
    FILE          *why    = fmemopen(run->why, sizeof(run->why) - 1, "w");
    record_call_t  now;

    if (why == NULL) {
        return RUN_MEMORY;
    }
    fprintf(why, "call %llu differs\n  recorded: ",
            (unsigned long long)run->call);
    text_call(why, call);
    fputs("\n  replayed: ", why);
    if (record_format_read(&at, run->again + length, &before, &now)) {
        text_call(why, &now);
    } else {
        fputs("something else", why);
    }
    fclose(why);
    return RUN_DIFFERS;
}

/* One call, whose bytes end at `end`. */
static run_end_t run_one(run_t *run, const record_call_t *call,
                         const record_base_t *base, const uint8_t *then,
                         size_t length)
{
    const char *error;
    size_t      again;

    run->record.pos = run->again;
    run->assertion  = NULL;
    error           = run_call(run, call);
    if (error != NULL) {
        return run_damaged(run, error);
    }
    again = (size_t)(run->record.pos - run->again);
    if ((run->assertion != NULL) && !run->goes_on) {
        snprintf(run->why, sizeof(run->why),
                 "in call %llu an assertion of the core failed: %s",
                 (unsigned long long)run->call, run->assertion);
        return RUN_DIFFERS;
    }
    if (!run->goes_on &&
        ((again != length) || (memcmp(run->again, then, length) != 0))) {
        return run_differs(run, call, base, again);
    }
    if (run->seen != NULL) {
        run->seen(run->arg, run, call,
                  record_kind_is_packet(call->kind) ? run->packet : NULL);
    }
    return RUN_SAME;
}

static const uint8_t *run_calls(const record_segment_t *segment)
{
    return (const uint8_t*)(segment + 1) + segment->image_size +
           segment->ops * sizeof(record_op_t);
}

static run_end_t run_segment(run_t *run, const record_segment_t *segment)
{
    const uint8_t *end  = (const uint8_t*)segment + segment->used;
    const uint8_t *at   = run_calls(segment);
    run_end_t      result = RUN_SAME;
    record_base_t  base = {0, 0, 0, 0}, before;
    record_call_t  call;
    const uint8_t *then;

    memset(&run->record.base, 0, sizeof(run->record.base));
    while ((result == RUN_SAME) && (at < end) &&
           ((run->until == 0) || (run->call < run->until))) {
        ++run->call;
        then   = at;
        before = base;
        if (!record_format_read(&at, end, &base, &call)) {
            return run_damaged(run, "no call");
        }
        run->base = base;
        result    = run_one(run, &call, &before, then, (size_t)(at - then));
    }
    return result;
}

static run_end_t run_segments(run_t *run)
{
    run_end_t result = run_load(run, run->file->segment[0]);
    unsigned  i;

    if (result != RUN_SAME) {
        return result;
    }
    run->record.core    = run->core;
    run->record.replays = 1;
    run->record.calls   = run->call;
    flow_core_set_user(run->core, &run->record);
    for (i = 0; (i < run->file->count) && (result == RUN_SAME); ++i) {
        if ((run->until != 0) && (run->call >= run->until)) {
            break;
        }
        if (i > 0) {
            result = run_compare(run, run->file->segment[i]);
        }
        if (result == RUN_SAME) {
            result = run_segment(run, run->file->segment[i]);
        }
    }
    return result;
}

run_end_t run_file(run_t *run)
{
    run_end_t result;

    run_current = run;
    result      = run_segments(run);
    run_current = NULL;
    if (result == RUN_MEMORY) {
        snprintf(run->why, sizeof(run->why), "out of memory");
    }
    return result;
}

uint64_t run_first_time(const replay_file_t *file)
{
    const uint8_t *at, *end;
    record_base_t  base;
    record_call_t  call;
    unsigned       i;

    for (i = 0; i < file->count; ++i) {
        at   = run_calls(file->segment[i]);
        end  = (const uint8_t*)file->segment[i] + file->segment[i]->used;
        base = (record_base_t){0, 0, 0, 0};
        while ((at < end) && record_format_read(&at, end, &base, &call)) {
            if (call.time != 0) {
                return call.time;
            }
        }
    }
    return 0;
}
