#define _GNU_SOURCE
#include "dld_negotiate.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The parts of the library's interface that are used here (RFC 2744, appendix A). The interface belongs to the number in the
// library's name.

typedef uint32_t number;
struct bytes {
    size_t length;
    void *value;
};
struct oid {
    number length;
    const void *elements;
};
struct oids {
    size_t count;
    const struct oid *elements;
};
typedef void *handle;

enum { GSS_COMPLETE = 0, GSS_CONTINUE_NEEDED = 1, GSS_INITIATE = 1, GSS_CODE = 1, GSS_MECH_CODE = 2 };
#define GSS_IS_ERROR(major) (((major) & 0xffff0000u) != 0)

// 1.2.840.113554.1.2.1.1, user names; 1.2.840.113554.1.2.1.4, service@host; 1.2.840.113554.1.2.2, Kerberos 5.
static const struct oid user_name = {10, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x01"};
static const struct oid service_name = {10, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04"};
static const struct oid kerberos = {9, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"};
static const struct oids only_kerberos = {1, &kerberos};

static struct {
    number (*import_name)(number *, const struct bytes *, const struct oid *, handle *);
    number (*canonicalize_name)(number *, handle, const struct oid *, handle *);
    number (*release_name)(number *, handle *);
    number (*acquire)(number *, handle, number, const struct oids *, int, handle *, void *, number *);
    number (*acquire_with_password)(number *, handle, const struct bytes *, number, const struct oids *, int, handle *,
                                    void *, number *);
    number (*release_credential)(number *, handle *);
    number (*begin)(number *, handle, handle *, handle, const struct oid *, number, number, void *, const struct bytes *,
                    void *, struct bytes *, number *, number *);
    number (*delete_context)(number *, handle *, struct bytes *);
    number (*release_bytes)(number *, struct bytes *);
    number (*status)(number *, number, int, const struct oid *, number *, struct bytes *);
    int is_there;
} gss;

static pthread_once_t loaded = PTHREAD_ONCE_INIT;

static void load(void) {
    void *library = dlopen("libgssapi_krb5.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return;
    *(void **)&gss.import_name = dlsym(library, "gss_import_name");
    *(void **)&gss.canonicalize_name = dlsym(library, "gss_canonicalize_name");
    *(void **)&gss.release_name = dlsym(library, "gss_release_name");
    *(void **)&gss.acquire = dlsym(library, "gss_acquire_cred");
    *(void **)&gss.acquire_with_password = dlsym(library, "gss_acquire_cred_with_password");
    *(void **)&gss.release_credential = dlsym(library, "gss_release_cred");
    *(void **)&gss.begin = dlsym(library, "gss_init_sec_context");
    *(void **)&gss.delete_context = dlsym(library, "gss_delete_sec_context");
    *(void **)&gss.release_bytes = dlsym(library, "gss_release_buffer");
    *(void **)&gss.status = dlsym(library, "gss_display_status");
    gss.is_there = gss.import_name && gss.canonicalize_name && gss.release_name && gss.acquire &&
                   gss.acquire_with_password && gss.release_credential && gss.begin &&
                   gss.delete_context && gss.release_bytes && gss.status;
}

int dld_can_negotiate(void) {
    pthread_once(&loaded, load);
    return gss.is_there;
}

// Writes the mechanism's message, which is more precise, or else that of GSS-API.
static void explain(number major, number minor, char *why, size_t size) {
    number ignored = 0, more = 0;
    struct bytes text = {0, NULL};
    int asks_mechanism = minor != 0;
    number code = asks_mechanism ? minor : major;
    if (gss.status(&ignored, code, asks_mechanism ? GSS_MECH_CODE : GSS_CODE, &kerberos, &more, &text) != GSS_COMPLETE) {
        snprintf(why, size, "GSS-API failed with status %#x", major);
        return;
    }
    snprintf(why, size, "%.*s", (int)text.length, (const char *)text.value);
    gss.release_bytes(&ignored, &text);
}

static number import(const char *text, const struct oid *kind, number *minor, handle *name) {
    struct bytes bytes = {strlen(text), (void *)text};
    return gss.import_name(minor, &bytes, kind, name);
}

static int missing(char *why, size_t size) {
    snprintf(why, size, "%s", "libgssapi_krb5 is not installed");
    return DLD_NEGOTIATE_FAILED;
}

int dld_negotiate_look(const char *user, char *why, size_t size) {
    if (!dld_can_negotiate()) return missing(why, size);
    number minor = 0, ignored = 0, seconds = 0, major;
    handle name = NULL, canonical = NULL, credential = NULL;
    if (user != NULL) {
        major = import(user, &user_name, &minor, &name);
        if (!GSS_IS_ERROR(major)) major = gss.canonicalize_name(&minor, name, &kerberos, &canonical);
    } else {
        major = gss.acquire(&minor, NULL, UINT32_MAX, &only_kerberos, GSS_INITIATE, &credential, NULL, &seconds);
    }
    int is_ready = !GSS_IS_ERROR(major) && (user != NULL || seconds > 0);
    if (GSS_IS_ERROR(major)) explain(major, minor, why, size);
    else if (!is_ready) snprintf(why, size, "%s", "the ticket has expired");
    if (canonical != NULL) gss.release_name(&ignored, &canonical);
    if (name != NULL) gss.release_name(&ignored, &name);
    if (credential != NULL) gss.release_credential(&ignored, &credential);
    return is_ready ? DLD_NEGOTIATE_MADE : DLD_NEGOTIATE_FAILED;
}

// Errors of a realm's server about a user and a password (RFC 4120 section 7.5.9), with libkrb5's numbers, and libkrb5's own
// two errors for an answer that the password does not decrypt.
static int is_refusal(number minor) {
    switch (minor + 1765328384u) {
    case 6:   // KDC_ERR_C_PRINCIPAL_UNKNOWN
    case 18:  // KDC_ERR_CLIENT_REVOKED
    case 23:  // KDC_ERR_KEY_EXPIRED
    case 24:  // KDC_ERR_PREAUTH_FAILED
    case 31:  // KRB_AP_ERR_BAD_INTEGRITY
    case 210: // KRB5_PREAUTH_FAILED
        return 1;
    default: return 0;
    }
}

int dld_negotiate(const char *host, const char *user, const char *password, uint8_t **token, size_t *length, char *why,
                  size_t size) {
    if (!dld_can_negotiate()) return missing(why, size);
    number minor = 0, ignored = 0, major = GSS_COMPLETE;
    handle name = NULL, service = NULL, credential = NULL, context = NULL;
    struct bytes output = {0, NULL};
    char *target = NULL;
    if (asprintf(&target, "HTTP@%s", host) < 0) {
        snprintf(why, size, "%s", "memory is short");
        return DLD_NEGOTIATE_FAILED;
    }
    major = import(target, &service_name, &minor, &service);
    free(target);
    if (!GSS_IS_ERROR(major) && user != NULL) {
        struct bytes secret = {strlen(password), (void *)password};
        major = import(user, &user_name, &minor, &name);
        if (!GSS_IS_ERROR(major))
            major = gss.acquire_with_password(&minor, name, &secret, UINT32_MAX, &only_kerberos, GSS_INITIATE, &credential,
                                              NULL, NULL);
    } else if (!GSS_IS_ERROR(major)) {
        major = gss.acquire(&minor, NULL, UINT32_MAX, &only_kerberos, GSS_INITIATE, &credential, NULL, NULL);
    }
    if (!GSS_IS_ERROR(major))
        major = gss.begin(&minor, credential, &context, service, &kerberos, 0, 0, NULL, NULL, NULL, &output, NULL, NULL);
    int result = DLD_NEGOTIATE_FAILED;
    if (GSS_IS_ERROR(major)) {
        explain(major, minor, why, size);
        if (user != NULL && is_refusal(minor)) result = DLD_NEGOTIATE_REFUSED;
    } else if (output.length == 0 || (*token = malloc(output.length)) == NULL) {
        snprintf(why, size, "%s", "no token was made");
    } else {
        memcpy(*token, output.value, output.length);
        *length = output.length;
        result = DLD_NEGOTIATE_MADE;
    }
    if (output.value != NULL) gss.release_bytes(&ignored, &output);
    if (context != NULL) gss.delete_context(&ignored, &context, NULL);
    if (credential != NULL) gss.release_credential(&ignored, &credential);
    if (name != NULL) gss.release_name(&ignored, &name);
    if (service != NULL) gss.release_name(&ignored, &service);
    return result;
}
