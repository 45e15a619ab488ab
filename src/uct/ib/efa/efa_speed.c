/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_speed.h"

#include <string.h>

#define EFA_SPEED_NDR 128   /* the last code that fits in active_speed: faster
                               ones stand there as this */
#define EFA_SPEED_LANE 25e9 /* of a driver that tells none: EDR */
#define EFA_SPEED_UNIT 1e8  /* of ibv_query_port_speed */

/* struct ibv_port_attr as it is since rdma-core 48: the header at hand may be
 * older, and so may the library, which then leaves the last field at 0. */
typedef union efa_speed_attr {
    struct ibv_port_attr attr;
    struct {
        uint8_t  before[52];
        uint32_t active_speed_ex; /* 0: active_speed says it */
    } ex;
} efa_speed_attr_t;

_Static_assert(offsetof(struct ibv_port_attr, port_cap_flags2) == 48,
               "active_speed_ex lies behind port_cap_flags2");

static double efa_speed_lane(unsigned code)
{
    static const double gbits[] = {2.5,  5.0,  10.0,  10.3125, 14.0625,
                                   25.0, 50.0, 100.0, 200.0};
    const unsigned      count   = sizeof(gbits) / sizeof(gbits[0]);
    unsigned            i;

    if (code == 0) {
        return EFA_SPEED_LANE;
    }
    for (i = 0; i < count - 1; ++i) {
        if (code == (1u << i)) {
            break;
        }
    }
    return gbits[i] * 1e9;
}

static unsigned efa_speed_lanes(unsigned code)
{
    switch (code) {
    case 1:
        return 1;
    case 4:
        return 8;
    case 8:
        return 12;
    case 16:
        return 2;
    default:
        return 4;
    }
}

double efa_speed_of_codes(unsigned speed, unsigned width)
{
    return efa_speed_lane(speed) * efa_speed_lanes(width);
}

static unsigned efa_speed_code(struct ibv_context *context, uint8_t port,
                               const struct ibv_port_attr *attr)
{
    struct verbs_context *verbs = verbs_get_ctx_op(context, query_port);
    efa_speed_attr_t      more;

    memset(&more, 0, sizeof(more));
    if ((attr->active_speed < EFA_SPEED_NDR) || (verbs == NULL) ||
        (verbs->query_port(context, port, &more.attr, sizeof(more)) != 0) ||
        (more.ex.active_speed_ex == 0)) {
        return attr->active_speed;
    }
    return more.ex.active_speed_ex;
}

double efa_speed_of_port(const efa_verbs_t *verbs, struct ibv_context *context,
                         uint8_t port, const struct ibv_port_attr *attr)
{
    uint64_t speed = 0;

    if ((verbs->query_port_speed != NULL) &&
        (verbs->query_port_speed(context, port, &speed) == 0) && (speed > 0)) {
        return speed * EFA_SPEED_UNIT;
    }
    return efa_speed_of_codes(efa_speed_code(context, port, attr),
                              attr->active_width);
}
