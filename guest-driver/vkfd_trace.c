// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code of the tracepoints.
 */
#define CREATE_TRACE_POINTS
#include "vkfd_trace.h"
