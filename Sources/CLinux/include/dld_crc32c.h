#ifndef DLD_CRC32C_H
#define DLD_CRC32C_H

#include <stddef.h>
#include <stdint.h>

// CRC-32C (Castagnoli, RFC 3720 appendix B.4), by the processor's own instruction where it has one.

/// Continues `crc` (0 for none yet) over `count` bytes.
uint32_t dld_crc32c(uint32_t crc, const void *bytes, size_t count);

/// The same in portable code; what the processor's instruction is tested against.
uint32_t dld_crc32c_portable(uint32_t crc, const void *bytes, size_t count);

/// CRC of B alone, from the CRC of A, that of A followed by B, and B's length.
uint32_t dld_crc32c_suffix(uint32_t crc_a, uint32_t crc_ab, uint64_t length_b);

#endif
