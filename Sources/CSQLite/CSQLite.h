#include <sqlite3.h>

// Swift does not read these macros.
static const int dld_sqlite_shared_memory_full = SQLITE_IOERR_SHMSIZE;
static const int dld_sqlite_has_journal = SQLITE_READONLY_ROLLBACK;

// Swift cannot call variadic functions.

/// Turns off SQLite's memory statistics, for which it takes a lock at each allocation. Call it before the first connection.
static inline int dld_sqlite_omit_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/// Makes double quotes denote names only, never text.
static inline int dld_sqlite_require_quotes(sqlite3 *database) {
#ifdef SQLITE_DBCONFIG_DQS_DML
    int code = sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
    return code != SQLITE_OK ? code : sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
#else
    return SQLITE_OK;
#endif
}

/// Closing the database leaves its log as it is.
static inline int dld_sqlite_keep_log(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

static inline int dld_sqlite_enable_triggers(sqlite3 *database, int isOn) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, isOn, (int *)0);
}
