#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: mutate.sh OWNER_C NAME > COPY       a copy of owner.c with one mistake in it
#        mutate.sh OWNER_C list              "NAME EXPLORER-OPTIONS SCENARIO", one a line: where the mistake shows; the
#                                            option -a is the explorer that was built with few places for readers
# Each is a mistake that one could make in the protocol; run.sh shows that the explorer finds every one of them. A mistake
# that does not apply any more (owner.c has changed) is an error.
set -eu
file=$1
name=$2
within() { # FUNCTION SED: only inside that function
    expr="/^[a-z].*[ *]$1(.*{\$/,/^}/{$2}"
}
case $name in
list)
    cat <<'LIST'
answer-without-waiters-lock - crossed
step-forgotten - step
no-look-after-locking-words - join
split-says-done - hot-same
holds-for-good - hold
holds-and-forgets - hold
late-for-good - hold
late-says-tick - late-two
late-after-its-line - late-two
sleepers-lost -d hold-sleepers
rearm-by-plain-store -t ask-again
rearm-after-looking - ask-again
answered-without-edge - ask
sleeper-logs-its-edge - page
sleeper-stands-where-it-asked - page
sleeper-comes-in-without-lock - page
sleeper-keeps-nothing - hot-two
sleeper-keeps-for-good - ask
group-not-asked-again - group-outside
loop-not-looked-at-again - loops-two
lost-but-not-noted - loop-miss
split-without-edges - shared-stripes
join-without-edges - join
out-without-answering - outside
seen-filter-too-wide - split
seen-filter-without-step - step
words-not-released-at-tick - split-then-take
words-released-too-early - split-halves
taken-while-inside - ask
owner-not-looked-at-again - crossed
answers-what-is-gone - doze
hands-on-to-who-waits - ask
hands-on-unseen - ask
hands-on-without-lock - ask
takes-for-another-from-here - ask
takes-for-another-what-is-closed - share-whole
takes-for-another-inside - outside
order-says-reached - order
claimed-without-edge - gone
claimed-after-edge - gone-claimed
mapping-says-reached - gone
gone-without-own-lock - gone-asked
mapped-unasked - mapped-known
mapped-before-claims - mapped-claimed
mapped-before-taking - mapped-waits
word-says-reached - split-halves
owner-releases-before-store - hot-two
lock-wakes-nobody -d crossed-two
answer-wakes-nobody -d ask-two
waker-stands-elsewhere -d waker-two
waker-stays-outside -d waker-two
answer-before-line -d ask-two
stripe-not-locked - split-halves
line-of-waiter-without-edge - crossed
stop-not-seen-by-rearm - fork-ask
stop-not-seen-by-tick - fork-two
stop-not-seen-outside - fork-outside
stop-not-seen-at-begin - fork-begin
stop-tells-nobody - fork-two
comes-in-and-then-arms - outside
stop-without-answering - fork-asked
stop-takes-waiters-for-stopped - fork-ring
stop-forgets-the-dead - fork-two
fork-without-edges - fork-two
fork-says-reached - fork-two
after-fork-without-edge - fork-two
comes-in-without-lock - fork-outside
go-before-position - fork-outside
go-wakes-one -d fork-all
go-wakes-nobody -d fork-two
page-gives-what-is-closed - share-page
page-shares-what-is-closed - share-page-shared
answers-for-what-is-closed - share-late-reader
taken-while-closed - share-late-reader
waits-for-closer-while-asked - share-writers-two
closed-by-nobody - share-write-two
closed-for-good - share-write-two
closed-without-own-lock - share-write-two
closed-without-place-lock - share-write-two
closed-again - share-both-writers
closed-but-listed - share-both
one-reader-stopped - share-write
anybody-is-nobody -a share-anybody-out
reader-unknown - share
reader-known-too-late -d share
owner-unknown - share
reader-without-edge - share
next-line-without-owner - share-chain
next-line-keeps-position - share-chain
giver-logs-the-edge - share-fork-asked
stopped-without-edge - share-write
stopped-outside-without-edge - share-closed-out
stopped-while-inside - share-write
stopped-but-listed - share-closed-out
stopped-without-lock -t share-closed-out
waiting-reader-is-asked - share-writers
stops-but-listed - share-write
writer-still-listed - share-write-two
shared-is-writable - share-straddle-write
shared-without-list - share-straddle-again
close-not-asked-again - share-group-close
close-answers-unseen - share-group-close
closed-page-says-one - close-page-two
closed-page-left-one - close-page-again
closed-page-still-listed - close-page-two
stopped-with-one - close-page-out
stops-with-one - close-page
dozes-on - doze
dozes-on-shared - doze-shared
dozes-unwoken -d doze-two
dozes-asked - doze
dozes-too-late - doze
weak-given-but-kept - weak-two
weak-stopped-but-kept - weak-same
weak-lost-unseen - weak-two
weak-not-compared-again - weak-join
weak-joins-any-side - weak-two
weak-side-not-set - weak-two
weak-side-set-too-early - weak-two
weak-own-side-kept - weak-nested
weak-not-again-at-a-miss - weak-miss
weak-not-again-with-words - weak-words
weak-line-not-again - weak-line
weak-one-of-two - weak-both
weak-ends-with-sides - weak-end
weak-ended-is-told - weak-end
LIST
    exit ;;
