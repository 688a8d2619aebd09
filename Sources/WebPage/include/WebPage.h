// The files of the page, in the program.
#ifndef WEB_PAGE_H
#define WEB_PAGE_H

#include <stddef.h>

typedef struct {
    // The path below `page`.
    const char *name;
    const unsigned char *bytes;
    size_t length;
} web_page_file_t;

extern const size_t web_page_count;
web_page_file_t web_page_file(size_t index);

#endif
