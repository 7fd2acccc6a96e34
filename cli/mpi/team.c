/* The processes of an MPI job as a team: messages are copied, sent without waiting and found by probing. A process that
 * no launcher started does not initialise MPI, and runs like `evenkeel`. */
#include <mpi.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "options.h"
#include "team.h"

/* A message on its way. */
typedef struct outgoing {
    MPI_Request request;
    void *bytes;
} outgoing;

typedef struct state {
    outgoing *out;
    int n_out, room;
    bool any_lost, is_used; /* a message was sent or looked for */
} state;

static state own;
static ek_team team;
static bool is_begun;

/* Has a launcher started this process? Each launcher passes its processes their number in a different variable. */
static bool is_launched(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "PMI_ID",
                                        "MV2_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return true;
    return false;
}

/* ---- messages ---- */

static void forget_sent(state *s)
{
    int n = 0;
    for (int i = 0; i < s->n_out; i++) {
        int done = 0;
        MPI_Test(&s->out[i].request, &done, MPI_STATUS_IGNORE);
        if (done)
            free(s->out[i].bytes);
        else
            s->out[n++] = s->out[i];
    }
    s->n_out = n;
}

static ek_status fail(ek_error *err, ek_status status, const char *message)
{
    if (err) {
        *err = (ek_error){.status = status};
        snprintf(err->message, sizeof err->message, "%s", message);
    }
    return status;
}

static ek_status send_message(void *user, int to, int kind, const void *bytes, size_t n, ek_error *err)
{
    state *s = user;
    if (n > EK_TEAM_MAX_MESSAGE)
        return fail(err, EK_ERR_SYSTEM, "a message between processes would have more than 1 GiB");
    s->is_used = true;
    forget_sent(s);
    if (s->n_out == s->room) {
        int room = s->room ? 2 * s->room : 64;
        outgoing *larger = realloc(s->out, (size_t)room * sizeof *larger);
        if (!larger)
            return fail(err, EK_ERR_MEMORY, "out of memory");
        s->out = larger;
        s->room = room;
    }
    void *copy = malloc(n > 0 ? n : 1);
    if (!copy)
        return fail(err, EK_ERR_MEMORY, "out of memory");
    if (n > 0)
        memcpy(copy, bytes, n);
    outgoing *next = &s->out[s->n_out++];
    next->bytes = copy;
    MPI_Isend(copy, (int)n, MPI_BYTE, to, kind, MPI_COMM_WORLD, &next->request);
    return EK_OK;
}

/* Where processes share cores, one that waits must not keep another from working: it sleeps, longer as time goes by. */
static bool receive_message(void *user, double seconds, ek_team_message *out)
{
    enum { SHORTEST_NS = 20000, LONGEST_NS = 2000000 };
    state *s = user;
    const double end = MPI_Wtime() + seconds;
    long pause = SHORTEST_NS;
    s->is_used = true;
    for (;;) {
        int there = 0, n = 0;
        MPI_Status about;
        forget_sent(s);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &about);
        if (there) {
            MPI_Get_count(&about, MPI_BYTE, &n);
            void *bytes = malloc(n > 0 ? (size_t)n : 1);
            if (!bytes)
                return false;
            MPI_Recv(bytes, n, MPI_BYTE, about.MPI_SOURCE, about.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            *out = (ek_team_message){about.MPI_SOURCE, about.MPI_TAG, bytes, (size_t)n};
            return true;
        }
        if (MPI_Wtime() >= end)
            return false;
        nanosleep(&(struct timespec){0, pause}, NULL);
        pause = pause * 2 < LONGEST_NS ? pause * 2 : LONGEST_NS;
    }
}

static void give_up(void *user, int process)
{
    state *s = user;
    (void)process;
    s->any_lost = true;
}

/* ---- begin and end ---- */

/* Where one of the processes does not start, the others would wait for ever. */
static void say_that_begin_failed(int signal)
{
    (void)signal;
    static const char text[] =
        "evenkeel: error: MPI did not begin within 120 s: a process or its machine does not answer\n";
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(EXIT_NO);
    _exit(EXIT_WRONG);
}

static void begin_mpi(void)
{
    enum { LONGEST_BEGIN_S = 120 };
    int level;
    signal(SIGALRM, say_that_begin_failed);
    alarm(LONGEST_BEGIN_S);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    alarm(0);
    signal(SIGALRM, SIG_DFL);
}

