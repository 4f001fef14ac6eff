/* SPDX-License-Identifier: MIT */
#ifndef VKFD_TEST_BUS_ERROR_H
#define VKFD_TEST_BUS_ERROR_H

#include <stdbool.h>

/* Whether reading at @p ends in SIGBUS; anywhere else that ends the process. One thread's. */
bool bus_error_at(const volatile void *p);

#endif /* VKFD_TEST_BUS_ERROR_H */