answer-without-waiters-lock) # the prototype's mistake: a grant must hold the waiter's lock as well
    within serve 's/unlock2(u, o)/weft__unlock(\&u->lock)/;s/ lock2(u, o)/ weft__lock(\&u->lock)/' ;;
step-forgotten) within standing 's/? t->at_step : 0/? 0 : 0/' ;;
no-look-after-locking-words) within own_small 's/!= was\[i\]) ok = 0/!= was[i]) ok = 1/' ;;
split-says-done) within split 's/, here\.step)/, WEFT_DONE)/' ;;
holds-for-good) within rearm 's/t->tls->clock + ticks/WEFT_NEVER/' ;;
holds-and-forgets) within rearm 's/^ *__atomic_store_n(&t->tls->limit, t->tls->clock + ticks.*//' ;;
late-for-good) within rearm 's/t->tls->clock + 1, /WEFT_NEVER, /' ;;
late-says-tick) within answer_late 's/serve(t, site, /serve(t, 0, /' ;;
late-after-its-line)
    within weft__rec_miss '/answer_late/d;s/^\( *\)own_small(t, p, n ? n : 1, site, write);/\1{ own_small(t, p, n ? n : 1, site, write); if (t->late) answer_late(t, site); }/' ;;
sleepers-lost) within serve 's/^ *\*oldest = list->next;/t->waiters = NULL;/' ;;
rearm-by-plain-store)
    within rearm 's/__atomic_exchange_n(&t->tls->limit, limit, __ATOMIC_SEQ_CST)/__atomic_store_n(\&t->tls->limit, limit, __ATOMIC_RELAXED)/' ;;
rearm-after-looking)
    within rearm '/__atomic_exchange_n/d;s/__ATOMIC_SEQ_CST))) break;/__ATOMIC_SEQ_CST))) { __atomic_exchange_n(\&t->tls->limit, limit, __ATOMIC_SEQ_CST); break; }/' ;;
answered-without-edge) within serve 's/^ *weft__rec_edge(o, o->here.site, &o->grant);//' ;;
sleeper-logs-its-edge) # when it goes on: others have taken from it meanwhile what it had got
    expr='s/^ *weft__rec_edge(o, o->here.site, &o->grant);//;s/^ *if (!got) continue;/& weft__rec_edge(t, site, \&t->grant);/' ;;
