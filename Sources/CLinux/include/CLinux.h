#ifndef DLD_CLINUX_H
#define DLD_CLINUX_H

// Functions that Swift's Glibc module lacks, with one header per concern. Only the .c files define `_GNU_SOURCE`.

#include "dld_codings.h"
#include "dld_crc32c.h"
#include "dld_disk.h"
#include "dld_events.h"
#include "dld_files.h"
#include "dld_memory.h"
#include "dld_negotiate.h"
#include "dld_process.h"
#include "dld_sockets.h"

#endif
