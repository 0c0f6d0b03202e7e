/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* The BPF machine has 64-bit longs, whatever the host that compiles. */
#define __BITS_PER_LONG 64
#include <asm-generic/bitsperlong.h>
