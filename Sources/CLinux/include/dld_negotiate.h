// Tokens of Kerberos for HTTP's scheme Negotiate (RFC 4559), made by GSS-API (RFC 2744). libgssapi_krb5 is loaded when it is first
// asked for: Debian's libcurl brings it, and without it nothing else is missing.
#ifndef DLD_NEGOTIATE_H
#define DLD_NEGOTIATE_H

#include <stddef.h>
#include <stdint.h>

enum {
    DLD_NEGOTIATE_MADE = 0,
    // The realm knows no such user, or the password is another one.
    DLD_NEGOTIATE_REFUSED = 1,
    // Anything else: no ticket, no realm, no answer, no such service, clocks that differ, no library.
    DLD_NEGOTIATE_FAILED = 2,
};

// Whether this machine has the library.
int dld_can_negotiate(void);

// Whether a token could be made, without asking a realm's servers. With a user: the name has a realm, its own or the
// default one. Without: the default cache has a ticket that has not expired. May block on that cache.
// If not, `why` gets a sentence, cut to `size` bytes.
int dld_negotiate_look(const char *user, char *why, size_t size);

// Makes Kerberos's token (RFC 4121 section 4.1) for the service HTTP at `host`. Asks the realm's servers, and blocks as
// long as they are silent. With a user, the tickets are in memory alone and end with the call. Without one, those of the
// default cache are used.
// Nothing is delegated.
// Returns one of the above. After DLD_NEGOTIATE_MADE `*token` is to be freed with free(3), else `why` says what is wrong.
int dld_negotiate(const char *host, const char *user, const char *password, uint8_t **token, size_t *length, char *why,
                  size_t size);

#endif
