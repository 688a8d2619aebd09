/* Preloaded into a daemon that a sanitizer watches: as the instrumented code of a daemon would, two threads tell
 * ThreadSanitizer of a write to the same memory, and AddressSanitizer hears of one to memory that is free. A run that gets no
 * report of it would get none of anything else. Other programs, which have no sanitizer, are left alone. */
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
