/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What becomes of a call?
 *
 * Small copies of constant size become a load and a store, each with its check; other memory intrinsics call the
 * runtime. Calls of external functions that touch shared memory take that memory first, as a group, and stay inside;
 * calls of unknown and of long-running ones run outside. Functions with a state of their own behind them (rand, getenv,
 * C++ streams) have an order. Instructions that are inputs (rdtsc, rdrand) become calls of the runtime, as intrinsics and
 * in inline assembly; what else a statement of inline assembly touches is asked of weft__asm_look. */
#include "rewrite.h"
#include "weft/abi.h"
#include <limits.h>
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory intrinsics */

static int constant(LLVMValueRef v, uint64_t *out) {
    if (!LLVMIsAConstantInt(v)) return 0;
    *out = LLVMConstIntGetZExtValue(v);
    return 1;
}

static unsigned param_align(LLVMValueRef call, unsigned arg) {
    LLVMAttributeRef a = LLVMGetCallSiteEnumAttribute(call, arg + 1, LLVMGetEnumAttributeKindForName("align", 5));
    return a ? (unsigned)LLVMGetEnumAttributeValue(a) : 1;
}

static void replace_call(struct weft_rw *r, LLVMValueRef i, const char *name, LLVMValueRef *a, unsigned n, LLVMTypeRef t) {
    weft__rw_at(r, i);
    LLVMValueRef c = weft__rw_call_named(r, name, t, a, n);
    if (LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMVoidTypeKind) LLVMReplaceAllUsesWith(i, c);
    LLVMInstructionEraseFromParent(i);
    r->s->takes++;
}

#define SMALL_SET (4 * WEFT_LINE)
int weft__rw_is_small(LLVMValueRef i) {
    uint64_t n;
    if (!LLVMIsAMemSetInst(i) && !LLVMIsAMemCpyInst(i) && !LLVMIsAMemMoveInst(i)) return 0;
    return constant(LLVMGetOperand(i, 2), &n) && n <= (LLVMIsAMemSetInst(i) ? SMALL_SET : WEFT_LINE);
}

/* A copy of n bytes becomes a load, and a store, which it gives. */
static LLVMValueRef move(struct weft_rw *r, LLVMValueRef i, uint64_t n, LLVMValueRef *load) {
    weft__rw_at(r, i);
    *load = LLVMBuildLoad2(r->b, LLVMIntTypeInContext(r->c, (unsigned)n * 8), LLVMGetOperand(i, 1), "");
    LLVMSetAlignment(*load, param_align(i, 1));
    weft__rw_at(r, i);
    LLVMValueRef store = LLVMBuildStore(r->b, *load, LLVMGetOperand(i, 0));
    LLVMSetAlignment(store, param_align(i, 0));
    LLVMInstructionEraseFromParent(i);
    return store;
}

int weft__rw_move(struct weft_rw *r, LLVMValueRef i) {
    uint64_t n;
    if ((!LLVMIsAMemCpyInst(i) && !LLVMIsAMemMoveInst(i)) || !constant(LLVMGetOperand(i, 2), &n) || !n || n > WEFT_LINE) return 0;
    int stored = weft__facts_access(r->f, i, 0) == WEFT_WHY_ORDERED, loaded = weft__facts_access(r->f, i, 1) == WEFT_WHY_ORDERED;
    if ((!stored && !loaded) || weft__rw_is_alone(r, i) || LLVMTypeOf(LLVMGetOperand(i, 0)) != r->ptr || LLVMTypeOf(LLVMGetOperand(i, 1)) != r->ptr) return 0;
    LLVMValueRef load, store = move(r, i, n, &load);
    r->moves = weft__rw_grown(r->moves, r->nmoves + 1, &r->moves_room, sizeof *r->moves);
    r->moves[r->nmoves++] = (struct weft_in_copy){load, loaded, 0};
    r->moves[r->nmoves++] = (struct weft_in_copy){store, stored, 0};
    return 1;
}

static void memory_intrinsic(struct weft_rw *r, LLVMValueRef i, const char *name) {
    int set = !strncmp(name, "llvm.memset", 11);
    int d_ord = weft__facts_access(r->f, i, 0) == WEFT_WHY_ORDERED;
    int s_ord = !set && weft__facts_access(r->f, i, 1) == WEFT_WHY_ORDERED;
    if (!d_ord && !s_ord) return;
    LLVMValueRef d = LLVMGetOperand(i, 0), s = LLVMGetOperand(i, 1), len = LLVMGetOperand(i, 2);
    uint64_t n;
    if (LLVMTypeOf(d) != r->ptr || (!set && LLVMTypeOf(s) != r->ptr)) return; /* fs:, gs: */
    if (constant(len, &n)) {
        if (!n) return;
        if (set && n <= SMALL_SET) {
            weft__rw_check(r, i, d, n, param_align(i, 0), WEFT_ACC_WRITE);
            weft__rw_verify(r, i, d, n, WEFT_ACC_WRITE);
            return;
        }
        if (!set && n <= WEFT_LINE) {
            LLVMValueRef v, st = move(r, i, n, &v);
            if (s_ord) {
                weft__rw_check(r, v, s, n, LLVMGetAlignment(v), 0);
                weft__rw_verify(r, v, s, n, 0);
            }
            if (d_ord) {
                weft__rw_check(r, st, d, n, LLVMGetAlignment(st), WEFT_ACC_WRITE);
                weft__rw_verify(r, st, d, n, WEFT_ACC_WRITE);
            }
            return;
        }
    }
    weft__rw_at(r, i);
    if (LLVMTypeOf(len) != r->i64) len = LLVMBuildZExt(r->b, len, r->i64, "");
    if (set) {
        LLVMValueRef v = LLVMBuildZExt(r->b, s, r->i32, "");
        LLVMTypeRef p[3] = {r->ptr, r->i32, r->i64};
        LLVMValueRef a[3] = {d, v, len};
        replace_call(r, i, "__weft_memset", a, 3, LLVMFunctionType(r->ptr, p, 3, 0));
    } else {
        LLVMTypeRef p[3] = {r->ptr, r->ptr, r->i64};
        LLVMValueRef a[3] = {d, s, len};
        replace_call(r, i, !strncmp(name, "llvm.memmove", 12) ? "__weft_memmove" : "__weft_memcpy", a, 3,
                     LLVMFunctionType(r->ptr, p, 3, 0));
    }
}

