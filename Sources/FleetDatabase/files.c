// The files of the schema, in the order in which they run. The compiler embeds them (C23, 6.10.4), and notices when one changes.
#include "FleetDatabase.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char roles[] = {
#embed "sql/roles.sql"
};
static const unsigned char step_0001_tables[] = {
#embed "sql/0001-tables.sql"
};
static const unsigned char step_0001_producers[] = {
#embed "sql/0001-producers.sql"
};
static const unsigned char step_0001_claim[] = {
#embed "sql/0001-claim.sql"
};
static const unsigned char step_0001_nodes[] = {
#embed "sql/0001-nodes.sql"
};

#define FILE_ROW(name, bytes) {name, bytes, sizeof bytes}
static const fleet_sql_file_t files[] = {
    FILE_ROW("roles.sql", roles),
    FILE_ROW("0001-tables.sql", step_0001_tables),
    FILE_ROW("0001-producers.sql", step_0001_producers),
    FILE_ROW("0001-claim.sql", step_0001_claim),
    FILE_ROW("0001-nodes.sql", step_0001_nodes),
};

const size_t fleet_sql_count = sizeof files / sizeof *files;
fleet_sql_file_t fleet_sql_file(size_t index) { return files[index]; }

static void ignore(void *context, const PGresult *notice) {
    (void)context;
    (void)notice;
}

void fleet_hush(PGconn *connection) { PQsetNoticeReceiver(connection, ignore, NULL); }
