#ifndef DLD_CCURL_H
#define DLD_CCURL_H

// Typed functions for libcurl's variadic calls, which Swift cannot call. Functions that can fail return libcurl's own code.
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
typedef int (*dld_close_callback)(void *context, curl_socket_t socket);
typedef int (*dld_timer_callback)(CURLM *multi, long milliseconds, void *context);

CURLcode dld_easy_set_long(CURL *easy, CURLoption option, long value);
CURLcode dld_easy_set_offset(CURL *easy, CURLoption option, curl_off_t value);
CURLcode dld_easy_set_string(CURL *easy, CURLoption option, const char *value);
CURLcode dld_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value);
/// Copies the bytes.
CURLcode dld_easy_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count);
CURLcode dld_easy_set_pointer(CURL *easy, CURLoption option, void *value);

/// Sets the two callbacks for a response, and the pointer that both get. libcurl keeps the pointer and never frees it.
CURLcode dld_easy_set_response_callbacks(
    CURL *easy, dld_body_callback body, dld_body_callback header, void *context);

/// Resets what belongs to one transfer: the pointer for its callbacks, its texts and lists.
void dld_easy_forget(CURL *easy);

/// Sets the callbacks that read and rewind a request's body, and the pointer that both get.
CURLcode dld_easy_set_upload_callbacks(
    CURL *easy, dld_body_callback read, dld_seek_callback seek, void *context);

/// Sets a callback for the moment before each request on a connection, including libcurl's own repetitions
/// (CURLOPT_PREREQFUNCTION(3)).
CURLcode dld_easy_set_begin_callback(CURL *easy, dld_begin_callback begin, void *context);

/// Sets a callback that is called while libcurl works, and once a second while it waits. A result other than 0 ends the
/// transfer.
CURLcode dld_easy_set_progress_callback(CURL *easy, dld_progress_callback progress, void *context);

/// Sets the file of known host keys, and a callback that refuses every key except a matching one.
CURLcode dld_easy_set_known_hosts(CURL *easy, const char *path);

/// Sets a callback for libcurl's notes, and for what it sends and receives (CURLOPT_DEBUGFUNCTION(3)).
CURLcode dld_easy_set_trace(CURL *easy, dld_trace_callback trace, void *context);

/// Makes libcurl open its sockets close-on-exec, so that started programs do not keep connections open.
/// `device`: every socket is bound to this network device, and none is made if that fails (SO_BINDTOIFINDEX); 0 = none.
/// Connections of one device serve only requests that are bound to it.
CURLcode dld_easy_set_private_sockets(CURL *easy, unsigned device);

/// Sets the callback that closes the sockets of this transfer's new connections.
CURLcode dld_easy_set_close_callback(CURL *easy, dld_close_callback close, void *context);

CURLcode dld_easy_get_long(CURL *easy, CURLINFO info, long *value);
CURLcode dld_easy_get_offset(CURL *easy, CURLINFO info, curl_off_t *value);
CURLcode dld_easy_get_pointer(CURL *easy, void **value);

/// The times of a request's steps, in microseconds since libcurl began it; 0 for a step that did not happen. If libcurl
/// repeats a request by itself, the new times are added to those of the first (CURLINFO_NAMELOOKUP_TIME_T(3) and others).
typedef struct {
    /// 0 before libcurl 8.6.
    int64_t queued;
    int64_t looked_up;
    int64_t connected;
    int64_t secured;
    /// Just before the transfer itself begins.
    int64_t ready;
    /// When the first byte arrived.
    int64_t answered;
    /// The number of connections that were made.
    int64_t connects;
} dld_steps;

dld_steps dld_easy_get_steps(CURL *easy);

/// When the last request was sent completely, as in `dld_steps`; 0 before libcurl 8.10.
int64_t dld_easy_get_sent(CURL *easy);

/// The address and port of one end of the current or last connection. The text is valid until the handle is used again. It is
/// empty if there was no connection.
const char *dld_easy_get_endpoint(CURL *easy, bool is_remote, long *port);