/* ---- calls of external functions */

static LLVMValueRef arg_int(struct weft_rw *r, LLVMValueRef call, int arg) {
    LLVMValueRef v = LLVMGetOperand(call, (unsigned)arg);
    if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMIntegerTypeKind) return weft__rw_i64c(r, 0);
    unsigned w = LLVMGetIntTypeWidth(LLVMTypeOf(v));
    return w < 64 ? LLVMBuildZExt(r->b, v, r->i64, "") : w > 64 ? LLVMBuildTrunc(r->b, v, r->i64, "") : v;
}

/* The object that v points into: all of it where it is known here, else what the runtime knows of it. */
static void take_object(struct weft_rw *r, LLVMValueRef v) {
    LLVMValueRef base = v;
    for (;;) {
        if (LLVMIsAGetElementPtrInst(base) || (LLVMIsAConstantExpr(base) && LLVMGetConstOpcode(base) == LLVMGetElementPtr))
            base = LLVMGetOperand(base, 0);
        else
            break;
    }
    LLVMTypeRef t = LLVMIsAGlobalVariable(base) ? LLVMGlobalGetValueType(base)
                    : LLVMIsAAllocaInst(base) && LLVMIsAConstantInt(LLVMGetOperand(base, 0)) && LLVMConstIntGetZExtValue(LLVMGetOperand(base, 0)) == 1
                        ? LLVMGetAllocatedType(base)
                        : NULL;
    uint64_t n = t && LLVMTypeIsSized(t) ? LLVMABISizeOfType(r->dl, t) : 0;
    if (n && n <= 1 << 20)
        weft__rw_group_range(r, base, weft__rw_i64c(r, n), 1);
    else
        weft__rw_group_object(r, v);
}

/* A string, of at most n characters. */
static void take_strn(struct weft_rw *r, LLVMValueRef p, LLVMValueRef n) {
    LLVMTypeRef t[2] = {r->ptr, r->i64};
    LLVMValueRef a[2] = {p, n};
    weft__rw_call_named(r, "__weft_take_strn", LLVMFunctionType(r->vd, t, 2, 0), a, 2);
}

static int listed(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *p = list; p && *p;) {
        const char *e = strchr(p, ',');
        size_t k = e ? (size_t)(e - p) : strlen(p);
        if (k == n && !memcmp(p, name, n)) return 1;
        p = e ? e + 1 : NULL;
    }
    return 0;
}

/* Functions that stop where they have found what they look for: how much of the memory that argument 0 points to they read. */
static int until(const char *name) {
    static const struct { const char *names; int until; } all[] = {
        {"memchr,rawmemchr", WEFT_UNTIL_BYTE},
        {"strchr,strchrnul,index", WEFT_UNTIL_CHAR},
        {"strcspn,strpbrk", WEFT_UNTIL_ONE_OF},
        {"strspn", WEFT_UNTIL_NONE_OF},
        {"memmem", WEFT_UNTIL_BYTES},
        {"strstr", WEFT_UNTIL_STRING},
        {"strcasestr", WEFT_UNTIL_FOLDED},
        {"strcmp,strncmp", WEFT_UNTIL_OTHER},
        {"strcasecmp,strncasecmp", WEFT_UNTIL_OTHER_FOLDED},
        {"atoi,atol,atoll,atof,strtol,strtoul,strtoll,strtoull,strtoimax,strtoumax,strtoq,strtouq,strtod,strtof,strtold,strtod_l,strtof_l,__isoc23_strtol,"
         "__isoc23_strtoul,__isoc23_strtoll,__isoc23_strtoull,__isoc23_strtoimax,__isoc23_strtoumax", WEFT_UNTIL_NUMBER},
    };
    for (unsigned k = 0; k < sizeof all / sizeof *all; k++)
        if (listed(all[k].names, name)) return all[k].until;
    return WEFT_UNTIL_NUL;
}
static void take_until(struct weft_rw *r, LLVMValueRef call, LLVMValueRef p, LLVMValueRef n, int until) {
    LLVMTypeRef t[5] = {r->ptr, r->i64, r->i32, r->i64, r->i64};
    LLVMValueRef what = weft__rw_i64c(r, 0), many = what;
    if (until == WEFT_UNTIL_BYTE || until == WEFT_UNTIL_CHAR)
        what = arg_int(r, call, 1);
    else if (until != WEFT_UNTIL_NUMBER)
        what = LLVMBuildPtrToInt(r->b, LLVMGetOperand(call, until == WEFT_UNTIL_BYTES ? 2 : 1), r->i64, "");
    if (until == WEFT_UNTIL_BYTES) many = arg_int(r, call, 3);
    LLVMValueRef a[5] = {p, n, LLVMConstInt(r->i32, (unsigned)until, 0), what, many};
    weft__rw_call_named(r, "__weft_take_until", LLVMFunctionType(r->vd, t, 5, 0), a, 5);
}

