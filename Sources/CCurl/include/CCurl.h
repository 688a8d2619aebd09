#ifndef DLD_CCURL_H
#define DLD_CCURL_H

// Typed doors to libcurl's variadic calls, which Swift cannot call. Every function returns libcurl's own code.
// Manual: curl_easy_setopt(3), curl_easy_getinfo(3), curl_multi_setopt(3).

#include <curl/curl.h>

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
extern const long DLD_AUTH_BASIC_DIGEST;
extern const long DLD_SSH_AUTH_ALL;
extern const size_t DLD_WRITE_PAUSE;
extern const size_t DLD_READ_PAUSE;
extern const size_t DLD_READ_ABORT;
extern const curl_socket_t DLD_SOCKET_TIMEOUT;

#endif
