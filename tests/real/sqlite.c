/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads that work on one SQLite database in WAL mode, each through a connection of its own: transfers between accounts,
 * sums that must always be the same, and notes. Prints how often somebody had to wait, the sums, and "ok". */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite3.h"

#define ACCOUNTS 50
#define MONEY 1000

static const char *path;
static int rounds;
static int busy; /* plain: everybody counts, racing */

static void die(sqlite3 *db, const char *what) {
    fprintf(stderr, "%s: %s\n", what, db ? sqlite3_errmsg(db) : "?");
    exit(1);
}

static int wait_for_it(void *ctx, int tries) {
    (void)ctx;
    busy++;
    if (tries < 10000) sqlite3_sleep(1);
    return tries < 10000;
}

static sqlite3 *connection(void) {
    sqlite3 *db = NULL;
    if (sqlite3_open(path, &db) != SQLITE_OK) die(db, path);
    sqlite3_busy_handler(db, wait_for_it, NULL);
    return db;
}

static void run(sqlite3 *db, const char *sql) {
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) die(db, sql);
}

static sqlite3_int64 number(sqlite3 *db, const char *sql) {
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK || sqlite3_step(s) != SQLITE_ROW) die(db, sql);
    sqlite3_int64 n = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return n;
}

static void *work(void *arg) {
    int me = (int)(intptr_t)arg;
    unsigned r = (unsigned)me * 7919 + 1;
    sqlite3 *db = connection();
    char sql[256];
    for (int i = 0; i < rounds; i++) {
        r = r * 1103515245 + 12345;
        int from = (int)(r >> 8) % ACCOUNTS, to = (int)(r >> 16) % ACCOUNTS, much = (int)(r >> 4) % 10;
        run(db, "BEGIN IMMEDIATE");
        snprintf(sql, sizeof sql, "UPDATE account SET money = money - %d WHERE id = %d", much, from);
        run(db, sql);
        snprintf(sql, sizeof sql, "UPDATE account SET money = money + %d WHERE id = %d", much, to);
        run(db, sql);
        snprintf(sql, sizeof sql, "INSERT INTO note (thread, round, text) VALUES (%d, %d, hex(randomblob(40)))", me, i);
        run(db, sql);
        run(db, "COMMIT");
        if (number(db, "SELECT sum(money) FROM account") != ACCOUNTS * MONEY) die(db, "money was lost");
    }
    sqlite3_close(db);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int threads = atoi(argv[1]);
    rounds = atoi(argv[2]);
    path = argv[3];
    sqlite3 *db = connection();
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db, "PRAGMA journal_mode = WAL", -1, &s, NULL) != SQLITE_OK || sqlite3_step(s) != SQLITE_ROW ||
        strcmp((const char *)sqlite3_column_text(s, 0), "wal") != 0)
        die(db, "no WAL mode");
    sqlite3_finalize(s);
    run(db, "CREATE TABLE account (id INTEGER PRIMARY KEY, money INTEGER)");
    run(db, "CREATE TABLE note (thread INTEGER, round INTEGER, text TEXT)");
    for (int i = 0; i < ACCOUNTS; i++) {
        char sql[100];
        snprintf(sql, sizeof sql, "INSERT INTO account VALUES (%d, %d)", i, MONEY);
        run(db, sql);
    }
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    sqlite3_int64 notes = number(db, "SELECT count(*) FROM note"), money = number(db, "SELECT sum(money) FROM account");
    printf("%d waits, %lld notes, %lld money\n", busy, (long long)notes, (long long)money);
    sqlite3_close(db);
    free(t);
    if (notes != (sqlite3_int64)threads * rounds || money != ACCOUNTS * MONEY) return 1;
    puts("ok");
    return 0;
}
