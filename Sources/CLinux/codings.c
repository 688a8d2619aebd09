#define _GNU_SOURCE
#include "dld_codings.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <zlib.h>

// The parts of the libraries' interfaces that are used here. An interface does not change within a major version, which is part
// of the library's name.

enum { BROTLI_FAILED = 0, BROTLI_SUCCESS = 1, BROTLI_NO_MEMORY_FIRST = -30, BROTLI_NO_MEMORY_LAST = -21 };

static struct {
    void *(*create)(void *, void *, void *);
    int (*decompress)(void *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *);
    int (*error)(const void *);
    void (*destroy)(void *);
    int is_there;
} brotli;

struct zstd_output {
    void *bytes;
    size_t size, position;
};
struct zstd_input {
    const void *bytes;
    size_t size, position;
};
enum { ZSTD_WINDOW_TOO_LARGE = 16, ZSTD_NO_MEMORY = 64, ZSTD_LARGEST_WINDOW = 100 };

static struct {
    void *(*create)(void);
    size_t (*set)(void *, int, int);
    size_t (*decompress)(void *, struct zstd_output *, struct zstd_input *);
    unsigned (*is_error)(size_t);
    int (*error)(size_t);
    size_t (*destroy)(void *);
    int is_there;
} zstd;

static pthread_once_t loaded = PTHREAD_ONCE_INIT;

static void load(void) {
    void *library = dlopen("libbrotlidec.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
        *(void **)&brotli.create = dlsym(library, "BrotliDecoderCreateInstance");
        *(void **)&brotli.decompress = dlsym(library, "BrotliDecoderDecompressStream");
        *(void **)&brotli.error = dlsym(library, "BrotliDecoderGetErrorCode");
        *(void **)&brotli.destroy = dlsym(library, "BrotliDecoderDestroyInstance");
        brotli.is_there = brotli.create && brotli.decompress && brotli.error && brotli.destroy;
    }
    library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
        *(void **)&zstd.create = dlsym(library, "ZSTD_createDStream");
        *(void **)&zstd.set = dlsym(library, "ZSTD_DCtx_setParameter");
        *(void **)&zstd.decompress = dlsym(library, "ZSTD_decompressStream");
        *(void **)&zstd.is_error = dlsym(library, "ZSTD_isError");
        *(void **)&zstd.error = dlsym(library, "ZSTD_getErrorCode");
        *(void **)&zstd.destroy = dlsym(library, "ZSTD_freeDStream");
        zstd.is_there =
            zstd.create && zstd.set && zstd.decompress && zstd.is_error && zstd.error && zstd.destroy;
    }
}

int dld_can_decode(int coding) {
    pthread_once(&loaded, load);
    switch (coding) {
    case DLD_CODING_GZIP:
    case DLD_CODING_DEFLATE: return 1;
    case DLD_CODING_BROTLI: return brotli.is_there;
    case DLD_CODING_ZSTD: return zstd.is_there;
    default: return 0;
    }
}

struct dld_decoder {
    int coding;
    z_stream stream;
    // The decoder of brotli or zstd.
    void *state;
};

// The largest window of zstd as a content coding is 8 MiB (RFC 9659 section 3).
static const int largest_zstd_window = 23;

static int begin(dld_decoder *decoder, const uint8_t *first, size_t first_length) {
    switch (decoder->coding) {
    case DLD_CODING_BROTLI:
        decoder->state = brotli.create(NULL, NULL, NULL);
        return decoder->state != NULL;
    case DLD_CODING_ZSTD:
        decoder->state = zstd.create();
        return decoder->state != NULL
               && !zstd.is_error(zstd.set(decoder->state, ZSTD_LARGEST_WINDOW, largest_zstd_window));
    default: {
        // RFC 1950: the low nibble of the first byte is 8, and the two bytes are a multiple of 31. If there is only one byte, it
        // decides alone: in raw deflate it would begin a stored block whose padding is not zero.
        int is_zlib = first_length >= 1 && (first[0] & 0x0f) == 8
                      && (first_length < 2 || ((first[0] << 8) | first[1]) % 31 == 0);
        int window = decoder->coding == DLD_CODING_GZIP ? 15 + 16 : is_zlib ? 15 : -15;
        return inflateInit2(&decoder->stream, window) == Z_OK;
    }
    }
}

