#define _GNU_SOURCE
#include "dld_crc32c.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#define POLYNOMIAL 0x82F63B78u

static uint32_t table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void fill_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
        table[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int slice = 1; slice < 8; slice++)
            table[slice][i] = table[slice - 1][i] >> 8 ^ table[0][table[slice - 1][i] & 0xFF];
}

uint32_t dld_crc32c_portable(uint32_t crc, const void *bytes, size_t count) {
    pthread_once(&table_once, fill_table);
    const unsigned char *next = bytes;
    crc = ~crc;
    while (count >= 8) {
        uint32_t low = crc
            ^ ((uint32_t)next[0] | (uint32_t)next[1] << 8 | (uint32_t)next[2] << 16 | (uint32_t)next[3] << 24);
        crc = table[7][low & 0xFF] ^ table[6][low >> 8 & 0xFF] ^ table[5][low >> 16 & 0xFF] ^ table[4][low >> 24]
            ^ table[3][next[4]] ^ table[2][next[5]] ^ table[1][next[6]] ^ table[0][next[7]];
        next += 8;
        count -= 8;
    }
    while (count--) crc = crc >> 8 ^ table[0][(crc ^ *next++) & 0xFF];
    return ~crc;
}

// The product of two polynomials modulo the CRC's polynomial, with reflected bits.
static uint32_t multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        if (a & bit) product ^= b;
        b = b & 1 ? b >> 1 ^ POLYNOMIAL : b >> 1;
    }
    return product;
}

// The value of `crc` after `length` more zero bytes, without the inversions at both ends.
static uint32_t shift(uint32_t crc, uint64_t length) {
    uint32_t power = 1u << 23;  // x^8: one byte
    while (length) {
        if (length & 1) crc = multiply(power, crc);
        power = multiply(power, power);
        length >>= 1;
    }
    return crc;
}

uint32_t dld_crc32c_suffix(uint32_t crc_a, uint32_t crc_ab, uint64_t length_b) {
    return crc_ab ^ shift(crc_a, length_b);
}

#if defined(__x86_64__)

#define LANE ((size_t)8192)

static uint32_t lane_shift[4][256];  // the effect of LANE zero bytes on each byte of a CRC
static pthread_once_t lane_once = PTHREAD_ONCE_INIT;

static void fill_lanes(void) {
    for (int byte = 0; byte < 4; byte++)
        for (uint32_t value = 0; value < 256; value++) lane_shift[byte][value] = shift(value << 8 * byte, LANE);
}

static uint32_t shift_lane(uint32_t crc) {
    return lane_shift[0][crc & 0xFF] ^ lane_shift[1][crc >> 8 & 0xFF] ^ lane_shift[2][crc >> 16 & 0xFF]
        ^ lane_shift[3][crc >> 24];
}

// The instruction takes three cycles, and one can start in each cycle. Three independent lanes keep the processor busy.
__attribute__((target("sse4.2"))) static uint32_t crc32c_hardware(uint32_t crc, const void *bytes, size_t count) {
    pthread_once(&lane_once, fill_lanes);
    const unsigned char *next = bytes;
    uint64_t a = (uint32_t)~crc, word;
    while (count >= 3 * LANE) {
        uint64_t b = 0, c = 0;
        for (size_t i = 0; i < LANE; i += 8) {
            memcpy(&word, next + i, 8);
            a = _mm_crc32_u64(a, word);
            memcpy(&word, next + LANE + i, 8);
            b = _mm_crc32_u64(b, word);
            memcpy(&word, next + 2 * LANE + i, 8);
            c = _mm_crc32_u64(c, word);
        }
        a = shift_lane((uint32_t)a) ^ b;
        a = shift_lane((uint32_t)a) ^ c;
        next += 3 * LANE;
        count -= 3 * LANE;
    }
    while (count >= 8) {
        memcpy(&word, next, 8);
        a = _mm_crc32_u64(a, word);
        next += 8;
        count -= 8;
    }
    while (count--) a = _mm_crc32_u8((uint32_t)a, *next++);
    return ~(uint32_t)a;
}

uint32_t dld_crc32c(uint32_t crc, const void *bytes, size_t count) {
    if (__builtin_cpu_supports("sse4.2")) return crc32c_hardware(crc, bytes, count);
    return dld_crc32c_portable(crc, bytes, count);
}

#elif defined(__aarch64__)

__attribute__((target("crc"))) static uint32_t crc32c_hardware(uint32_t crc, const void *bytes, size_t count) {
    const unsigned char *next = bytes;
    uint64_t word;
    crc = ~crc;
    while (count >= 8) {
        memcpy(&word, next, 8);
        crc = __builtin_arm_crc32cd(crc, word);
        next += 8;
        count -= 8;
    }
    while (count--) crc = __builtin_arm_crc32cb(crc, *next++);
    return ~crc;
}

uint32_t dld_crc32c(uint32_t crc, const void *bytes, size_t count) {
    if (getauxval(AT_HWCAP) & HWCAP_CRC32) return crc32c_hardware(crc, bytes, count);
    return dld_crc32c_portable(crc, bytes, count);
}

#else

uint32_t dld_crc32c(uint32_t crc, const void *bytes, size_t count) { return dld_crc32c_portable(crc, bytes, count); }

#endif
