// Streaming decoders of HTTP's content codings: zlib for gzip (RFC 1952) and deflate (RFC 1950, 1951), libbrotlidec for br
// (RFC 7932), libzstd for zstd (RFC 8878). The last two are loaded when they are first needed. They are installed with libcurl;
// without them, only these codings are missing.
#ifndef DLD_CODINGS_H
#define DLD_CODINGS_H

#include <stddef.h>
#include <stdint.h>

enum { DLD_CODING_GZIP = 0, DLD_CODING_DEFLATE = 1, DLD_CODING_BROTLI = 2, DLD_CODING_ZSTD = 3 };
enum { DLD_DECODE_MORE = 0, DLD_DECODE_END = 1, DLD_DECODE_BAD = -1, DLD_DECODE_MEMORY = -2, DLD_DECODE_WINDOW = -3 };

// Whether this machine has the coding's library.
int dld_can_decode(int coding);

typedef struct dld_decoder dld_decoder;
// `first` are the first two coded bytes. They distinguish deflate in zlib's format from the raw deflate that some servers send.
// Returns NULL if memory is short or the library is missing.
dld_decoder *dld_decoder_create(int coding, const uint8_t *first, size_t first_length);
// Decodes. Before the call, the two lengths are those of the input and of the room for output; after it, the bytes that were
// used. After DLD_DECODE_END, reset the decoder before the next call.
// DLD_DECODE_WINDOW: the body is zstd with a larger window than a content coding may have.
int dld_decoder_step(dld_decoder *decoder, const uint8_t *input, size_t *input_length, uint8_t *output,
                     size_t *output_length);
// Prepares for another gzip member or zstd frame. Returns DLD_DECODE_MORE, or DLD_DECODE_BAD if the coding has no such parts.
int dld_decoder_reset(dld_decoder *decoder);
void dld_decoder_destroy(dld_decoder *decoder);

// Compresses into gzip's format. Returns the length, or 0 if `room` is too short or memory is.
size_t dld_gzip(const uint8_t *input, size_t input_length, uint8_t *output, size_t room);

#endif
