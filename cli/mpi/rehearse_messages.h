/* cli/mpi/rehearse_messages.h - buffers of messages, pending sends, and their release when no process receives them. */
#ifndef EK_CLI_MPI_REHEARSE_MESSAGES_H
#define EK_CLI_MPI_REHEARSE_MESSAGES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct mpi_waiting_receive {
    MPI_Request request;
    int from, tag;
} mpi_waiting_receive;

typedef struct mpi_outgoing {
    MPI_Request request;
    void *content;
    int to, tag;
} mpi_outgoing;

typedef struct mpi_messages {
    size_t bytes; /* of each */
    void **idle;  /* [n_idle] buffers */
    int n_idle, idle_room;
    mpi_outgoing *out; /* [n_out] */
    int n_out, out_room;
    mpi_waiting_receive *receive; /* [n_receives], of the end */
    int n_receives, receive_room, n_processes;
} mpi_messages;

/** A buffer; NULL when memory is out. */
void *mpi_messages_buffer(mpi_messages *messages);
void mpi_messages_give_back(mpi_messages *messages, void *buffer);
/** Send without waiting; the buffer is released once it is sent. @return false: memory is out */
bool mpi_messages_send(mpi_messages *messages, void *content, int bytes, int to, int tag, MPI_Comm comm);
/** Release completed sends. */
void mpi_messages_test(mpi_messages *messages);

/** Handles pending messages at the end: sends of others, and posted receives. All processes together ensure that each
 * send is received and every other receive is cancelled. */
void mpi_messages_begin_drain(mpi_messages *messages, int n_processes);
void mpi_messages_adopt(mpi_messages *messages, MPI_Request request, void *content, int to, int tag);
void mpi_messages_add_receives(mpi_messages *messages, const mpi_waiting_receive *receive, int n);
void mpi_messages_drain(mpi_messages *messages, MPI_Comm comm, int bytes);
void mpi_messages_clear(mpi_messages *messages);

#endif
