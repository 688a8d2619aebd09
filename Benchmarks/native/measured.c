// Runs a command and writes its cost to a file: wall, user and system seconds, peak resident bytes, exit status.
//
//     measured REPORT COMMAND ARGUMENT…
//
// This is a separate program because ru_maxrss of a child begins at the size of the process that forked it. Here that is almost
// nothing. If Python forked the command, its size would hide the memory of small programs.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: measured REPORT COMMAND ARGUMENT...\n");
        return 2;
    }
    double start = now();
    pid_t child = fork();
    if (child == 0) {
        execvp(arguments[2], arguments + 2);
        perror(arguments[2]);
        _exit(127);
    }
    int status = 0;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) < 0) {
        perror("measured");
        return 1;
    }
    double wall = now() - start;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    FILE *report = fopen(arguments[1], "w");
    if (!report) {
        perror(arguments[1]);
        return 1;
    }
    fprintf(report, "%.6f %.6f %.6f %lld %d\n", wall, seconds(usage.ru_utime), seconds(usage.ru_stime),
            (long long)usage.ru_maxrss * 1024, code);
    return fclose(report) == 0 ? 0 : 1;
}
