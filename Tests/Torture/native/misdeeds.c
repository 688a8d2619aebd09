/* Preloaded into a daemon with a sanitizer. Like instrumented code, two threads report a write to the same memory to
 * ThreadSanitizer, and a write to freed memory is reported to AddressSanitizer. If a run gets no report of these, it would
 * not get any other report. Programs without a sanitizer are left alone. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

typedef void (*Check)(void *);

static Check race;
static void *shared;

static void *write_to_it(void *unused) {
    race(shared);
    return unused;
}

static void write_side_by_side(void) {
    pthread_t first, second;
    if (pthread_create(&first, NULL, write_to_it, NULL)) return;
    if (!pthread_create(&second, NULL, write_to_it, NULL)) pthread_join(second, NULL);
    pthread_join(first, NULL);
}

__attribute__((constructor)) static void misbehave(void) {
    Check use = (Check)dlsym(RTLD_DEFAULT, "__asan_store8");
    race = (Check)dlsym(RTLD_DEFAULT, "__tsan_write8");
    shared = malloc(64);
    if (race) write_side_by_side();
    void *volatile freed = shared;
    free(shared);
    if (use) use(freed);
}
