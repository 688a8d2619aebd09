// libpq, and the schema `dld` of dld-fleet in the program.
#ifndef FLEET_DATABASE_H
#define FLEET_DATABASE_H

#include <stddef.h>

// Debian has a folder for it, others have none.
#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#else
#include <libpq-fe.h>
#endif

typedef struct {
    // The name of the file below `sql`.
    const char *name;
    const unsigned char *bytes;
    size_t length;
} fleet_sql_file_t;

extern const size_t fleet_sql_count;
// In the order in which they run.
fleet_sql_file_t fleet_sql_file(size_t index);

// Keeps libpq from writing notices to standard error.
void fleet_hush(PGconn *connection);

#endif
