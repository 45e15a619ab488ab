/* SPDX-License-Identifier: BSD-3-Clause */
/* A stand-in libucp over hooks_fake_uct.c; it calls itself FAKE_UCP (1.N). */
int uct_query_components(void *components_p, unsigned *num_components_p);
unsigned fake_ucp_components(void);

unsigned fake_ucp_components(void)
{
    void *components;
    unsigned count = 0;

    return (uct_query_components(&components, &count) == 0) ? count : 0;
}

#ifdef FAKE_UCP
void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release);
void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release)
{
    *major   = 1;
    *minor   = FAKE_UCP;
    *release = 0;
}
#endif
