/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Proves: the analyses of the pass say about each module in tests/analysis what its comments expect.
 *
 *   analysis_facts FILE.ll...         check; prints what differs
 *   analysis_facts --print [OPTION...] FILE...  print all facts of a module (IR or bitcode), then counts and time
 *
 * A test is one file of IR. Comments that matter, anywhere in it:
 *   ; OPTIONS: shared-library all sync coarse externals=NAME
 *   ; EXPECT: LINE         this line is among the facts
 *   ; REJECT: LINE         this line is not
 *   ; UNKNOWN: NAME        this function is reported as unknown (and no others are, if at least one is named)
 * A line may end in ` xN`: it is there N times. Facts are the lines of weft__facts_print. */
#define _GNU_SOURCE
#include "../../src/pass/facts.h"

#include <llvm-c/IRReader.h>
#include <stdlib.h>
#include <string.h>

static LLVMModuleRef read_module(LLVMContextRef context, const char *path) {
    LLVMMemoryBufferRef buffer;
    LLVMModuleRef module;
    char *message = NULL;
    if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message) ||
        LLVMParseIRInContext(context, buffer, &module, &message)) {
        fprintf(stderr, "%s: %s\n", path, message);
        LLVMDisposeMessage(message);
        return NULL;
    }
    return module;
}

static int set_option(struct weft_facts_options *o, const char *word, const char *path) {
    if (!strcmp(word, "shared-library"))
        o->shared_library = 1;
    else if (!strcmp(word, "all"))
        o->plan = WEFT_PLAN_ALL;
    else if (!strcmp(word, "sync"))
        o->plan = WEFT_PLAN_SYNC;
    else if (!strcmp(word, "coarse"))
        o->coarse = 1;
    else if (!strncmp(word, "externals=", 10)) {
        char err[300], full[4096];
        const char *slash = strrchr(path, '/');
        snprintf(full, sizeof full, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, word + 10);
        if (weft__externals_load(full, err, sizeof err) < 0) {
            fprintf(stderr, "%s\n", err);
            return -1;
        }
    } else {
        fprintf(stderr, "%s: unknown option '%s'\n", path, word);
        return -1;
    }
    return 0;
}

static int print(int argc, char **argv) {
    struct weft_facts_options o = {.plan = WEFT_PLAN_SHARED};
    int quiet = 0;
    for (int i = 0; i < argc; i++) {
        if (!strncmp(argv[i], "--", 2)) {
            if (!strcmp(argv[i], "--quiet"))
                quiet = 1;
            else if (set_option(&o, argv[i] + 2, "") < 0)
                return 2;
            continue;
        }
        LLVMContextRef context = LLVMContextCreate();
        LLVMModuleRef module = read_module(context, argv[i]);
        if (!module) return 2;
        struct weft_facts *facts = weft__facts_new(module, &o);
        struct weft_facts_counts c;
        if (!quiet) weft__facts_print(facts, stdout);
        weft__facts_count(facts, &c);
        printf("%s: %zu accesses:", argv[i], c.accesses);
        for (int w = 0; w < WEFT_WHY_COUNT; w++)
            if (c.by[w]) printf(" %s %zu", weft__why_name((enum weft_why)w), c.by[w]);
        printf("; %zu objects %zu locations %zu nodes %zu constraints %.2fs\n", c.objects, c.locations, c.nodes,
               c.constraints, c.seconds);
        for (size_t k = 0; weft__facts_unknown(facts, k); k++)
            printf("unknown: %s\n", weft__facts_unknown(facts, k));
        weft__facts_free(facts);
        LLVMDisposeModule(module);
        LLVMContextDispose(context);
    }
    return 0;
}

static size_t count_lines(const char *text, const char *line, size_t n) {
    size_t found = 0;
    for (const char *s = text; *s;) {
        const char *end = strchrnul(s, '\n');
        found += (size_t)(end - s) == n && !memcmp(s, line, n);
        s = *end ? end + 1 : end;
    }
    return found;
}

static int check(const char *path) {
    struct weft_facts_options o = {.plan = WEFT_PLAN_SHARED};
    size_t room = 0, size = 0, expects = 0;
    char *line = NULL, *text = NULL;
    int bad = 0, unknowns = 0;
    FILE *f = fopen(path, "re");
    if (!f) {
        perror(path);
        return 1;
    }
    while (getline(&line, &room, f) >= 0) {
        if (strncmp(line, "; OPTIONS:", 10)) continue;
        for (char *w = strtok(line + 10, " \n"); w; w = strtok(NULL, " \n"))
            if (set_option(&o, w, path) < 0) bad = 1;
    }
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = read_module(context, path);
    if (!module) {
        fclose(f);
        free(line);
        LLVMContextDispose(context);
        return 1;
    }
    struct weft_facts *facts = weft__facts_new(module, &o);
    FILE *memory = open_memstream(&text, &size);
    weft__facts_print(facts, memory);
    fclose(memory);
    rewind(f);
    while (getline(&line, &room, f) >= 0) {
        int reject = !strncmp(line, "; REJECT: ", 10), unknown = !strncmp(line, "; UNKNOWN: ", 11);
        if (strncmp(line, "; EXPECT: ", 10) && !reject && !unknown) continue;
        expects++;
        char *s = line + 10 + unknown;
        size_t n = strcspn(s, "\n");
        while (n && s[n - 1] == ' ')
            n--;
        s[n] = 0;
        if (unknown) {
            int here = 0;
            for (size_t k = 0; weft__facts_unknown(facts, k); k++)
                here |= !strcmp(weft__facts_unknown(facts, k), s);
            unknowns++;
            if (!here) bad = 1, fprintf(stderr, "%s: not reported as unknown: %s\n", path, s);
            continue;
        }
        char *times = strrchr(s, ' ');
        size_t want = 0;
        if (times && times[1] == 'x' && times[2] >= '1' && times[2] <= '9')
            want = strtoul(times + 2, NULL, 10), n = (size_t)(times - s);
        size_t found = count_lines(text, s, n);
        if (reject ? found != 0 : want ? found != want : found == 0) {
            bad = 1;
            fprintf(stderr, "%s: %s (%zu found): %s\n", path, reject ? "there, but should not be" : "not there", found,
                    s);
        }
    }
    if (unknowns && weft__facts_unknown(facts, (size_t)unknowns))
        bad = 1, fprintf(stderr, "%s: more is unknown: %s\n", path, weft__facts_unknown(facts, (size_t)unknowns));
    if (!expects) bad = 1, fprintf(stderr, "%s: expects nothing\n", path);
    if (bad) fprintf(stderr, "---- facts of %s\n%s----\n", path, text);
    weft__facts_free(facts);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    free(text);
    free(line);
    fclose(f);
    return bad;
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "--print")) return print(argc - 2, argv + 2);
    int failed = 0;
    char err[300];
    if (weft__externals_check(err, sizeof err) < 0) {
        fprintf(stderr, "%s\n", err);
        failed++;
    }
    for (int i = 1; i < argc; i++)
        failed += check(argv[i]);
    printf("%d of %d modules as expected\n", argc - 1 - failed, argc - 1);
    return failed != 0;
}