/* Takes what the call touches, as its entry says; unknown functions: the objects that its pointer arguments point into. */
static void take(struct weft_rw *r, LLVMValueRef call, const struct weft_external *e) {
    LLVMTypeRef one_t = LLVMFunctionType(r->vd, &r->ptr, 1, 0);
    unsigned nargs = LLVMGetNumArgOperands(call);
    int begun = 0, both = 0;
    weft__rw_at(r, call);
#define BEGIN()                                                                                                        \
    do {                                                                                                               \
        if (!begun++) weft__rw_group_begin(r, call);                                                                   \
    } while (0)
    if (e) {
        for (unsigned k = 0; k < e->count; k++) {
            const struct weft_effect *x = &e->effect[k];
            int varargs = x->kind == WEFT_EFF_VARREAD || x->kind == WEFT_EFF_VARWRITE;
            if (varargs) {
                LLVMTypeRef ft = LLVMGetCalledFunctionType(call);
                for (unsigned a = LLVMCountParamTypes(ft); a < nargs; a++) {
                    LLVMValueRef v = LLVMGetOperand(call, a);
                    if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMPointerTypeKind) continue;
                    if (weft__facts_access(r->f, call, (int)a) != WEFT_WHY_ORDERED) continue;
                    BEGIN();
                    take_object(r, v);
                    if (x->kind == WEFT_EFF_VARREAD) /* it may be a string: as far as that goes */
                        take_strn(r, v, weft__rw_i64c(r, 1 << 20));
                }
                continue;
            }
            int whole = x->kind == WEFT_EFF_TOUCH || x->kind == WEFT_EFF_REACH || x->kind == WEFT_EFF_ALONE;
            if (x->kind != WEFT_EFF_READ && x->kind != WEFT_EFF_WRITE && !whole) continue;
            if (x->arg < 0 || (unsigned)x->arg >= nargs) continue;
            LLVMValueRef p = LLVMGetOperand(call, (unsigned)x->arg);
            if (LLVMGetTypeKind(LLVMTypeOf(p)) != LLVMPointerTypeKind) continue;
            if (weft__facts_access(r->f, call, x->arg) != WEFT_WHY_ORDERED) continue;
            BEGIN();
            int stops = x->kind == WEFT_EFF_READ ? until(e->name) : WEFT_UNTIL_NUL;
            if (stops >= WEFT_UNTIL_OTHER) { /* both strings at once, whichever of them is to be taken */
                if (both++) continue;
                p = LLVMGetOperand(call, 0);
            }
            if (stops && (x->arg == 0 || stops >= WEFT_UNTIL_OTHER))
                take_until(r, call, p, x->size == WEFT_SIZE_ARG ? arg_int(r, call, x->arg2) : weft__rw_i64c(r, UINT64_MAX), stops);
            else if (whole || x->size == WEFT_SIZE_WHOLE || x->size == WEFT_SIZE_NONE) {
                take_object(r, p);
            } else if ((x->size == WEFT_SIZE_STRING || x->size == WEFT_SIZE_WSTRING) && x->kind == WEFT_EFF_WRITE) {
                LLVMTypeRef two[2] = {r->ptr, r->i32};
                LLVMValueRef a[2] = {p, LLVMConstInt(r->i32, x->size == WEFT_SIZE_STRING ? 1 : 4, 0)};
                weft__rw_call_named(r, "__weft_take_written", LLVMFunctionType(r->vd, two, 2, 0), a, 2);
            } else if (x->size == WEFT_SIZE_STRING) {
                weft__rw_call_named(r, "__weft_take_str", one_t, &p, 1);
            } else if (x->size == WEFT_SIZE_WSTRING) {
                weft__rw_call_named(r, "__weft_take_wcs", one_t, &p, 1);
            } else {
                LLVMValueRef n = weft__rw_i64c(r, x->constant);
                if (x->size == WEFT_SIZE_ARG) {
                    n = arg_int(r, call, x->arg2);
                    if (x->arg3 >= 0) n = LLVMBuildMul(r->b, n, arg_int(r, call, x->arg3), "");
                    if (x->constant > 1) n = LLVMBuildMul(r->b, n, weft__rw_i64c(r, x->constant), "");
                }
                if (x->kind == WEFT_EFF_READ && listed("mbrtowc,mbrlen,mbtowc,mblen,mbrtoc8,mbrtoc16,mbrtoc32", e->name))
                    n = LLVMBuildSelect(r->b, LLVMBuildICmp(r->b, LLVMIntULT, n, weft__rw_i64c(r, MB_LEN_MAX), ""), n, weft__rw_i64c(r, MB_LEN_MAX), "");
                if (x->kind == WEFT_EFF_READ && x->size == WEFT_SIZE_ARG && (strstr(e->name, "strn") || !strcmp(e->name, "stpncpy"))) {
                    /* Reads up to a NUL, if that comes first: the number may be anything then. */
                    take_strn(r, p, n);
                    continue;
                }
                weft__rw_group_range(r, p, n, x->kind == WEFT_EFF_WRITE);
            }
        }
    } else
        for (unsigned a = 0; a < nargs; a++) {
            LLVMValueRef v = LLVMGetOperand(call, a);
            if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMPointerTypeKind || LLVMIsAConstantPointerNull(v) || LLVMIsAFunction(v)) continue;
            if (weft__facts_access(r->f, call, (int)a) != WEFT_WHY_ORDERED) continue;
            BEGIN();
            take_object(r, v);
        }
    if (begun) weft__rw_group_close(r);
}

