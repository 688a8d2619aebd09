#define _GNU_SOURCE
#include "CCurl.h"

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

// CURL_WRITEFUNC_ERROR (0xFFFFFFFF) exists since 7.87.0. Any short count does the same in all versions.

const long DLD_AUTH_BASIC = (long)CURLAUTH_BASIC;
const long DLD_AUTH_BASIC_DIGEST = (long)(CURLAUTH_BASIC | CURLAUTH_DIGEST);
const long DLD_AUTH_NTLM = (long)CURLAUTH_NTLM;
const long DLD_SSH_AUTH_ALL =
    (long)(CURLSSH_AUTH_PUBLICKEY | CURLSSH_AUTH_PASSWORD | CURLSSH_AUTH_KEYBOARD | CURLSSH_AUTH_AGENT);
const size_t DLD_WRITE_PAUSE = CURL_WRITEFUNC_PAUSE;
const size_t DLD_READ_PAUSE = CURL_READFUNC_PAUSE;
const size_t DLD_READ_ABORT = CURL_READFUNC_ABORT;
const curl_socket_t DLD_SOCKET_TIMEOUT = CURL_SOCKET_TIMEOUT;

CURLcode dld_easy_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode dld_easy_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode dld_easy_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode dld_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode dld_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode dld_easy_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {.data = (void *)bytes, .len = count, .flags = CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}

CURLcode dld_easy_set_response_callbacks(
    CURL *easy, dld_body_callback body, dld_body_callback header, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_PRIVATE, context);
    return code;
}

void dld_easy_forget(CURL *easy) {
    curl_easy_setopt(easy, CURLOPT_PRIVATE, NULL);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, NULL);
}

CURLcode dld_easy_set_upload_callbacks(
    CURL *easy, dld_body_callback read, dld_seek_callback seek, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_READFUNCTION, read);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_READDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SEEKDATA, context);
    return code;
}

CURLcode dld_easy_set_begin_callback(CURL *easy, dld_begin_callback begin, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, begin);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_PREREQDATA, context);
    return code;
}

CURLcode dld_easy_set_progress_callback(CURL *easy, dld_progress_callback progress, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, progress);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_XFERINFODATA, context);
    return code;
}

static int only_matching_keys(
    CURL *easy, const struct curl_khkey *known, const struct curl_khkey *found, enum curl_khmatch match,
    void *context) {
    (void)easy, (void)known, (void)found, (void)context;
    return match == CURLKHMATCH_OK ? CURLKHSTAT_FINE : CURLKHSTAT_REJECT;
}

CURLcode dld_easy_set_known_hosts(CURL *easy, const char *path) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_SSH_KNOWNHOSTS, path);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SSH_KEYFUNCTION, only_matching_keys);
    return code;
}

static curl_socket_t open_private(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)purpose;
    int device = (int)(intptr_t)context;
    int made = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (made < 0 || device == 0) return made;
    int bound = 0;
    socklen_t length = sizeof bound;
    if (setsockopt(made, SOL_SOCKET, SO_BINDTOIFINDEX, &device, sizeof device) == 0 &&
        getsockopt(made, SOL_SOCKET, SO_BINDTOIFINDEX, &bound, &length) == 0 && bound == device)
        return made;
    close(made);
    return CURL_SOCKET_BAD;
}

CURLcode dld_easy_set_trace(CURL *easy, dld_trace_callback trace, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, trace);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_DEBUGDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
    return code;
}

CURLcode dld_easy_set_private_sockets(CURL *easy, unsigned device) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_private);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, (void *)(intptr_t)device);
    // The scope is part of the key of the connection cache (CVE-2022-27775). CURLOPT_INTERFACE is not enough: a request without
    // it takes any connection. The kernel ignores the scope of addresses that are not link-local.
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_ADDRESS_SCOPE, (long)device);
    return code;
}

CURLcode dld_easy_set_close_callback(CURL *easy, dld_close_callback close, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, context);
    return code;
}

CURLcode dld_easy_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

CURLcode dld_easy_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}

CURLcode dld_easy_get_pointer(CURL *easy, void **value) {
    return curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)value);
}

static int64_t moment(CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    curl_easy_getinfo(easy, info, &value);
    return value;
}

dld_steps dld_easy_get_steps(CURL *easy) {
    long connects = 0;
    curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &connects);
    return (dld_steps){
#if LIBCURL_VERSION_NUM >= 0x080600
        .queued = moment(easy, CURLINFO_QUEUE_TIME_T),
#endif
        .looked_up = moment(easy, CURLINFO_NAMELOOKUP_TIME_T),
        .connected = moment(easy, CURLINFO_CONNECT_TIME_T),
        .secured = moment(easy, CURLINFO_APPCONNECT_TIME_T),
        .ready = moment(easy, CURLINFO_PRETRANSFER_TIME_T),
        .answered = moment(easy, CURLINFO_STARTTRANSFER_TIME_T),
        .connects = connects,
    };
}

int64_t dld_easy_get_sent(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x080a00
    return moment(easy, CURLINFO_POSTTRANSFER_TIME_T);
#else
    (void)easy;
    return 0;
#endif
}

const char *dld_easy_get_endpoint(CURL *easy, bool is_remote, long *port) {
    char *address = NULL;
    *port = 0;
    curl_easy_getinfo(easy, is_remote ? CURLINFO_PRIMARY_IP : CURLINFO_LOCAL_IP, &address);
    curl_easy_getinfo(easy, is_remote ? CURLINFO_PRIMARY_PORT : CURLINFO_LOCAL_PORT, port);
    return address ? address : "";
}

void dld_easy_get_volume(CURL *easy, int64_t *requested, int64_t *received) {
    long bytes = 0;
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &bytes);
    *requested = bytes;
    *received = moment(easy, CURLINFO_SIZE_DOWNLOAD_T);
}

int dld_easy_uses_proxy(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x080700
    long used = 0;
    if (curl_easy_getinfo(easy, CURLINFO_USED_PROXY, &used) == CURLE_OK) return used != 0;
#else
    (void)easy;
#endif
    return -1;
}

bool dld_easy_get_tls(CURL *easy, const char **version, const char **cipher) {
    struct curl_tlssessioninfo *session = NULL;
    if (!dld_curl_shares_openssl() || curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || !session) return false;
    if (session->backend != CURLSSLBACKEND_OPENSSL || !session->internals) return false;
    const SSL *ssl = session->internals;
    if (!SSL_get_current_cipher(ssl)) return false;
    *version = SSL_get_version(ssl);
    *cipher = SSL_get_cipher_name(ssl);
    return true;
}

CURLMcode dld_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

CURLMcode dld_multi_set_callbacks(
    CURLM *multi, dld_socket_callback on_socket, dld_timer_callback on_timer, void *context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
    return code;
}

CURL *dld_multi_next_done(CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg == CURLMSG_DONE) {
            *result = message->data.result;
            return message->easy_handle;
        }
    }
    return NULL;
}

// The call is deprecated because it is expensive, but no other call recovers from a missed event.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
CURLMcode dld_multi_step_all(CURLM *multi) {
    int running = 0;
    return curl_multi_socket_all(multi, &running);
}
#pragma GCC diagnostic pop

CURLcode dld_curl_global_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }
