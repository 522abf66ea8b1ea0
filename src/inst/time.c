/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* localtime, gmtime, asctime and ctime: their result is in memory that all threads share, which libc would write without
 * owning it. As with libc, the first two share theirs. */
#include "inst.h"
#include <errno.h>
#include <stdio.h>
#include <time.h>

WEFT_INST struct tm *localtime(const time_t *t) {
    tzset();
    return localtime_r(t, &__weft_tm);
}
WEFT_INST struct tm *gmtime(const time_t *t) { return gmtime_r(t, &__weft_tm); }

WEFT_INST char *asctime(const struct tm *tm) {
    static const char day[] = "SunMonTueWedThuFriSat", month[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (!tm) {
        errno = EINVAL;
        return NULL;
    }
    snprintf(__weft_asctime, sizeof __weft_asctime, "%.3s %.3s%3d %.2d:%.2d:%.2d %ld\n",
             tm->tm_wday < 0 || tm->tm_wday > 6 ? "???" : day + 3 * tm->tm_wday,
             tm->tm_mon < 0 || tm->tm_mon > 11 ? "???" : month + 3 * tm->tm_mon, tm->tm_mday, tm->tm_hour, tm->tm_min,
             tm->tm_sec, 1900 + (long)tm->tm_year);
    return __weft_asctime;
}
WEFT_INST char *ctime(const time_t *t) {
    struct tm *tm = localtime(t);
    return tm ? asctime(tm) : NULL;
}