/* Functions of libc with a state of their own behind them: calls of a group are ordered among each other. */
#define LOADING "dlopen,dlmopen,dlsym,dlvsym,dlclose,dlerror,dladdr,dladdr1,dlinfo,dl_iterate_phdr"
/* These load shared libraries: conversions, services. */
#define LOADS "iconv_open,iconv_close,setlocale,newlocale,uselocale,_ZNSt6localeC1EPKc,_ZNSt6localeC2EPKc,_ZNSt6localeC1ERKS_PKci,_ZNSt6localeC2ERKS_PKci"
static unsigned hidden_state(const char *name) {
    static const char *const groups[] = {
        [WEFT_SERIAL_MESSAGES - 1] = "strerror,strerror_r,__xpg_strerror_r,strerror_l,strsignal,localeconv,nl_langinfo,freelocale,duplocale,gettext,dgettext,dcgettext,ngettext,dngettext,dcngettext,"
                                     "textdomain,bindtextdomain,bind_textdomain_codeset,catopen,catgets,catclose," LOADS,
        [WEFT_SERIAL_LOADING - 1] = LOADING,
        "rand,srand,random,srandom,initstate,setstate",
        "drand48,lrand48,mrand48,srand48,seed48,lcong48,erand48,nrand48,jrand48",
        /* The time zone, which the log of the system says as well. */
        "localtime,gmtime,ctime,asctime,mktime,localtime_r,gmtime_r,ctime_r,asctime_r,strftime,strftime_l,strptime,strptime_l,tzset,timelocal,timegm,wcsftime,"
        "wcsftime_l,getdate,getdate_r,syslog,__syslog_chk,openlog,closelog,setlogmask,vsyslog,__vsyslog_chk",
        "getenv,secure_getenv,setenv,putenv,unsetenv,clearenv",
        "getopt,getopt_long,getopt_long_only",
        "tmpnam,tempnam,mktemp,mkstemp,mkostemp,mkdtemp,tmpfile,mkstemp64,tmpfile64",
        /* The name service switch: which services there are, the daemon that may be there or not, and the resolver's settings. */
        [WEFT_SERIAL_NAMES - 1] = ("getpwnam,getpwuid,getpwnam_r,getpwuid_r,getpwent,getpwent_r,setpwent,endpwent,getgrnam,getgrgid,getgrnam_r,getgrgid_r,getgrent,"
        "getgrent_r,setgrent,endgrent,getgrouplist,initgroups,getspnam,getspnam_r,getspent,getspent_r,setspent,endspent,getlogin,getlogin_r,"
        "gethostbyname,gethostbyname2,gethostbyaddr,gethostbyname_r,gethostbyname2_r,gethostbyaddr_r,gethostent,gethostent_r,sethostent,"
        "endhostent,getaddrinfo,getnameinfo,getservbyname,getservbyport,getservbyname_r,getservbyport_r,getservent,getservent_r,setservent,"
        "endservent,getprotobyname,getprotobynumber,getprotobyname_r,getprotobynumber_r,getprotoent,getprotoent_r,setprotoent,endprotoent,"
        "getnetbyname,getnetbyaddr,getnetbyname_r,getnetbyaddr_r,getnetent,getnetent_r,setnetent,endnetent,getrpcbyname,getrpcbynumber,"
        "getrpcbyname_r,getrpcbynumber_r,getrpcent,getrpcent_r,setrpcent,endrpcent,innetgr,setnetgrent,getnetgrent,getnetgrent_r,endnetgrent,"
        "ether_hostton,ether_ntohost,getutent,getutid,getutline,getutent_r,getutid_r,getutline_r,setutent,endutent,pututline,utmpname,"
        "getutxent,getutxid,getutxline,setutxent,endutxent,pututxline,utmpxname,res_init,__res_init,res_ninit,__res_ninit,res_query,"
        "__res_query,res_search,__res_search,res_nquery,__res_nquery,res_nsearch,__res_nsearch,res_querydomain,__res_querydomain,"
        "res_mkquery,__res_mkquery,res_send,__res_send,wordexp,glob,glob64"),
        "ttyname,ptsname,getmntent,ecvt,fcvt,qecvt,qfcvt,l64a,ether_ntoa,ether_aton,crypt",
        "atexit,on_exit,__cxa_atexit,at_quick_exit",
        "lgamma,lgammaf,lgammal,gamma",
        "readdir,readdir64,opendir,closedir,rewinddir,seekdir,telldir,fdopendir",
        "sysconf,get_nprocs,get_nprocs_conf,getloadavg",
        "hcreate,hsearch,hdestroy",
        "strtok",
        "pthread_key_create,__pthread_key_create,pthread_key_delete,tss_create,tss_delete",
    };
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++)
        if (listed(groups[i], name)) return i + 1;
    /* What UndefinedBehaviorSanitizer finds is told once, by who finds it first. */
    if (!strncmp(name, "__ubsan_handle_", 15)) return sizeof groups / sizeof *groups + 1;
    return 0;
}

/* A regular expression has a lock and memory of libc's behind it, which grows with what is matched: ordered per expression, the first
 * argument. */
#define MATCHING "regexec,regfree"

/* Members and operators of C++ streams, which have state of their own (width, flags): ordered per stream, the first
 * argument. */
static int cxx_stream(const char *name) {
    static const char *const heads[] = {"_ZNSo", "_ZNSi", "_ZNSd", "_ZStls", "_ZStrs", "_ZSt16__ostream_insert", "_ZSt4endl", "_ZSt5flush",
                                        "_ZNSt13basic_ostream", "_ZNSt13basic_istream", "_ZSt7getline", "_ZSt4ends"};
    for (unsigned k = 0; k < sizeof heads / sizeof *heads; k++)
        if (!strncmp(name, heads[k], strlen(heads[k]))) return 1;
    return 0;
}

/* First instruction after a call on its normal way; NULL: none (no return). */
LLVMValueRef weft__rw_after(LLVMValueRef call) {
    if (LLVMIsAInvokeInst(call)) return weft__shim_first(weft__shim_normal_edge(call));
    return LLVMGetNextInstruction(call);
}

/* Whether the runtime defines the function itself; the list is made from its symbols when weft is built. */
int weft__rw_interposed(const char *name) {
    static const char *const names[] = {
#include "interposed.inc"
        NULL};
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], name)) return 1;
    return 0;
}

/* ---- inline assembly, and instructions that are inputs */

/* The code generator may give each side of a tick or check a copy of a short block behind it. An instruction whose own address can be seen, since it
 * faults or reads it, would then have two: one in the recording, and another in the replay, which goes the cold way there. A convergent one is not copied. */
static void stays_one(struct weft_rw *r, LLVMValueRef call) {
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(r->c, LLVMGetEnumAttributeKindForName("convergent", 10), 0));
}

