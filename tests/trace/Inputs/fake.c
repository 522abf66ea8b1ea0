/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program that has weft's note and behaves as if the runtime were in it: it logs two threads with an edge and an
 * input, and in replay reports what its first argument says. So the launcher is tested without compiler and runtime.
 *   fake exit N | signal N | sleep | diverge | stuck | refuse | full | silent | other | env */
#define _GNU_SOURCE
#include "weft/abi.h"
#include "weft/trace.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

__attribute__((section(".note.weft"), used, aligned(4))) static const struct {
    uint32_t name_size, desc_size, type;
    char name[8];
    uint32_t version;
} note = {5, 4, WEFT_NOTE_TYPE, WEFT_NOTE_OWNER, WEFT_ABI_VERSION};

static unsigned char *at;
static void item(int kind, int ticks, int op, const void *data, int n) {
    unsigned char *tag = at++;
    *at++ = (unsigned char)ticks;
    for (; op >= 128; op >>= 7) *at++ = (unsigned char)(op | 128);
    *at++ = (unsigned char)op;
    for (op = n; op >= 128; op >>= 7) *at++ = (unsigned char)(op | 128);
    *at++ = (unsigned char)op;
    memcpy(at, data, (size_t)n);
    at += n;
    __atomic_store_n(tag, kind, __ATOMIC_RELEASE);
}

static int module(struct dl_phdr_info *i, size_t size, void *arg) {
    (void)size;
    struct {
        struct weft_module_item m;
        char path[1000];
    } r = {0};
    if (*(int *)arg) return 0; /* the executable comes first and is enough */
    *(int *)arg = 1;
    r.m.base = i->dlpi_addr;
    for (int k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        if (p->p_type == PT_LOAD) r.m.size = p->p_vaddr + p->p_memsz;
        if (p->p_type != PT_NOTE) continue;
        for (const char *n = (const char *)i->dlpi_addr + p->p_vaddr, *end = n + p->p_memsz; n + 12 <= end;) {
            const ElfW(Nhdr) *h = (const ElfW(Nhdr) *)n;
            const char *desc = n + 12 + ((h->n_namesz + 3) & ~3u);
            if (h->n_type == NT_GNU_BUILD_ID && memcmp(n + 12, "GNU", 4) == 0) memcpy(r.m.build_id, desc, h->n_descsz);
            n = desc + ((h->n_descsz + 3) & ~3u);
        }
    }
    ssize_t n = readlink("/proc/self/exe", r.path, sizeof r.path - 1);
    item(WEFT_ITEM_MODULE, 0, 1, &r, (int)(sizeof r.m + (size_t)n + 1));
    return 0;
}

static void chunk(unsigned char *p, uint32_t slot) {
    struct weft_chunk *c = (struct weft_chunk *)p;
    c->slot = slot;
    c->magic = WEFT_CHUNK_MAGIC;
    at = p + sizeof *c;
}

static void log_run(struct weft_control *c) {
    int fd = open(c->streams, O_RDWR), have = 0;
    if (ftruncate(fd, 4 << 20) < 0) exit(99);
    unsigned char *p = mmap(0, 4 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    chunk(p, 1);
    item(WEFT_ITEM_START, 1, 0, "", 0);
    dl_iterate_phdr(module, &have);
    item(WEFT_ITEM_INPUT, 1, 0, "\5\0\0\0\0\0\0\0hello", 13);
    chunk(p + 3 * WEFT_CHUNK, 2);
    item(WEFT_ITEM_START, 1, 1, "", 0);
    unsigned char edge[] = {WEFT_ITEM_EDGE, 1, 0, 1, 4, 0};
    memcpy(at, edge, sizeof edge);
    at += sizeof edge;
    item(WEFT_ITEM_EXIT, 1, 0, "", 0);
}

int main(int argc, char **argv, char **envp) {
    const char *mode = argc > 1 ? argv[1] : "";
    if (strncmp(envp[0], WEFT_ENV, strlen(WEFT_ENV)) != 0) return 99;
    int control = open(envp[0] + strlen(WEFT_ENV), O_RDWR | O_CLOEXEC);
    struct weft_control *c = mmap(0, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED, control, 0);
    if (c == MAP_FAILED || c->magic != WEFT_CONTROL_MAGIC) return 99;
    close(control);
    __asm__ volatile("int3"); /* as the runtime tells the launcher that it has started */
    if (c->mode == WEFT_RECORD) log_run(c);
    printf("%s\n", mode);
    if (strcmp(mode, "env") == 0) {
        struct rlimit stack;
        char cwd[4096], in[8];
        const char *r = (const char *)getauxval(AT_RANDOM);
        getrlimit(RLIMIT_STACK, &stack);
        printf("stack %p main %p brk %p random ", (void *)&argc, (void *)main, sbrk(0));
        for (int i = 0; i < 16; i++) printf("%02x", r[i] & 255);
        printf(" limit %lu in %s vdso %lx control %d\n", stack.rlim_cur, getcwd(cwd, sizeof cwd),
               getauxval(AT_SYSINFO_EHDR), c->vdso != 0);
        for (int i = 0; i < argc; i++) printf("arg [%s]\n", argv[i]);
        for (char **e = envp + 1; *e; e++) printf("env %s\n", *e);
        fprintf(stderr, "stdin %zd\n", read(0, in, sizeof in));
    }
    fflush(stdout);
    if (c->mode == WEFT_REPLAY) {
        c->outcome = WEFT_OUT_ENDED;
        if (strcmp(mode, "silent") == 0) c->outcome = WEFT_OUT_RUNNING;
        if (strcmp(mode, "diverge") == 0 || strcmp(mode, "stuck") == 0) {
            c->outcome = mode[0] == 'd' ? WEFT_OUT_DIVERGED : WEFT_OUT_STUCK;
            sprintf(c->message, "thread 1 at tick 2, @0x%lx: expected this, found that (@home, @0x)",
                    (unsigned long)main);
            _exit(125);
        }
        if (strcmp(mode, "other") == 0) return 3;
    }
    if (c->mode == WEFT_RECORD && strcmp(mode, "refuse") == 0) {
        c->outcome = WEFT_OUT_REFUSED;
        strcpy(c->message, "system call 999 is not supported");
        _exit(125);
    }
    if (strcmp(mode, "full") == 0) c->log_full = 28;
    if (strcmp(mode, "sleep") == 0)
        for (;;) pause();
    if (strcmp(mode, "signal") == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        raise(atoi(argv[2]));
    }
    return strcmp(mode, "exit") == 0 ? atoi(argv[2]) : 0;
}
