#ifndef DLD_CRC32C_H
#define DLD_CRC32C_H

#include <stddef.h>
#include <stdint.h>

// CRC-32C (Castagnoli, RFC 3720 appendix B.4), with the processor's instruction if it has one.

/// Continues `crc` over `count` bytes. `crc` is 0 at first.
uint32_t dld_crc32c(uint32_t crc, const void *bytes, size_t count);

/// The same in portable code. Tests compare the processor's instruction with it.
uint32_t dld_crc32c_portable(uint32_t crc, const void *bytes, size_t count);

/// The CRC of B alone, computed from the CRC of A, the CRC of A followed by B, and the length of B.
uint32_t dld_crc32c_suffix(uint32_t crc_a, uint32_t crc_ab, uint64_t length_b);

#endif
