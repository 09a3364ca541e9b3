/* Uses libbloom 1.6 and prints where the loader found it. */
#define _GNU_SOURCE
#include <bloom.h>
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    struct bloom filter;
    Dl_info found;

    if (bloom_init(&filter, 1000, 0.01) != 0 || bloom_add(&filter, "alice", 5) != 0 || bloom_check(&filter, "alice", 5) != 1
        || bloom_check(&filter, "mallory", 7) != 0)
        return 1;
    bloom_free(&filter);
    if (dladdr(dlsym(RTLD_DEFAULT, "bloom_init"), &found) == 0)
        return 1;
    return printf("ok %s\n", found.dli_fname) < 0;
}
