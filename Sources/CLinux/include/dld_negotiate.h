// Kerberos tokens for HTTP's scheme Negotiate (RFC 4559), made by GSS-API (RFC 2744). libgssapi_krb5 is loaded when it is first
// needed. Debian installs it with libcurl; without it, only Negotiate is missing.
#ifndef DLD_NEGOTIATE_H
#define DLD_NEGOTIATE_H

#include <stddef.h>
#include <stdint.h>

enum {
    DLD_NEGOTIATE_MADE = 0,
    // The realm does not know the user, or the password is wrong.
    DLD_NEGOTIATE_REFUSED = 1,
    // Any other failure: no ticket, no realm, no answer, no such service, clocks that differ, no library.
    DLD_NEGOTIATE_FAILED = 2,
};

// Whether this machine has the library.
int dld_can_negotiate(void);

// Whether a token could be made, as far as this is known without asking a realm's servers. With a user: the name has a realm, or
// there is a default realm. Without a user: the default cache has a ticket that has not expired. May block on that cache.
// If not, `why` gets a sentence of at most `size` bytes.
int dld_negotiate_look(const char *user, char *why, size_t size);

// Makes a Kerberos token (RFC 4121 section 4.1) for the service HTTP at `host`. Asks the realm's servers, and blocks while they
// do not answer. With a user, the tickets are only in memory and are dropped at the end of the call. Without a user, the tickets
// of the default cache are used. No ticket is delegated.
// Returns one of the values above. After DLD_NEGOTIATE_MADE, free `*token` with free(3). Otherwise `why` says what is wrong.
int dld_negotiate(const char *host, const char *user, const char *password, uint8_t **token, size_t *length, char *why,
                  size_t size);

#endif
