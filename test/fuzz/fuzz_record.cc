/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording (src/record): whatever the file says, srd_replay's own code and
 * the core that it calls stay within their memory. The input is laid over a
 * good one: bytes at some places, then calls behind it.
 */
#include "fuzz.h"

extern "C" {
#include "flow/image.h"
#include "tools/replay/run_call.h"
}

namespace {

const size_t SEGMENT = 1u << 19;
const unsigned CHANGES_MAX = 16;

/* A file with one segment: a core that has just begun. */
std::vector<uint64_t> good(flow_profile_t profile)
{
    std::vector<uint64_t> bytes((RECORD_PAGE + RECORD_SEGMENTS * SEGMENT) / 8);
    auto head    = (record_head_t*)bytes.data();
    auto segment = (record_segment_t*)((uint8_t*)head + RECORD_PAGE);
    fuzz::Core core(1, profile), peer(2, profile);
    record_t record = {};

    record.core = core.core;
    core.open(peer);
    core.progress();
    if (!record_file_image(&record, segment, SEGMENT)) {
        abort();
    }
    segment->sequence  = 1;
    head->magic        = RECORD_MAGIC;
    head->version      = RECORD_VERSION;
    head->segments     = RECORD_SEGMENTS;
    head->segment_size = SEGMENT;
    head->layout       = flow_image_layout();
    return bytes;
}

} /* namespace */

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const std::vector<uint64_t> srd = good(FLOW_SRD), ud = good(FLOW_UD);
    fuzz::Input input(data, size);
    uint8_t first = input.byte();
    const std::vector<uint64_t> &from = (first & 1) ? ud : srd;
    static std::vector<uint64_t> bytes = srd;
    auto file     = (uint8_t*)bytes.data();
    auto segment  = (record_segment_t*)(file + RECORD_PAGE);
    uint64_t used;
    static run_t run;
    replay_file_t look;
    char why[512];

    flow_test::asserts_expected = UINT32_MAX;
    memcpy(file, from.data(), RECORD_PAGE + SEGMENT);
    used = segment->used;
    for (unsigned left = (first >> 1) % CHANGES_MAX; left > 0; --left) {
        uint32_t place = input.byte();
        place |= (uint32_t)input.byte() << 8 | (uint32_t)input.byte() << 16;
        place %= RECORD_PAGE + used;
        if ((place < RECORD_PAGE) || (place >= RECORD_PAGE +
                                                       sizeof(*segment))) {
            file[place] = input.byte();
        }
    }
    while (!input.empty() && (segment->used < SEGMENT)) {
        ((uint8_t*)segment)[segment->used++] = input.byte();
    }
    if (file_look(&look, file, bytes.size() * 8, why, sizeof(why)) != nullptr) {
        return 0;
    }
    memset(&run, 0, sizeof(run));
    run.file    = &look;
    run.goes_on = 1;
    run_file(&run);
    run_memory_free(&run);
    return 0;
}
