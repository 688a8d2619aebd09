#include "CCurl.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

// libcurl hands out pointers to structures of OpenSSL. They can be used only with the same version of OpenSSL.
bool dld_curl_shares_openssl(void) {
    static _Atomic int is_shared = -1;
    if (is_shared < 0) {
        static const char prefix[] = "OpenSSL/";
        const char *theirs = curl_version_info(CURLVERSION_NOW)->ssl_version;
        is_shared = theirs && strncmp(theirs, prefix, sizeof prefix - 1) == 0
            && strcmp(theirs + sizeof prefix - 1, OpenSSL_version(OPENSSL_VERSION_STRING)) == 0;
    }
    return is_shared;
}

// DER structures, one after another.
typedef struct {
    uint8_t *bytes;
    size_t ends[DLD_TLS_MOST_ITEMS];
    size_t count;
} der_list;

struct dld_tls_watch {
    // One for the transfer, and one for each connection that was made for it. Connections outlive the transfer.
    atomic_int references;
    bool stops_for_certificate;
    bool wants_certificate;
    // The trusted keys, in the form of CURLOPT_PINNEDPUBLICKEY; NULL if verification decides.
    char *pin;
    bool shows_another_key;
    int verdict;
    bool has_key;
    uint8_t key[DLD_TLS_KEY_LENGTH];
    der_list lists[2];
};

static void empty(der_list *list) {
    free(list->bytes);
    *list = (der_list){0};
}

// Adds `der`, and frees it. Returns false if it is too long or if there are too many items. Earlier items stay.
static bool add(der_list *list, uint8_t *der, int length) {
    size_t begin = list->count ? list->ends[list->count - 1] : 0;
    bool fits = der && length > 0 && list->count < DLD_TLS_MOST_ITEMS && begin + (size_t)length <= DLD_TLS_MOST_BYTES;
    uint8_t *bytes = fits ? realloc(list->bytes, begin + (size_t)length) : NULL;
    if (bytes) {
        memcpy(bytes + begin, der, (size_t)length);
        list->bytes = bytes;
        list->ends[list->count++] = begin + (size_t)length;
    }
    OPENSSL_free(der);
    return bytes;
}

static bool add_certificate(der_list *list, X509 *certificate) {
    uint8_t *der = NULL;
    int length = i2d_X509(certificate, &der);
    return add(list, der, length);
}

dld_tls_watch *dld_tls_watch_new(bool stops_for_certificate, const char *pin) {
    dld_tls_watch *watch = calloc(1, sizeof *watch);
    if (!watch) return NULL;
    atomic_init(&watch->references, 1);
    if (pin && !(watch->pin = strdup(pin))) {
        free(watch);
        return NULL;
    }
    watch->stops_for_certificate = stops_for_certificate;
    return watch;
}

void dld_tls_watch_release(dld_tls_watch *watch) {
    if (!watch || atomic_fetch_sub(&watch->references, 1) != 1) return;
    empty(&watch->lists[DLD_TLS_CERTIFICATES]);
    empty(&watch->lists[DLD_TLS_AUTHORITIES]);
    free(watch->pin);
    free(watch);
}

static void release_with_context(
    void *parent, void *value, CRYPTO_EX_DATA *data, int index, long number, void *pointer) {
    (void)parent, (void)data, (void)index, (void)number, (void)pointer;
    dld_tls_watch_release(value);
}

static void note_key(dld_tls_watch *watch, X509 *certificate) {
    uint8_t *der = NULL;
    int length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
    size_t digest = 0;
    watch->has_key = length > 0
        && EVP_Q_digest(NULL, "SHA256", NULL, der, (size_t)length, watch->key, &digest)
        && digest == DLD_TLS_KEY_LENGTH;
    OPENSSL_free(der);
}