/// The bytes of all requests that libcurl sent for the handle, without bodies from callbacks; and the bytes of the response
/// body, as received.
void dld_easy_get_volume(CURL *easy, int64_t *requested, int64_t *received);

/// 1 if the transfer goes through a proxy, 0 if not, -1 if this libcurl cannot tell (before 8.7).
int dld_easy_uses_proxy(CURL *easy);

/// The TLS version and cipher of the transfer's current connection, as OpenSSL names them. Both texts are never freed.
/// False if there is no TLS, or if libcurl uses another TLS library than this program.
bool dld_easy_get_tls(CURL *easy, const char **version, const char **cipher);

/// Whether libcurl uses the same OpenSSL as this program.
bool dld_curl_shares_openssl(void);

/// Notes what a TLS server shows and requests in a handshake, until the next handshake. A connection keeps the watch under
/// which it was made, because its server may request a certificate later.
typedef struct dld_tls_watch dld_tls_watch;

typedef enum { DLD_TLS_CERTIFICATES, DLD_TLS_AUTHORITIES } dld_tls_list;

enum {
    /// The most items and bytes of one list that are kept.
    DLD_TLS_MOST_ITEMS = 64,
    DLD_TLS_MOST_BYTES = 32 << 10,
    DLD_TLS_KEY_LENGTH = 32,
};

/// Returns a watch with one reference, or NULL if memory is short.
/// `stops_for_certificate`: whether the handshake ends, before any byte of a request, if the server requests a certificate and
/// none is set.
/// `pin`: the trusted keys, in the form of CURLOPT_PINNEDPUBLICKEY, or NULL. A server with another key is shown no certificate.
dld_tls_watch *dld_tls_watch_new(bool stops_for_certificate, const char *pin);
void dld_tls_watch_release(dld_tls_watch *watch);

/// Watches the connections that are made for the handle. `watch` must live as long as the handle uses it.
/// CURLE_NOT_BUILT_IN if libcurl uses another TLS library.
CURLcode dld_easy_set_tls_watch(CURL *easy, dld_tls_watch *watch);

/// The certificates that the server showed, its own first (DER, RFC 5280); or the names of the authorities whose certificates
/// it accepts (DER, RFC 5280 section 4.1.2.4).
size_t dld_tls_watch_count(const dld_tls_watch *watch, dld_tls_list list);
const uint8_t *dld_tls_watch_item(const dld_tls_watch *watch, dld_tls_list list, size_t index, size_t *length);
/// SHA-256 of the server's SubjectPublicKeyInfo; NULL if it showed no certificate.
const uint8_t *dld_tls_watch_key(const dld_tls_watch *watch);
/// Whether the handshake was ended because the server requested a certificate.
bool dld_tls_watch_wants_certificate(const dld_tls_watch *watch);
/// Whether the handshake was ended because the server requested a certificate and its key is not one of the pinned keys.
bool dld_tls_watch_shows_another_key(const dld_tls_watch *watch);
/// The fault that OpenSSL's verification found (X509_verify_cert_error_string(3)), or NULL. Names are not compared.
const char *dld_tls_watch_fault(const dld_tls_watch *watch);

CURLMcode dld_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLMcode dld_multi_set_callbacks(
    CURLM *multi, dld_socket_callback on_socket, dld_timer_callback on_timer, void *context);

/// The next finished transfer, if there is one; `result` is its code.
CURL *dld_multi_next_done(CURLM *multi, CURLcode *result);

/// Lets every transfer make a step, whether or not its sockets are ready.
CURLMcode dld_multi_step_all(CURLM *multi);

/// Called once per process, before any other thread uses libcurl.
CURLcode dld_curl_global_init(void);

// Constants whose macros contain casts, which Swift does not import.
extern const long DLD_AUTH_BASIC;
extern const long DLD_AUTH_BASIC_DIGEST;
extern const long DLD_AUTH_NTLM;
extern const long DLD_SSH_AUTH_ALL;
extern const size_t DLD_WRITE_PAUSE;
extern const size_t DLD_READ_PAUSE;
extern const size_t DLD_READ_ABORT;
extern const curl_socket_t DLD_SOCKET_TIMEOUT;

#endif