sleeper-stands-where-it-asked) within serve 's/^ *o->here = standing(.*//' ;;
sleeper-comes-in-without-lock) within wait_served 's/^ *weft__\(un\)*lock(&t->lock);//' ;;
sleeper-keeps-nothing) within serve 's/o->keeps = .*/o->keeps = 0;/' ;;
sleeper-keeps-for-good) within wait_served 's/t->keeps = 0;//' ;;
group-not-asked-again) within acquire '/serve(t, site, /{n;s/waited = answered = 1;/answered = 1;/}' ;;
loop-not-looked-at-again) within weft__rec_loop_begin 's/got \&\& !all \&\& tries/got \&\& !tries \&\& tries/;s/ || !all//' ;;
lost-but-not-noted) within give 's/lost(u, line);//' ;;
split-without-edges) within split 's/stripe_edge([^;]*);/;/' ;;
join-without-edges) within join 's/stripe_edge([^;]*);/;/' ;;
out-without-answering) within weft__rec_out 's/if (likely(!t->waiters)) break;/break;/' ;;
seen-filter-too-wide) within weft__rec_edge 's/to->tick < s->tick/to->tick <= s->tick/' ;;
seen-filter-without-step) within weft__rec_edge 's/ && to->step <= s->step//' ;;
words-not-released-at-tick) within own_small 's/__atomic_store_n(&t->tls->limit, 0, __ATOMIC_RELAXED);//' ;;
words-released-too-early) within own_small 's/__atomic_store_n(&t->tls->limit, 0, __ATOMIC_RELAXED);/weft__rec_release(t);/' ;;
taken-while-inside) within acquire 's/if (!in && !closing) {/if (!closing) {/' ;;
owner-not-looked-at-again) within acquire 's/if (__atomic_load_n(&TABLE\[line\], __ATOMIC_RELAXED) != o) {/if (0) {/' ;;
answers-what-is-gone) within serve 's/int has = __atomic_load_n(&TABLE\[line\], __ATOMIC_RELAXED) == u->slot \&\& /int has = /' ;;
hands-on-to-who-waits) within hand_on 's/ && to_ask(n, line)//' ;;
hands-on-unseen) within hand_on 's/^ *__atomic_store_n(&n->tls->limit.*//' ;;
hands-on-without-lock) within hand_on 's/ lock2(t, n)/ weft__lock(\&t->lock)/;s/unlock2(t, n)/weft__unlock(\&t->lock)/' ;;
takes-for-another-from-here) within serve 's/o->grant = u == t ? here : u->here;/o->grant = here;/' ;;
takes-for-another-what-is-closed) within serve 's/(!to_ask(u, line) \&\& !closes(u, line))/!to_ask(u, line)/' ;;
takes-for-another-inside) within serve 's/(!to_ask(u, line) \&\& !closes(u, line))/!closes(u, line)/' ;;
claimed-without-edge) within claim 's/stripe_edge(t, site, &maps.last);//' ;;
claimed-after-edge) # looks where memory was unmapped before it has claimed all
    within claim 's/^    uint32_t b = line.*/stripe_lock(\&maps.last); stripe_edge(t, site, \&maps.last); stripe_unlock(\&maps.last);\n&/;s/^    stripe_lock(&maps.last).*//;s/^    stripe_edge.*//;s/^    stripe_unlock.*//' ;;
mapping-says-reached) within weft__rec_maps_end 's/WEFT_DONE/0/' ;;
gone-without-own-lock) within weft__rec_maps_gone 's/^ *weft__\(un\)*lock(&t->lock);//' ;;
mapped-unasked) within weft__rec_maps_may 's/return 0;/continue;/' ;;
mapped-before-taking) within weft__rec_maps_end 's/if (done)/if (1)/' ;;
mapped-before-claims) # who claims does not wait for who maps
    within claim 's/stripe_lock(&maps.last);//;s/stripe_unlock(&maps.last);//' ;;
order-says-reached) within object_lock 's/WEFT_DONE/0/' ;;
word-says-reached) within own_small 's/stripe_mark(\(.*\), WEFT_DONE)/stripe_mark(\1, 0)/' ;;
owner-releases-before-store)
    within split 's/^ *weft__unlock(&t->lock);//;s/^ *weft__lock(&t->lock);/weft__lock(\&t->lock); weft__unlock(\&t->lock);/' ;;
lock-wakes-nobody) within weft__unlock 's/== 2/== 3/' ;;
answer-wakes-nobody) within wake 's/__atomic_store_n(&o->served, WEFT_WOKEN, __ATOMIC_RELEASE);//' ;;
waker-stands-elsewhere) within lend 's/t->here = \*here;//' ;;
waker-stays-outside) within weft__rec_back 's/t->state = WEFT_IN;//' ;;
answer-before-line) # the waiter is told before it has the line
    within serve 's/^ *lock2(u, o);/o->granted = 1; __atomic_store_n(\&o->served, WEFT_ANSWERED, __ATOMIC_RELEASE); &/' ;;