// Verifies as OpenSSL does by default, and keeps the certificates.
static int verify(X509_STORE_CTX *store, void *context) {
    dld_tls_watch *watch = context;
    int is_trusted = X509_verify_cert(store);
    watch->verdict = X509_STORE_CTX_get_error(store);
    watch->wants_certificate = false;
    watch->has_key = false;
    der_list *list = &watch->lists[DLD_TLS_CERTIFICATES];
    empty(list);
    X509 *own = X509_STORE_CTX_get0_cert(store);
    if (!own) return is_trusted;
    note_key(watch, own);
    if (!add_certificate(list, own)) return is_trusted;
    STACK_OF(X509) *others = X509_STORE_CTX_get0_untrusted(store);
    for (int index = 0; index < sk_X509_num(others); index++) {
        X509 *other = sk_X509_value(others, index);
        if (other != own && !add_certificate(list, other)) break;
    }
    return is_trusted;
}

static bool has_pinned_key(const dld_tls_watch *watch) {
    char key[64] = "sha256//";
    EVP_EncodeBlock((uint8_t *)key + 8, watch->key, DLD_TLS_KEY_LENGTH);
    // All keys have the same length and end in "=", so no key is a part of another.
    return watch->has_key && strstr(watch->pin, key);
}

// Called when the server requests a certificate. The result 0 ends the handshake.
static int choose_certificate(SSL *ssl, void *context) {
    dld_tls_watch *watch = context;
    uint8_t byte;
    // libcurl compares the key after the handshake. By then a server with another key would have seen the certificate.
    watch->shows_another_key = watch->pin && !has_pinned_key(watch);
    if (watch->shows_another_key) return 0;
    // Before a later handshake on the same connection, the request has already been sent.
    if (!watch->stops_for_certificate || SSL_get_certificate(ssl) || SSL_get_finished(ssl, &byte, 1) > 0) return 1;
    watch->wants_certificate = true;
    der_list *list = &watch->lists[DLD_TLS_AUTHORITIES];
    empty(list);
    const STACK_OF(X509_NAME) *names = SSL_get0_peer_CA_list(ssl);
    for (int index = 0; index < sk_X509_NAME_num(names); index++) {
        uint8_t *der = NULL;
        int length = i2d_X509_NAME(sk_X509_NAME_value(names, index), &der);
        if (!add(list, der, length)) break;
    }
    return 0;
}

static CURLcode attach(CURL *easy, void *tls, void *context) {
    (void)easy;
    static _Atomic int index = -1;
    dld_tls_watch *watch = context;
    if (index < 0) index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, release_with_context);
    if (index < 0 || !SSL_CTX_set_ex_data(tls, index, watch)) return CURLE_OUT_OF_MEMORY;
    atomic_fetch_add(&watch->references, 1);
    SSL_CTX_set_cert_verify_callback(tls, verify, watch);
    SSL_CTX_set_cert_cb(tls, choose_certificate, watch);
    return CURLE_OK;
}

CURLcode dld_easy_set_tls_watch(CURL *easy, dld_tls_watch *watch) {
    if (!dld_curl_shares_openssl()) return CURLE_NOT_BUILT_IN;
    // When a TLS session is resumed, the server shows no certificate.
    CURLcode code = curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, attach);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, watch);
    return code;
}

size_t dld_tls_watch_count(const dld_tls_watch *watch, dld_tls_list list) { return watch->lists[list].count; }

const uint8_t *dld_tls_watch_item(const dld_tls_watch *watch, dld_tls_list list, size_t index, size_t *length) {
    const der_list *items = &watch->lists[list];
    size_t begin = index ? items->ends[index - 1] : 0;
    *length = items->ends[index] - begin;
    return items->bytes + begin;
}

const uint8_t *dld_tls_watch_key(const dld_tls_watch *watch) { return watch->has_key ? watch->key : NULL; }

bool dld_tls_watch_shows_another_key(const dld_tls_watch *watch) { return watch->shows_another_key; }

bool dld_tls_watch_wants_certificate(const dld_tls_watch *watch) { return watch->wants_certificate; }

const char *dld_tls_watch_fault(const dld_tls_watch *watch) {
    return watch->verdict == X509_V_OK ? NULL : X509_verify_cert_error_string(watch->verdict);
}
