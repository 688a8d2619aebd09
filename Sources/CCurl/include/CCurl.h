#ifndef DLD_CCURL_H
#define DLD_CCURL_H

// Typed doors to libcurl's variadic calls, which Swift cannot call. Every function returns libcurl's own code.
// Manual: curl_easy_setopt(3), curl_easy_getinfo(3), curl_multi_setopt(3).

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

typedef size_t (*dld_body_callback)(char *bytes, size_t size, size_t count, void *context);
typedef int (*dld_seek_callback)(void *context, curl_off_t offset, int origin);
typedef int (*dld_begin_callback)(
    void *context, char *remote, char *local, int remote_port, int local_port);
typedef int (*dld_progress_callback)(
    void *context, curl_off_t expected, curl_off_t received, curl_off_t to_send, curl_off_t sent);
typedef int (*dld_trace_callback)(CURL *easy, curl_infotype kind, char *bytes, size_t count, void *context);
typedef int (*dld_socket_callback)(CURL *easy, curl_socket_t socket, int what, void *context, void *socket_context);
typedef int (*dld_timer_callback)(CURLM *multi, long milliseconds, void *context);

CURLcode dld_easy_set_long(CURL *easy, CURLoption option, long value);
CURLcode dld_easy_set_offset(CURL *easy, CURLoption option, curl_off_t value);
CURLcode dld_easy_set_string(CURL *easy, CURLoption option, const char *value);
CURLcode dld_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value);
/// Copies the bytes.
CURLcode dld_easy_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count);
CURLcode dld_easy_set_pointer(CURL *easy, CURLoption option, void *value);

/// The two callbacks of a response and the pointer both are given; libcurl keeps the pointer and never frees it.
CURLcode dld_easy_set_response_callbacks(
    CURL *easy, dld_body_callback body, dld_body_callback header, void *context);

/// Takes back what belongs to one transfer: the pointer of its callbacks, its texts and lists.
void dld_easy_forget(CURL *easy);

/// Where a request's body comes from, how it is rewound, and the pointer both are given.
CURLcode dld_easy_set_upload_callbacks(
    CURL *easy, dld_body_callback read, dld_seek_callback seek, void *context);

/// Called before each request that libcurl puts on a connection, repetitions of its own included
/// (CURLOPT_PREREQFUNCTION(3)).
CURLcode dld_easy_set_begin_callback(CURL *easy, dld_begin_callback begin, void *context);

/// Asked while libcurl works and once a second while it waits; anything but 0 ends the transfer.
CURLcode dld_easy_set_progress_callback(CURL *easy, dld_progress_callback progress, void *context);

/// Where known host keys are, and a key callback that refuses every key but a matching one.
CURLcode dld_easy_set_known_hosts(CURL *easy, const char *path);

/// Has libcurl tell what it does, sends and receives (CURLOPT_DEBUGFUNCTION(3)).
CURLcode dld_easy_set_trace(CURL *easy, dld_trace_callback trace, void *context);

/// Opens sockets close-on-exec: a program that is started must not keep a connection open.
CURLcode dld_easy_set_private_sockets(CURL *easy);

CURLcode dld_easy_get_long(CURL *easy, CURLINFO info, long *value);
CURLcode dld_easy_get_offset(CURL *easy, CURLINFO info, curl_off_t *value);
CURLcode dld_easy_get_pointer(CURL *easy, void **value);

/// How far a request came: microseconds since libcurl began it, 0 for what did not happen. A repetition of libcurl's own
/// adds its times to those of the request before (CURLINFO_NAMELOOKUP_TIME_T(3) and its like).
typedef struct {
    /// 0 before libcurl 8.6.
    int64_t queued;
    int64_t looked_up;
    int64_t connected;
    int64_t secured;
    /// Right before the transfer itself, and when its first byte came.
    int64_t ready;
    int64_t answered;
    /// Connections made.
    int64_t connects;
} dld_steps;

dld_steps dld_easy_get_steps(CURL *easy);

/// When the last request was sent whole, as in `dld_steps`; 0 before libcurl 8.10.
int64_t dld_easy_get_sent(CURL *easy);