void weft__rw_warn_asm(LLVMValueRef i, const char *what) {
    LLVMValueRef fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(i));
    unsigned len = 0, dir_len = 0, line = LLVMGetDebugLocLine(i);
    const char *file = LLVMGetDebugLocFilename(i, &len), *dir = LLVMGetDebugLocDirectory(i, &dir_len);
    int relative = len && file[0] != '/' && dir_len;
    static LLVMValueRef last_fn;
    static unsigned last_line;
    if (getenv("WEFT_QUIET") || (fn == last_fn && line == last_line && line)) return;
    last_fn = fn;
    last_line = line;
    if (line)
        fprintf(stderr, "weft: warning: %.*s%s%.*s:%u: inline assembly in '%s' %s\n", relative ? (int)dir_len : 0, dir,
                relative ? "/" : "", (int)len, file, line, weft__rw_name_of(fn), what);
    else
        fprintf(stderr, "weft: warning: inline assembly in '%s' %s\n", weft__rw_name_of(fn), what);
}

/* A call of the runtime in place of an instruction: two words. */
static LLVMValueRef input_pair(struct weft_rw *r, LLVMValueRef i, const char *name) {
    LLVMTypeRef two[2] = {r->i64, r->i64}, t = LLVMFunctionType(LLVMStructTypeInContext(r->c, two, 2, 0), NULL, 0, 0);
    weft__rw_at(r, i);
    return weft__rw_call_named(r, name, t, NULL, 0);
}
static LLVMValueRef fit(struct weft_rw *r, LLVMValueRef v, LLVMTypeRef t) {
    return LLVMTypeOf(v) == t ? v : LLVMBuildIntCast2(r->b, v, t, 0, "");
}
/* The result of i becomes v[0], or a structure of the n values. */
static void input_result(struct weft_rw *r, LLVMValueRef i, LLVMValueRef *v, unsigned n) {
    LLVMTypeRef t = LLVMTypeOf(i);
    LLVMValueRef all;
    if (LLVMGetTypeKind(t) == LLVMStructTypeKind) {
        all = LLVMConstNull(t);
        for (unsigned k = 0; k < n && k < LLVMCountStructElementTypes(t); k++)
            all = LLVMBuildInsertValue(r->b, all, fit(r, v[k], LLVMStructGetTypeAtIndex(t, k)), k, "");
    } else
        all = fit(r, v[0], t);
    LLVMReplaceAllUsesWith(i, all);
    LLVMInstructionEraseFromParent(i);
}

/* Where a memory operand of i is accessed: bts and its like go by the number of the bit, which has a sign. */
static LLVMValueRef word_of_bit(struct weft_rw *r, LLVMValueRef i, const struct weft_asm_operand *o) {
    if (!o->unit || o->bit < 0) return o->pointer;
    LLVMValueRef bit = LLVMGetOperand(i, (unsigned)o->bit);
    weft__rw_at(r, i);
    if (LLVMGetTypeKind(LLVMTypeOf(bit)) == LLVMPointerTypeKind) bit = LLVMBuildPtrToInt(r->b, bit, r->i64, "");
    bit = LLVMBuildAShr(r->b, LLVMBuildSExt(r->b, bit, r->i64, ""), weft__rw_i64c(r, 3 + (uint64_t)__builtin_ctzll(o->unit)), "");
    LLVMValueRef bytes = LLVMBuildMul(r->b, bit, weft__rw_i64c(r, o->unit), "");
    return LLVMBuildGEP2(r->b, r->i8, o->pointer, &bytes, 1, "");
}

static void asm_inst(struct weft_rw *r, LLVMValueRef i) {
    struct weft_asm a;
    stays_one(r, i);
    weft__asm_look(&a, r->dl, i);
    if (a.input >= WEFT_ASM_TSC && LLVMIsACallInst(i)) {
        LLVMValueRef p = input_pair(r, i, a.input == WEFT_ASM_TSCP ? "__weft_rdtscp" : "__weft_rdtsc"), v[3];
        LLVMValueRef whole = LLVMBuildExtractValue(r->b, p, 0, "");
        unsigned parts = 0;
        for (; a.tsc[parts]; parts++) switch (a.tsc[parts]) {
            case 'l': v[parts] = LLVMBuildAnd(r->b, whole, weft__rw_i64c(r, 0xffffffff), ""); break;
            case 'h': v[parts] = LLVMBuildLShr(r->b, whole, weft__rw_i64c(r, 32), ""); break;
            case 'p': v[parts] = LLVMBuildExtractValue(r->b, p, 1, ""); break;
            default: v[parts] = whole;
            }
        input_result(r, i, v, parts);
        return;
    }
    if (a.input) weft__rw_warn_asm(i, "reads what differs from run to run (rdtsc, rdrand, ...): replay cannot give it the same");
    if (a.opaque) weft__rw_warn_asm(i, "may touch memory that is not among its operands: that is not ordered");
    unsigned n = 0, k = 0;
    for (unsigned j = 0; j < a.count; j++)
        if (weft__facts_access(r->f, i, (int)a.operand[j].arg) == WEFT_WHY_ORDERED) {
            a.operand[n] = a.operand[j];
            a.operand[n++].pointer = word_of_bit(r, i, &a.operand[j]);
        }
    int objects = 0;
    if (a.opaque && a.pointers)
        for (; k < LLVMGetNumArgOperands(i); k++)
            objects |= weft__facts_access(r->f, i, (int)k) == WEFT_WHY_ORDERED;
    if (!n && !objects) return;
    if (n == 1 && !objects && a.operand[0].size) {
        uint32_t flags = !a.operand[0].write ? 0 : a.locked ? WEFT_ACC_WRITE | WEFT_ACC_ATOMIC : WEFT_ACC_WRITE | WEFT_ACC_PARTIAL;
        weft__rw_check_any(r, i, a.operand[0].pointer, a.operand[0].size, 1, flags);
        if (LLVMIsACallInst(i)) weft__rw_verify(r, i, a.operand[0].pointer, a.operand[0].size, flags);
        return;
    }
    weft__rw_group_begin(r, i);
    for (k = 0; k < n; k++)
        if (a.operand[k].size)
            weft__rw_group_range(r, a.operand[k].pointer, weft__rw_i64c(r, a.operand[k].size), a.operand[k].write && a.locked ? 2 : a.operand[k].write);
        else
            weft__rw_group_object(r, a.operand[k].pointer);
    if (objects)
        for (k = 0; k < LLVMGetNumArgOperands(i); k++)
            if (weft__facts_access(r->f, i, (int)k) == WEFT_WHY_ORDERED) {
                weft__rw_group_object(r, LLVMGetOperand(i, k));
                if (a.locked) weft__rw_group_range(r, LLVMGetOperand(i, k), weft__rw_i64c(r, 1), 2);
            }
    weft__rw_group_end(r);
}

