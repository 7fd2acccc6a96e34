/* Messages of a rehearsal: reuses buffers, and ends in order when sends wait for receives that will not come. Every
 * process sends the receivers a list of its pending messages, and they receive these. */
#include "mpi/rehearse_messages.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/rehearse_mpi.h"
#include "options.h"

enum { TAG_DRAIN = 0 };

static bool grow(void **array, int *room, int needed, size_t size)
{
    if (needed <= *room)
        return true;
    int more = 2 * needed + 16;
    void *larger = realloc(*array, (size_t)more * size);
    if (!larger)
        return false;
    *array = larger;
    *room = more;
    return true;
}

void *mpi_messages_buffer(mpi_messages *messages)
{
    if (messages->n_idle > 0)
        return messages->idle[--messages->n_idle];
    return malloc(messages->bytes);
}

void mpi_messages_give_back(mpi_messages *messages, void *buffer)
{
    void *idle = messages->idle;
    if (!grow(&idle, &messages->idle_room, messages->n_idle + 1, sizeof *messages->idle)) {
        free(buffer);
        return;
    }
    messages->idle = idle;
    messages->idle[messages->n_idle++] = buffer;
}

static mpi_outgoing *add(mpi_messages *messages)
{
    void *out = messages->out;
    if (!grow(&out, &messages->out_room, messages->n_out + 1, sizeof *messages->out))
        return NULL;
    messages->out = out;
    return &messages->out[messages->n_out++];
}

bool mpi_messages_send(mpi_messages *messages, void *content, int bytes, int to, int tag, MPI_Comm comm)
{
    mpi_outgoing *o = add(messages);
    if (!o)
        return false;
    *o = (mpi_outgoing){.content = content, .to = to, .tag = tag};
    MPI_Isend(content, bytes, MPI_BYTE, to, tag, comm, &o->request);
    return true;
}

void mpi_messages_test(mpi_messages *messages)
{
    int n = 0;
    for (int i = 0; i < messages->n_out; i++) {
        int done = 0;
        MPI_Test(&messages->out[i].request, &done, MPI_STATUS_IGNORE);
        if (done)
            mpi_messages_give_back(messages, messages->out[i].content);
        else
            messages->out[n++] = messages->out[i];
    }
    messages->n_out = n;
}

void mpi_messages_begin_drain(mpi_messages *messages, int n_processes)
{
    mpi_messages_test(messages);
    messages->n_processes = n_processes;
}

void mpi_messages_adopt(mpi_messages *messages, MPI_Request request, void *content, int to, int tag)
{
    mpi_outgoing *o = add(messages);
    if (o)
        *o = (mpi_outgoing){request, content, to, tag};
}

void mpi_messages_add_receives(mpi_messages *messages, const mpi_waiting_receive *receive, int n)
{
    void *all = messages->receive;
    if (!grow(&all, &messages->receive_room, messages->n_receives + n, sizeof *receive))
        return;
    messages->receive = all;
    if (n > 0)
        memcpy(messages->receive + messages->n_receives, receive, (size_t)n * sizeof *receive);
    messages->n_receives += n;
}

/* Receive the pending message of another process, by the receive that is posted for it or by a new one. */
static bool receive_one(mpi_messages *m, MPI_Comm comm, int from, int tag, int bytes, MPI_Request *request,
                        void **buffer)
{
    for (int i = 0; i < m->n_receives; i++)
        if (m->receive[i].from == from && m->receive[i].tag == tag) {
            *request = m->receive[i].request;
            m->receive[i] = m->receive[--m->n_receives];
            return true;
        }
    *buffer = malloc((size_t)bytes);
    if (*buffer)
        MPI_Irecv(*buffer, bytes, MPI_BYTE, from, tag, comm, request);
    return *buffer != NULL;
}

/* @param count [2 n] messages sent to each, messages received from each */
static bool exchange(mpi_messages *m, MPI_Comm comm, int bytes, int *count)
{
    int n = m->n_processes, total = 0, *mine = count, *theirs = count + n;
    for (int i = 0; i < m->n_out; i++)
        mine[m->out[i].to]++;
    MPI_Alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, comm);
    for (int i = 0; i < n; i++)
        total += theirs[i];
    MPI_Comm lists; /* of the drain's own: no data has its tags */
    MPI_Comm_dup(comm, &lists);
    MPI_Request *request = malloc(((size_t)total + (size_t)m->n_out + 1) * sizeof(MPI_Request));
    void **buffer = calloc((size_t)total + 1, sizeof *buffer);
    if (!request || !buffer)
        return false;
    for (int i = 0; i < m->n_out; i++)
        MPI_Isend(&m->out[i].tag, 1, MPI_INT, m->out[i].to, TAG_DRAIN, lists, &request[total + i]);
    bool fine = true;
    for (int i = 0; i < total; i++) {
        int tag;
        MPI_Status about;
        MPI_Recv(&tag, 1, MPI_INT, MPI_ANY_SOURCE, TAG_DRAIN, lists, &about);
        request[i] = MPI_REQUEST_NULL;
        fine = receive_one(m, comm, about.MPI_SOURCE, tag, bytes, &request[i], &buffer[i]) && fine;
    }
    if (fine)
        MPI_Waitall(total + m->n_out, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < m->n_out && fine; i++)
        MPI_Wait(&m->out[i].request, MPI_STATUS_IGNORE);
    for (int i = 0; i < total; i++)
        free(buffer[i]);
    free(buffer);
    free(request);
    MPI_Comm_free(&lists);
    return fine;
}

void mpi_messages_drain(mpi_messages *messages, MPI_Comm comm, int bytes)
{
    int *count = calloc(2 * (size_t)messages->n_processes, sizeof *count);
    if (!count || !exchange(messages, comm, bytes, count))
        MPI_Abort(MPI_COMM_WORLD, 1); /* memory is out */
    free(count);
    for (int i = 0; i < messages->n_receives; i++) {
        MPI_Cancel(&messages->receive[i].request);
        MPI_Wait(&messages->receive[i].request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < messages->n_out; i++)
        free(messages->out[i].content);
    messages->n_out = messages->n_receives = 0;
}

void mpi_messages_clear(mpi_messages *messages)
{
    for (int i = 0; i < messages->n_idle; i++)
        free(messages->idle[i]);
    free(messages->idle);
    free(messages->out);
    free(messages->receive);
    *messages = (mpi_messages){0};
}