/* Messages that all processes would print are printed once. */
static void be_silent(void)
{
    int none = open("/dev/null", O_WRONLY);
    if (none < 0)
        return;
    fflush(stdout);
    dup2(none, STDOUT_FILENO);
    dup2(none, STDERR_FILENO);
    close(none);
}

int cli_team_begin(const ek_cmd *command)
{
    if (!is_launched())
        return EXIT_DONE;
    begin_mpi();
    is_begun = true;
    MPI_Comm_rank(MPI_COMM_WORLD, &team.index);
    MPI_Comm_size(MPI_COMM_WORLD, &team.size);
    team.state = &own;
    team.send = send_message;
    team.receive = receive_message;
    team.give_up = give_up;
    if (team.index > 0)
        be_silent();
    if (team.size == 1 || command->together)
        return EXIT_DONE;
    cli_error(NULL, "`%s` runs as one process, and %d were started: leave out the launcher", command->name, team.size);
    return EXIT_WRONG;
}

bool cli_team_is_launched(void)
{
    return is_begun;
}

const ek_team *cli_team(void)
{
    return is_begun && team.size > 1 ? &team : NULL;
}

/* Messages of the end: a process has nothing more to do; all may leave; process 0 ends, and not all leave with it. */
enum { DONE_HERE = 900, ALL_LEAVE, LEAVE_ALONE };

/* Leave when all processes do. Messages that are still pending are received, since a long message is not sent before
 * that. Process 0 leaves last, since it prints the messages: a process that has not reported its end some time later
 * has stopped or died. The others wait for process 0's message, with a time limit so long that process 0 has ended when
 * it passes. Not a barrier: a barrier that loses a process can release some processes and block others.
 * @return whether all came */
static bool leave_together(state *s)
{
    enum { LONGEST_END_S = 30, LONGEST_ANSWER_S = 3600 };
    const double limit = MPI_Wtime() + (team.index == 0 ? LONGEST_END_S : LONGEST_ANSWER_S);
    int n_here = 1;
    if (team.index > 0)
        send_message(s, 0, DONE_HERE, NULL, 0, NULL);
    while (n_here < team.size) {
        ek_team_message unread;
        if (receive_message(s, 0.001, &unread)) {
            free(unread.bytes);
            if (unread.kind == LEAVE_ALONE)
                return false;
            n_here = unread.kind == ALL_LEAVE ? team.size : n_here + (unread.kind == DONE_HERE);
        } else if (MPI_Wtime() > limit)
            return false;
    }
    for (int i = 1; team.index == 0 && i < team.size; i++)
        send_message(s, i, ALL_LEAVE, NULL, 0, NULL);
    while (s->n_out > 0 && MPI_Wtime() < limit)
        forget_sent(s);
    return s->n_out == 0;
}

static int end_code;

static void end_without_others(int signal)
{
    (void)signal;
    _exit(end_code);
}

/* All output is written: a process that died since all agreed to leave must not block the others. */
static void end_mpi(int code)
{
    enum { LONGEST_END_S = 30 };
    end_code = code;
    signal(SIGALRM, end_without_others);
    alarm(LONGEST_END_S);
    MPI_Finalize();
    alarm(0);
}

static void abort_all(int code)
{
    for (int i = 1; i < team.size; i++)
        send_message(&own, i, LEAVE_ALONE, NULL, 0, NULL);
    /* The launcher drops output that it has not forwarded by then. */
    nanosleep(&(struct timespec){0, 300000000}, NULL);
    MPI_Abort(MPI_COMM_WORLD, code);
}

int cli_team_end(int code)
{
    if (!is_begun)
        return code;
    fflush(NULL);
    /* A process that failed before the common start notifies the others, which would wait for it otherwise. */
    if (code == EXIT_WRONG && cli_team() && !own.is_used && cli_last_error()->status)
        ek_team_decline(&team, cli_last_error());
    /* MPI_Finalize waits for all; a lost process never arrives. */
    if (team.index == 0 && (own.any_lost || !leave_together(&own)))
        abort_all(code);
    if (team.index > 0 && !leave_together(&own)) {
        /* The launcher ends this process now; where it fails to, as Open MPI's may after a kill, it ends itself. */
        nanosleep(&(struct timespec){2, 0}, NULL);
        _exit(EXIT_DONE);
    }
    free(own.out);
    code = team.index == 0 ? code : EXIT_DONE;
    end_mpi(code);
    return code;
}
