/* SPDX-License-Identifier: MIT */
/*
 * Holding back the GPU's interrupts: MSI-X's function mask, in PCI configuration
 * space. Messages sent meanwhile stay pending in the device and come with the unmask.
 */
#ifndef VKFD_TEST_MSIX_H
#define VKFD_TEST_MSIX_H

#include <stdbool.h>

/* Finds the GPU bound to vkfd. False if there is none with MSI-X to be seen. */
bool msix_open(void);

/* After msix_open(). Ends the program if configuration space cannot be written. */
void msix_hold(bool hold);

#endif /* VKFD_TEST_MSIX_H */