/* Instructions of the processor's own that access memory: what they can touch is owned, masked out or not, and as with other masked ones nothing of it is
 * verified. Their operands tell how much it is: a gather or scatter has a base, indices and, last, their scale; others access at most
 * as many bytes as their largest operand or their result has. Those that save or restore the processor's state are about an object. */
static int is_any_of(const char *name, const char *const *list) {
    for (; *list; list++)
        if (!strncmp(name, *list, strlen(*list))) return 1;
    return 0;
}

static void of_processor(struct weft_rw *r, LLVMValueRef i, const char *name) {
    static const char *const nothing[] = {"sse2.clflush", "clflushopt", "clwb", "cldemote", "sse3.monitor", "monitorx", "umonitor", "sse.prefetch", NULL},
                             *const state[] = {"fx", "xsave", "xrstor", "aes", "encodekey", "tile", NULL}, *const lines[] = {"clzero", "movdir64b", "enqcmd", NULL},
                             *const past[] = {"sse2.maskmov", "mmx.maskmov", "sse4a.movnt", "clzero", "movdir", NULL};
    unsigned args = LLVMGetNumArgOperands(i);
    LLVMValueRef base = NULL, index = NULL;
    uint64_t most = LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMVoidTypeKind ? 0 : weft__rw_size_of(r, LLVMTypeOf(i));
    int write = !most || strstr(name, "xadd"), each = strstr(name, "gather") || strstr(name, "scatter"), any = 0;
    LLVMTypeRef data = most ? LLVMTypeOf(i) : NULL;
    if (is_any_of(name, nothing)) return;
    for (unsigned k = 0; k < args; k++) {
        LLVMValueRef v = LLVMGetOperand(i, k);
        LLVMTypeRef t = LLVMTypeOf(v);
        if (LLVMGetTypeKind(t) == LLVMPointerTypeKind) {
            any |= weft__facts_access(r->f, i, (int)k) == WEFT_WHY_ORDERED;
            base = v;
            continue;
        }
        if (weft__rw_size_of(r, t) > most) most = weft__rw_size_of(r, t);
        if (!each || LLVMGetTypeKind(t) != LLVMVectorTypeKind) continue;
        /* gather: what stays where nothing is loaded, base, indices, mask; scatter: base, mask, indices, data */
        if (k == 2) index = v;
        if (k == 3 && strstr(name, "scatter")) data = t;
    }
    if (!any) return;
    if (is_any_of(name, past)) weft__rw_fence_after(r, i);
    if (!each && !is_any_of(name, state) && !is_any_of(name, lines) && most <= 64) {
        for (unsigned k = 0; k < args; k++)
            if (weft__facts_access(r->f, i, (int)k) == WEFT_WHY_ORDERED)
                weft__rw_check_any(r, i, LLVMGetOperand(i, k), most ? most : 4, 1, write ? WEFT_ACC_WRITE | WEFT_ACC_PARTIAL : 0);
        return;
    }
    weft__rw_group_begin(r, i);
    if (each && index && data && LLVMGetTypeKind(data) == LLVMVectorTypeKind) {
        unsigned n = LLVMGetVectorSize(data), m = LLVMGetVectorSize(LLVMTypeOf(index));
        LLVMValueRef scale = LLVMBuildZExt(r->b, LLVMGetOperand(i, args - 1), r->i64, "");
        for (unsigned k = 0; k < (n < m ? n : m); k++) {
            LLVMValueRef x = LLVMBuildExtractElement(r->b, index, LLVMConstInt(r->i32, k, 0), "");
            x = LLVMBuildMul(r->b, LLVMBuildSExtOrBitCast(r->b, x, r->i64, ""), scale, "");
            LLVMValueRef p = LLVMBuildGEP2(r->b, LLVMInt8TypeInContext(LLVMGetTypeContext(r->i64)), base, &x, 1, "");
            weft__rw_group_range(r, p, weft__rw_i64c(r, weft__rw_size_of(r, LLVMGetElementType(data))), write);
        }
    } else
        for (unsigned k = 0; k < args; k++) {
            if (weft__facts_access(r->f, i, (int)k) != WEFT_WHY_ORDERED) continue;
            if (is_any_of(name, lines))
                weft__rw_group_range(r, LLVMGetOperand(i, k), weft__rw_i64c(r, 64), 1);
            else
                weft__rw_group_object(r, LLVMGetOperand(i, k));
        }
    weft__rw_group_end(r);
}

