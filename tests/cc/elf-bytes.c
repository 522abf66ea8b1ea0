/* Proves: the reader of objects, archives and shared libraries survives any bytes: 30,000 damaged files, under the address
 * and undefined-behaviour sanitizers. */
// RUN: cd %t.dir && %weft-cc -c %root/examples/bank.c -o one.o && gcc -c %root/examples/bank.c -o two.o
// RUN: ar rcs lib.a one.o two.o && ar rcsT thin.a one.o two.o && gcc -shared -fPIC %root/examples/bank.c -o lib.so
// RUN: cp two.o a-member-with-a-long-name.o && llvm-ar --format=bsd rcs bsd.a a-member-with-a-long-name.o one.o
// RUN: %clang -g -O1 -D_GNU_SOURCE -fsanitize=address,undefined -fno-sanitize-recover=all -I%root/src -I%root/include %s %root/src/base/*.c -o fuzz
// RUN: ./fuzz 5000 one.o two.o lib.a thin.a bsd.a lib.so | FileCheck %s
#include "cc/elf.c"

static unsigned long seed = 1;

static unsigned long next(void) {
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return seed >> 33;
}

static void see_name(const char *name, void *arg) {
    *(size_t *)arg += strlen(name);
}

static void see_member(const char *name, enum cc_file_kind kind, void *arg) {
    *(size_t *)arg += strlen(name) + (size_t)kind;
}

int main(int argc, char **argv) {
    size_t sum = 0;
    for (int i = 2; i < argc; i++) {
        struct cc_file file;
        char *bytes, *copy;
        size_t n;
        struct weft_err err;
        if (weft__file_read(argv[i], 1 << 24, &bytes, &n, &err) < 0) return 1;
        copy = malloc(n);
        for (long round = atol(argv[1]); round-- > 0;) {
            memcpy(copy, bytes, n);
            size_t len = next() % 4 ? n : next() % (n + 1);
            for (unsigned long k = next() % 20; k-- > 0 && len;) {
                /* Headers, tables and strings are where it matters: most at the beginning and the end. */
                size_t where = next() % 3 ? next() % len : next() % 2 ? next() % (len < 256 ? len : 256)
                                                                      : len - 1 - next() % (len < 2048 ? len : 2048);
                copy[where] = (char)(next() % 2 ? next() : next() % 2 ? 0xff : 0);
            }
            int fd = memfd_create("damaged", 0);
            char path[64];
            snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
            if (weft__write_all(fd, copy, len) < 0) return 1;
            if (cc_file_open(&file, path) == 0) {
                sum += file.kind + (file.soname ? strlen(file.soname) : 0);
                cc_file_needed(&file, see_name, &sum);
                cc_file_functions(&file, see_name, &sum);
                cc_file_members(&file, argv[i], see_member, &sum);
                cc_file_close(&file);
            }
            close(fd);
        }
        free(copy);
        free(bytes);
    }
    printf("survived, %zu\n", sum);
    return 0;
}
// CHECK: survived