dld_decoder *dld_decoder_create(int coding, const uint8_t *first, size_t first_length) {
    if (!dld_can_decode(coding)) return NULL;
    dld_decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder == NULL) return NULL;
    decoder->coding = coding;
    if (!begin(decoder, first, first_length)) {
        dld_decoder_destroy(decoder);
        return NULL;
    }
    return decoder;
}

static int inflate_step(dld_decoder *decoder, const uint8_t *input, size_t *input_length, uint8_t *output,
                        size_t *output_length) {
    z_stream *stream = &decoder->stream;
    size_t in = *input_length, out = *output_length;
    stream->next_in = (Bytef *)input;
    stream->avail_in = (uInt)in;
    stream->next_out = output;
    stream->avail_out = (uInt)out;
    int result = inflate(stream, Z_NO_FLUSH);
    *input_length = in - stream->avail_in;
    *output_length = out - stream->avail_out;
    switch (result) {
    case Z_OK:
    case Z_BUF_ERROR: return DLD_DECODE_MORE;
    case Z_STREAM_END: return DLD_DECODE_END;
    case Z_MEM_ERROR: return DLD_DECODE_MEMORY;
    default: return DLD_DECODE_BAD;
    }
}

static int brotli_step(dld_decoder *decoder, const uint8_t *input, size_t *input_length, uint8_t *output,
                       size_t *output_length) {
    size_t in = *input_length, out = *output_length;
    int result = brotli.decompress(decoder->state, &in, &input, &out, &output, NULL);
    *input_length -= in;
    *output_length -= out;
    if (result == BROTLI_SUCCESS) return DLD_DECODE_END;
    if (result != BROTLI_FAILED) return DLD_DECODE_MORE;
    int error = brotli.error(decoder->state);
    return error >= BROTLI_NO_MEMORY_FIRST && error <= BROTLI_NO_MEMORY_LAST ? DLD_DECODE_MEMORY : DLD_DECODE_BAD;
}

static int zstd_step(dld_decoder *decoder, const uint8_t *input, size_t *input_length, uint8_t *output,
                     size_t *output_length) {
    struct zstd_input in = {input, *input_length, 0};
    struct zstd_output out = {output, *output_length, 0};
    size_t result = zstd.decompress(decoder->state, &out, &in);
    *input_length = in.position;
    *output_length = out.position;
    if (zstd.is_error(result)) {
        int error = zstd.error(result);
        if (error == ZSTD_NO_MEMORY) return DLD_DECODE_MEMORY;
        return error == ZSTD_WINDOW_TOO_LARGE ? DLD_DECODE_WINDOW : DLD_DECODE_BAD;
    }
    return result == 0 ? DLD_DECODE_END : DLD_DECODE_MORE;
}

int dld_decoder_step(dld_decoder *decoder, const uint8_t *input, size_t *input_length, uint8_t *output,
                     size_t *output_length) {
    switch (decoder->coding) {
    case DLD_CODING_BROTLI: return brotli_step(decoder, input, input_length, output, output_length);
    case DLD_CODING_ZSTD: return zstd_step(decoder, input, input_length, output, output_length);
    default: return inflate_step(decoder, input, input_length, output, output_length);
    }
}

int dld_decoder_reset(dld_decoder *decoder) {
    switch (decoder->coding) {
    case DLD_CODING_GZIP: return inflateReset(&decoder->stream) == Z_OK ? DLD_DECODE_MORE : DLD_DECODE_BAD;
    // zstd begins the next frame by itself.
    case DLD_CODING_ZSTD: return DLD_DECODE_MORE;
    default: return DLD_DECODE_BAD;
    }
}

void dld_decoder_destroy(dld_decoder *decoder) {
    if (decoder == NULL) return;
    switch (decoder->coding) {
    case DLD_CODING_BROTLI:
        if (decoder->state != NULL) brotli.destroy(decoder->state);
        break;
    case DLD_CODING_ZSTD:
        if (decoder->state != NULL) zstd.destroy(decoder->state);
        break;
    default: inflateEnd(&decoder->stream);
    }
    free(decoder);
}

size_t dld_gzip(const uint8_t *input, size_t input_length, uint8_t *output, size_t room) {
    z_stream stream = {0};
    // 16 more than the window's bits asks for gzip in place of zlib's format.
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    stream.next_in = (uint8_t *)input;
    stream.avail_in = (uInt)input_length;
    stream.next_out = output;
    stream.avail_out = (uInt)room;
    int result = deflate(&stream, Z_FINISH);
    deflateEnd(&stream);
    return result == Z_STREAM_END ? room - stream.avail_out : 0;
}