/* Intrinsics that touch memory or are inputs; the rest is left as it is. */
static void intrinsic(struct weft_rw *r, LLVMValueRef i, const char *name) {
    static const struct {
        const char *intrinsic, *call;
    } inputs[] = {{"llvm.readcyclecounter", "rdtsc"}, {"llvm.x86.rdtsc", "rdtsc"},         {"llvm.x86.rdtscp", "rdtscp"},
                  {"llvm.x86.rdpid", "rdpid"},        {"llvm.x86.rdrand.16", "rdrand16"}, {"llvm.x86.rdrand.32", "rdrand32"},
                  {"llvm.x86.rdrand.64", "rdrand64"}, {"llvm.x86.rdseed.16", "rdseed16"}, {"llvm.x86.rdseed.32", "rdseed32"},
                  {"llvm.x86.rdseed.64", "rdseed64"}};
    for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
        if (!strcmp(name, inputs[k].intrinsic)) {
            char wn[32];
            snprintf(wn, sizeof wn, "__weft_%s", inputs[k].call);
            LLVMValueRef p = input_pair(r, i, wn);
            LLVMValueRef v[2] = {LLVMBuildExtractValue(r->b, p, 0, ""), LLVMBuildExtractValue(r->b, p, 1, "")};
            input_result(r, i, v, 2);
            return;
        }
    if (!strncmp(name, "llvm.x86.", 9)) {
        of_processor(r, i, name + 9);
        return;
    }
    if (!strcmp(name, "llvm.trap") || !strcmp(name, "llvm.debugtrap") || !strcmp(name, "llvm.ubsantrap")) {
        LLVMValueRef nothing = LLVMGetInlineAsm(r->cold_t, "", 0, "", 0, 1, 0, LLVMInlineAsmDialectATT, 0);
        weft__rw_at(r, i);
        stays_one(r, LLVMBuildCall2(r->b, r->cold_t, nothing, NULL, 0, ""));
        return;
    }
    int store = !strncmp(name, "llvm.masked.store", 17) || !strncmp(name, "llvm.masked.compressstore", 25);
    if (store || !strncmp(name, "llvm.masked.load", 16) || !strncmp(name, "llvm.masked.expandload", 22)) {
        /* All lanes, masked out or not: their lines are only owned, not touched. So there is no verify either. */
        unsigned arg = (unsigned)store;
        LLVMTypeRef t = store ? LLVMTypeOf(LLVMGetOperand(i, 0)) : LLVMTypeOf(i);
        if (weft__facts_access(r->f, i, (int)arg) == WEFT_WHY_ORDERED)
            weft__rw_check_any(r, i, LLVMGetOperand(i, arg), weft__rw_size_of(r, t), 1, store ? WEFT_ACC_WRITE | WEFT_ACC_PARTIAL : 0);
        return;
    }
    int scatter = !strncmp(name, "llvm.masked.scatter", 19);
    if (scatter || !strncmp(name, "llvm.masked.gather", 18)) {
        LLVMValueRef ptrs = LLVMGetOperand(i, (unsigned)scatter), mask = LLVMGetOperand(i, scatter ? 3 : 2);
        LLVMTypeRef vt = scatter ? LLVMTypeOf(LLVMGetOperand(i, 0)) : LLVMTypeOf(i);
        uint64_t n = weft__rw_size_of(r, LLVMGetElementType(vt));
        enum weft_why why = weft__facts_access(r->f, i, scatter);
        if (LLVMGetTypeKind(vt) != LLVMVectorTypeKind) return;
        if (why != WEFT_WHY_ORDERED && why != WEFT_WHY_NOTHING) return; /* NOTHING: not a pointer, but a vector of them */
        weft__rw_group_begin(r, i);
        for (unsigned k = 0; k < LLVMGetVectorSize(vt); k++) {
            LLVMValueRef ix = LLVMConstInt(r->i32, k, 0), p = LLVMBuildExtractElement(r->b, ptrs, ix, "");
            LLVMValueRef on = LLVMBuildExtractElement(r->b, mask, ix, "");
            weft__rw_group_range(r, p, LLVMBuildSelect(r->b, on, weft__rw_i64c(r, n), weft__rw_i64c(r, 0), ""), scatter);
        }
        weft__rw_group_end(r);
    }
}

/* A structure passed by value is read by the call itself, maybe after the thread has gone outside: read it before. */
static void by_value(struct weft_rw *r, LLVMValueRef i) {
    unsigned kind = LLVMGetEnumAttributeKindForName("byval", 5);
    for (unsigned k = 0; k < LLVMGetNumArgOperands(i); k++) {
        LLVMAttributeRef t = LLVMGetCallSiteEnumAttribute(i, k + 1, kind);
        if (!t || weft__facts_access(r->f, i, (int)k) != WEFT_WHY_ORDERED) continue;
        LLVMTypeRef type = LLVMGetTypeAttributeValue(t);
        LLVMValueRef p = LLVMGetOperand(i, k), n = weft__rw_i64c(r, weft__rw_size_of(r, type));
        unsigned al = param_align(i, k);
        if (weft__shim_must_tail(i)) { /* may not have an alloca's address; it stays inside */
            weft__rw_check_any(r, i, p, weft__rw_size_of(r, type), al, 0);
            continue;
        }
        LLVMValueRef fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(i));
        weft__rw_at(r, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
        LLVMValueRef copy = LLVMBuildAlloca(r->b, type, "");
        if (al > LLVMGetAlignment(copy)) LLVMSetAlignment(copy, al);
        LLVMTypeRef pt[3] = {r->ptr, r->ptr, r->i64}, ft = LLVMFunctionType(r->ptr, pt, 3, 0);
        LLVMValueRef a[3] = {copy, p, n};
        weft__rw_at(r, i);
        weft__rw_call_named(r, "__weft_memcpy", ft, a, 3);
        LLVMSetOperand(i, k, copy);
        if (LLVMIsACallInst(i)) LLVMSetTailCall(i, 0);
        r->s->takes++;
    }
}

/* The plan counts on the lock, or the join: it must not fail. */
static void succeeds(struct weft_rw *r, LLVMValueRef i) {
    LLVMValueRef nx = weft__rw_after(i);
    if (!nx || LLVMTypeOf(i) != r->i32) return;
    weft__rw_at(r, nx);
    LLVMValueRef failed = LLVMBuildICmp(r->b, LLVMIntNE, i, LLVMConstInt(r->i32, 0, 0), "");
    LLVMValueRef cold = weft__shim_cold(failed, nx), a[2] = {LLVMGetOperand(i, 0), i};
    LLVMTypeRef t[2] = {LLVMTypeOf(a[0]), r->i32};
    int join = LLVMGetTypeKind(t[0]) != LLVMPointerTypeKind;
    weft__rw_at(r, cold);
    weft__rw_call_named(r, join ? "__weft_join_failed" : "__weft_lock_failed", LLVMFunctionType(r->vd, t, 2, 0), a, 2);
}

/* Nothing but the return follows the call, so no site is passed before the caller's own tick: the call may stay a tail
 * call, and a program that recurses that way does not need more stack than before. */