/// One end of the connection that is or was used: its address, as text that stays until the handle is used again, and port.
/// Empty if there is none.
const char *dld_easy_get_endpoint(CURL *easy, bool is_remote, long *port);

/// Bytes of all requests that libcurl sent for the handle, without bodies that callbacks brought; and bytes of the body
/// that it read, as they came.
void dld_easy_get_volume(CURL *easy, int64_t *requested, int64_t *received);

/// 1 if the transfer goes through a proxy, 0 if not, -1 if this libcurl does not tell (before 8.7).
int dld_easy_uses_proxy(CURL *easy);

/// TLS version and cipher of the connection that carries the transfer now, as OpenSSL names them; both texts stay for
/// ever. False if there is no TLS, or libcurl has another TLS library than this program.
bool dld_easy_get_tls(CURL *easy, const char **version, const char **cipher);

/// Whether libcurl has the very OpenSSL that this program has.
bool dld_curl_shares_openssl(void);

/// What a TLS server shows and wants in a handshake. It is kept until the next handshake; connections keep the watch under
/// which they were made, so that a server that speaks up later finds it there.
typedef struct dld_tls_watch dld_tls_watch;

typedef enum { DLD_TLS_CERTIFICATES, DLD_TLS_AUTHORITIES } dld_tls_list;

enum {
    /// Of a list no more is kept.
    DLD_TLS_MOST_ITEMS = 64,
    DLD_TLS_MOST_BYTES = 32 << 10,
    DLD_TLS_KEY_LENGTH = 32,
};

/// A watch with one reference; NULL without memory.
/// `stops_for_certificate`: end the handshake, before a byte of a request, if the server wants a certificate and none is set.
/// `pin`: the one key that is trusted, as CURLOPT_PINNEDPUBLICKEY takes it, or NULL. A server with another key is shown no
/// certificate.
dld_tls_watch *dld_tls_watch_new(bool stops_for_certificate, const char *pin);
void dld_tls_watch_release(dld_tls_watch *watch);

/// Has the connections that are made for the handle watched. `watch` must live as long as the handle has it.
/// CURLE_NOT_BUILT_IN if libcurl has another TLS library.
CURLcode dld_easy_set_tls_watch(CURL *easy, dld_tls_watch *watch);

/// The certificates that the server showed, its own first (DER, RFC 5280), or the names of authorities whose certificates
/// it takes (DER, RFC 5280 section 4.1.2.4).
size_t dld_tls_watch_count(const dld_tls_watch *watch, dld_tls_list list);
const uint8_t *dld_tls_watch_item(const dld_tls_watch *watch, dld_tls_list list, size_t index, size_t *length);
/// SHA-256 of the server's SubjectPublicKeyInfo; NULL if it showed no certificate.
const uint8_t *dld_tls_watch_key(const dld_tls_watch *watch);
/// The handshake was ended because of it.
bool dld_tls_watch_wants_certificate(const dld_tls_watch *watch);
/// The handshake was ended because the server wanted a certificate and has another key than the pinned one.
bool dld_tls_watch_shows_another_key(const dld_tls_watch *watch);
/// What OpenSSL's verification found (X509_verify_cert_error_string(3)); NULL if nothing. It compares no names.
const char *dld_tls_watch_fault(const dld_tls_watch *watch);

CURLMcode dld_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLMcode dld_multi_set_callbacks(
    CURLM *multi, dld_socket_callback on_socket, dld_timer_callback on_timer, void *context);

/// The next finished transfer, if there is one; `result` is its code.
CURL *dld_multi_next_done(CURLM *multi, CURLcode *result);

/// Steps every transfer, whether or not its sockets are ready.
CURLMcode dld_multi_step_all(CURLM *multi);

/// Once per process, before any other thread runs libcurl.
CURLcode dld_curl_global_init(void);

// Bit sets whose macros carry casts that Swift does not import.
extern const long DLD_AUTH_BASIC;
extern const long DLD_AUTH_BASIC_DIGEST;
extern const long DLD_AUTH_NTLM;
extern const long DLD_SSH_AUTH_ALL;
extern const size_t DLD_WRITE_PAUSE;
extern const size_t DLD_READ_PAUSE;
extern const size_t DLD_READ_ABORT;
extern const curl_socket_t DLD_SOCKET_TIMEOUT;

#endif