stripe-not-locked) within own_small 's/stripe_lock(&stripes\[t->held\[i\]\]);/(void)0;/' ;;
line-of-waiter-without-edge) within acquire 's/^ *weft__rec_edge(t, site, &here);//' ;;
stop-not-seen-by-rearm) within rearm 's/ || __atomic_load_n(&stopped, __ATOMIC_SEQ_CST)//' ;;
stop-not-seen-by-tick) within weft__rec_tick 's/if (unlikely(__atomic_load_n(&stopped, __ATOMIC_RELAXED))) {/if (0) {/' ;;
stop-not-seen-outside) within come_in 's/if (likely(.*)) break;/break;/' ;;
stop-not-seen-at-begin) within weft__rec_begin 's/come_in(t);/weft__lock(\&t->lock); t->state = WEFT_IN;/' ;;
stop-tells-nobody) within weft__rec_stop 's/__atomic_store_n(&o->tls->limit, 0, __ATOMIC_SEQ_CST);/;/' ;;
stop-without-answering) within weft__rec_stop 's/weft__rec_out(t);//' ;;
stop-takes-waiters-for-stopped) within weft__rec_stop 's/if (state == WEFT_OUT) break;/if (state != WEFT_IN) break;/' ;;
stop-forgets-the-dead) within weft__rec_stop 's/if (weft__threads\[s\])/if (weft__threads[s] \&\& weft__threads[s]->alive)/' ;;
fork-without-edges) within weft__rec_stop 's/if (weft__threads\[s\]) weft__rec_edge([^;]*);/;/' ;;
fork-says-reached) within weft__rec_go 's/WEFT_DONE/0/' ;;
after-fork-without-edge) within weft__rec_after_fork 's/^ *weft__rec_edge([^;]*);//' ;;
comes-in-and-then-arms) within weft__rec_in '/^ *__atomic_store_n(&t->tls->limit, t->tls->outside/{h;d;};/weft__unlock/G' ;;
comes-in-without-lock) within come_in 's/^ *weft__lock(&t->lock);/weft__lock(\&t->lock); weft__unlock(\&t->lock);/;s/t->state = WEFT_IN;/weft__lock(\&t->lock); &/' ;;
go-before-position) # they go on before they can know what they come after
    within weft__rec_go '/^ *stop_pos = /{h;d;};/++stop_age;/{H;d;};/rearm(t, 0);/G' ;;
go-wakes-one) within world_goes_on 's/1 << 30/1/' ;;
go-wakes-nobody) within world_goes_on '/SYS_futex/d' ;;
page-gives-what-is-closed) within give 's/ && !stays(u, i)//' ;;
page-shares-what-is-closed) within share 's/ && !stays(u, i)//' ;;
answers-for-what-is-closed) within serve 's/closes(t, (uint32_t)o->want)/0/' ;;
taken-while-closed) within acquire 's/closing = !in .*;/closing = 0;/' ;;
waits-for-closer-while-asked) within acquire 's/(closing || (in && !answered))/(in \&\& !answered)/' ;;
closed-by-nobody) within close_shared 's,t->closing = line / PAGE_LINES + 1;,,' ;;
closed-for-good) within close_shared 's/t->closing = 0;//' ;;
closed-without-own-lock)
    within close_shared '/^ *weft__lock(&t->lock);$/{N;s/.*\n\( *weft__lock(&s->lock);\)/\1/;};/^ *weft__unlock(&s->lock);$/{N;s/\n.*//;}' ;;
closed-without-place-lock) within close_shared '/lock(&s->lock);/d' ;;
closed-again) within close_shared 's,shared_line(s\, line),shared_place(s\, line / PAGE_LINES + 1),;s/d->lines & close_lines/close_lines/' ;;
closed-but-listed) within close_shared 's/^ *d->lines &= .*//' ;;
one-reader-stopped) within close_shared 's/i < n; i++/i < 1; i++/' ;;
anybody-is-nobody) within add_reader 's/^ *d->readers++;/d->readers = (uint16_t)(d->readers + (i < READERS));/' ;;
reader-unknown) within read_too 's/^ *add_reader(d, t);//' ;;
reader-known-too-late) within read_too 's/^ *add_reader(d, t);//;s/^ *weft__unlock(&s->lock);/& if (d) add_reader(d, t);/' ;;
owner-unknown) within share 's/^ *add_reader(d, u);//' ;;
reader-without-edge) within read_too 's/^ *weft__rec_edge([^;]*);//' ;;
next-line-without-owner) within share 's/^ *weft__rec_edge(t, site, here);//' ;;
next-line-keeps-position) within share 's/^ *d->pos = standing(t, site);//' ;;
giver-logs-the-edge) # at a position that others may come after already
    within serve 's,^ *o->granted = o->wish == WEFT_SHARE,struct shared *d = shared_place(shared_set(line)\, line / PAGE_LINES + 1); if (d) weft__rec_edge(t\, site\, \&d->pos); &,' ;;