int weft__rw_in_tail_position(LLVMValueRef i) {
    LLVMValueRef nx = LLVMIsACallInst(i) ? LLVMGetNextInstruction(i) : NULL;
    if (nx && LLVMGetInstructionOpcode(nx) == LLVMBr && !LLVMIsConditional(nx)) { /* one return for all */
        nx = LLVMGetFirstInstruction(LLVMGetSuccessor(nx, 0));
        while (LLVMGetInstructionOpcode(nx) == LLVMPHI) nx = LLVMGetNextInstruction(nx);
    }
    return nx && LLVMGetInstructionOpcode(nx) == LLVMRet;
}

void weft__rw_call_inst(struct weft_rw *r, LLVMValueRef i) {
    LLVMValueRef callee = LLVMGetCalledValue(i);
    if (LLVMIsAInlineAsm(callee)) {
        asm_inst(r, i);
        return;
    }
    const char *name = LLVMIsAFunction(callee) ? weft__rw_name_of(callee) : "";
    if (!strncmp(name, "llvm.memcpy", 11) || !strncmp(name, "llvm.memmove", 12) || !strncmp(name, "llvm.memset", 11)) {
        memory_intrinsic(r, i, name);
        return;
    }
    if (!strcmp(name, "__weft_repeat") && LLVMIsACallInst(i) && LLVMTypeOf(i) == r->i32 && LLVMGetNumArgOperands(i) == 1) {
        if (weft__facts_sure(r->f, i)) {
            LLVMReplaceAllUsesWith(i, LLVMConstInt(r->i32, 0, 0));
            LLVMInstructionEraseFromParent(i);
            return;
        }
        weft__rw_repeat(r, i);
        return;
    }
    if (!strncmp(name, "llvm.", 5)) intrinsic(r, i, name);
    if (!strncmp(name, "llvm.", 5) || !strncmp(name, "__weft", 6)) return;
    by_value(r, i);
    if (weft__facts_sure(r->f, i)) succeeds(r, i);
    int reenter = weft__facts_may_reenter(r->f, i), out = weft__facts_may_call_out(r->f, i);
    int external = LLVMIsAFunction(callee) && LLVMIsDeclaration(callee);
    int must_tail = weft__shim_must_tail(i);
    const struct weft_external *e = external ? weft__external(name) : NULL;
    if (external && e && e->class == WEFT_EXT_RENAME && !LLVMIsAInvokeInst(i)) {
        static const char *const own[] = {"strdup", "__strdup", "strndup", "__strndup", "memcpy",  "memmove",      "memset", "strcpy",       "__strcpy_chk", "stpcpy",
                                          "__stpcpy_chk", "strcat", "__strcat_chk", "strncat", "__strncat_chk", NULL};
        for (int k = 0; own[k]; k++)
            if (!strcmp(name, own[k])) {
                char wn[64];
                snprintf(wn, sizeof wn, "__weft_%s", name);
                LLVMSetOperand(i, LLVMGetNumOperands(i) - 1, weft__rw_function(r, wn, LLVMGetCalledFunctionType(i)));
                r->s->takes++;
                return;
            }
    }
    unsigned group = external ? hidden_state(name) : 0;
    int serialize = external && !must_tail && (group || listed(r->o->serialize, name));
    LLVMValueRef object = group ? LLVMConstIntToPtr(weft__rw_i64c(r, group), r->ptr) : callee;
    if (external && !must_tail && LLVMGetNumArgOperands(i) &&
        (listed(MATCHING, name) || (cxx_stream(name) && weft__facts_access(r->f, i, 0) == WEFT_WHY_ORDERED))) {
        serialize = 1;
        object = LLVMGetOperand(i, 0);
    }
    if (serialize && LLVMIsAInvokeInst(i)) r->unwinds = 1;
    LLVMTypeRef t1 = LLVMFunctionType(r->vd, &r->ptr, 1, 0);
    /* Before the other group: what a library does when it is loaded may be of that. */
    int loads = group && (listed(LOADS, name) || group == hidden_state("getaddrinfo"));
    LLVMValueRef loading = loads ? LLVMConstIntToPtr(weft__rw_i64c(r, hidden_state("dlopen")), r->ptr) : NULL;
    if (serialize) {
        weft__rw_at(r, i);
        if (loading) weft__rw_call_named(r, "__weft_serial_begin", t1, &loading, 1);
        weft__rw_call_named(r, "__weft_serial_begin", t1, &object, 1);
    }
    if (external && !(e && e->class == WEFT_EXT_WRAP && weft__rw_interposed(name)) && (e || !weft__external_ordered(name))) take(r, i, e);
    LLVMValueRef foreign = NULL;
    if (out && !must_tail) {
        weft__rw_at(r, i);
        if (LLVMIsAFunction(callee)) {
            weft__rw_call0(r, r->go_out);
        } else {
            foreign = weft__rw_foreign(r, callee);
            LLVMValueRef cold = weft__shim_cold(foreign, i);
            weft__rw_at(r, cold);
            weft__rw_call0(r, r->go_out);
        }
        r->s->outs++;
    }
    int twice = weft__shim_returns_twice(i);
    if (must_tail || !(out || reenter || twice || serialize)) return;
    LLVMValueRef nx = weft__rw_after(i);
    if (!nx) return;
    if (out && !foreign) {
        weft__rw_at(r, nx);
        weft__rw_call0(r, r->come_in);
    } else if (out)
        weft__rw_come_in(r, nx);
    if (serialize) {
        weft__rw_at(r, nx);
        if (!strcmp(name, "dlopen") || !strcmp(name, "dlmopen")) weft__rw_call_named(r, "__weft_loaded", t1, &i, 1);
        weft__rw_call_named(r, "__weft_serial_end", t1, &object, 1);
        if (loading) weft__rw_call_named(r, "__weft_serial_end", t1, &loading, 1);
    }
    if (twice || out || (reenter && !weft__rw_in_tail_position(i))) weft__rw_tick(r, nx);
}
