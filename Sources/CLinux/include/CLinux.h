#ifndef DLD_CLINUX_H
#define DLD_CLINUX_H

// What Swift's Glibc module lacks. One header per concern; `_GNU_SOURCE` is defined in the .c files only.

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