stopped-without-edge) within serve 's/^ *if (o->granted) {/if (o->granted \&\& o->wish != WEFT_DROP) {/' ;;
stopped-outside-without-edge) within stop_reading 's/^ *weft__rec_edge(t, site, &here);//' ;;
stopped-while-inside) within stop_reading 's/int in = .*/int in = 0;/' ;;
stopped-but-listed) within stop_reading 's/^ *forget(x, line, [^;]*;//' ;;
stopped-without-lock) within stop_reading 's/^ *forget(x, line, [^;]*;//;s/^ *weft__rec_edge(t, site, &here);/forget(x, line, t->closing_lines); &/' ;;
waiting-reader-is-asked) within stop_reading 's/if (in) {/if (x->state != WEFT_OUT) {/' ;;
stops-but-listed) within serve 's/^ *forget(t, line, [^;]*;//' ;;
writer-still-listed) within close_shared 's/^ *forget(t, line, [^;]*;//' ;;
shared-is-writable) within has 's/ && !write//' ;;
shared-without-list) within has 's/ && reads(t, line)//' ;;
close-not-asked-again) within close_shared 's/\*waited |= stop_reading/(void)stop_reading/' ;;
closed-page-says-one) within close_shared 's/t->closing_lines = lines;/t->closing_lines = line_bit(line);/' ;;
closed-page-left-one) within close_shared 's/d->lines &= ~lines;/d->lines \&= ~line_bit(line);/' ;;
closed-page-still-listed) within close_shared 's/forget(t, line, t->closing_lines);/forget(t, line, line_bit(line));/' ;;
stopped-with-one) within stop_reading 's/forget(x, line, t->closing_lines);/forget(x, line, line_bit(line));/' ;;
stops-with-one) within serve 's/forget(t, line, o->closing_lines);/forget(t, line, line_bit(line));/' ;;
dozes-on) within acquire 's/got == 1 && dozed(u)/0/' ;;
dozes-on-shared) within stop_reading 's/dozed(x)/0/' ;;
dozes-unwoken) within rouse 's/weft__raw([^;]*;/;/' ;;
dozes-asked) within doze 's/if (t->waiters) {/if (0) {/' ;;
dozes-too-late) within doze 's/^ *__atomic_store_n(&t->dozes, 1.*//;s/^ *weft__raw(SYS_futex/__atomic_store_n(\&t->dozes, 1, __ATOMIC_RELAXED); &/' ;;
close-answers-unseen) within stop_reading 's/return answered;/return 0;/' ;;
weak-given-but-kept) within give 's/^ *lose_sides(u, line);//' ;;
weak-stopped-but-kept) within forget 's/^ *lose_sides(t, line);//' ;;
weak-lost-unseen) within lose_sides 's/^ *t->tls->weak |= sides;//' ;;
weak-not-compared-again) within take_side 's/ || __atomic_load_n(&weak_side\[w\], __ATOMIC_RELAXED) != bit + 1)/)/' ;;
weak-joins-any-side) within take_side 's/__ATOMIC_RELAXED) == bit + 1/__ATOMIC_RELAXED) != 0/' ;;
weak-side-not-set) within take_side 's/__atomic_store_n(&weak_side\[w\], (uint8_t)(bit + 1), __ATOMIC_RELAXED);/;/' ;;
weak-side-set-too-early) # before it has the line
    within take_side 's/^ *acquire(/__atomic_store_n(\&weak_side[w], (uint8_t)(bit + 1), __ATOMIC_RELAXED); &/' ;;
weak-own-side-kept) within take_side 's/^ *lose_sides(t, line);//' ;;
weak-not-again-at-a-miss) within own_small 's/if (likely(!weft__rec_again(t, site))) return;/return;/' ;;
weak-not-again-with-words) within own_small 's/if (unlikely(weft__rec_again(t, site))) continue;//' ;;
weak-line-not-again) # it goes on when it has its weak locks again, whatever that has cost
    within own_small 's/if (likely(!weft__rec_again(t, site))) return;/weft__rec_again(t, site); return;/' ;;
weak-one-of-two) within weft__rec_again 's/take_side(\(.*\));/{ take_side(\1); return 1; }/' ;;
weak-ends-with-sides) within weft__rec_end 's/^ *t->sides = 0;//' ;;
weak-ended-is-told) within lose_sides 's/^ *if (!(t->sides & sides)) return;//' ;;
*) echo "mutate.sh: no mistake called $name" >&2; exit 2 ;;
esac
out=$(sed "$expr" "$file")
if [ "$out" = "$(cat "$file")" ]; then
    echo "mutate.sh: $name does not apply: has $file changed?" >&2
    exit 2
fi
printf '%s\n' "$out"
